package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/screen"
	tapes "github.com/abidehub/abide/internal/tape"
	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/playback"
)

// playOptions say how a session is played.
type playOptions struct {
	pace  playback.Pace
	from  string // a seq, or a time
	noTTY bool
	lines bool
}

func (p *Program) play() *cobra.Command {
	var o playOptions
	var level levelFlags
	cmd := &cobra.Command{
		Use:   "play ID|FILE",
		Short: "Show a session as it went, in time",
		Long: "Show a session as it went, in time, on the whole terminal: Space stops it and goes on, comma and full stop go by\n" +
			"events, { and } by turns, < and > change the speed, R begins again at the end, H is the help, Esc leaves. A pause\n" +
			"longer than --idle takes --idle. FILE is what abide export wrote as zip or jsonl; it needs no hub. --plain prints\n" +
			"lines in time. --no-tty prints them without pauses, as a pipe does.",
		Example: "  abide play -\n  abide play 9f3a --speed 4 --from 120\n  abide play 9f3a --from 2026-02-21T14:00:00Z\n" +
			"  abide play session.jsonl",
		Args:              Arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeSession,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.pace.Speed <= 0 || o.pace.Idle <= 0 {
			return Usagef("--speed and --idle are above 0")
		}
		chosen, err := level.level(false)
		if err != nil {
			return err
		}
		style, err := p.style(p.Stdout)
		if err != nil {
			return err
		}
		played, err := p.tape(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		defer played.done()
		if screens := p.screens(); !o.noTTY && !o.lines && screens.possible() {
			return screens.play(cmd.Context(), played.hub, screen.Tape{
				Session: played.session, File: played.file, Level: chosen,
				Pace: screen.Pace{Speed: o.pace.Speed, Idle: o.pace.Idle, Loop: o.pace.Loop, From: o.place},
			})
		}
		player := playback.NewPlayer(played.source, played.session.MinSeq)
		if err := player.Load(cmd.Context()); err != nil {
			return err
		}
		out := &paced{feed: feedSink(p.Stdout, chosen, style), idle: o.pace.Idle, still: o.noTTY || !isTerminal(p.Stdout), say: p.Stderr}
		if out.still {
			out.feed = foldedSink(p.Stdout, chosen, style)
		}
		o.pace.Wait = out.wait
		if out.still && !o.noTTY && (cmd.Flags().Changed("speed") || cmd.Flags().Changed("idle")) {
			p.notice("stdout is not a terminal: this prints without pauses")
		}
		err = playFrom(cmd.Context(), player, o, out.feed.write)
		if errors.Is(err, context.Canceled) {
			err = nil // Ctrl-C leaves
		}
		return errors.Join(err, out.feed.close())
	}
	cmd.Flags().Float64Var(&o.pace.Speed, "speed", 1, "divide every pause by `N`")
	cmd.Flags().StringVar(&o.from, "from", "", "begin with event `SEQ`, or with the first at a time")
	cmd.Flags().DurationVar(&o.pace.Idle, "idle", playback.Idle, "the longest pause, `D`")
	cmd.Flags().BoolVar(&o.pace.Loop, "loop", false, "begin again at the end")
	cmd.Flags().BoolVar(&o.lines, "plain", false, "print lines, also at a terminal")
	cmd.Flags().BoolVar(&o.noTTY, "no-tty", false, "print lines without pauses")
	level.add(cmd)
	p.HubFlags(cmd)
	p.colorFlag(cmd)
	return cmd
}

// tape is a session to play: of a file, or else of the hub.
type tape struct {
	source  observer.Source
	session wire.SessionInfo
	file    *tapes.File // nil of the hub
	hub     *client.Hub // nil of a file
	done    func()
}

func (p *Program) tape(ctx context.Context, name string) (*tape, error) {
	if strings.ContainsAny(name, "/.") || isFile(name) {
		file, err := open(name)
		if err != nil {
			return nil, err
		}
		lines, err := tapes.Open(file)
		if err != nil {
			return nil, Usagef("%s: %w", name, err)
		}
		var s wire.SessionInfo
		s.MinSeq, s.MaxSeq, s.Workspace = lines.First(), lines.Last(), name
		return &tape{source: lines, session: s, file: lines, done: func() { lines.Close() }}, nil
	}
	hub, err := p.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s, err := p.find(ctx, hub, name)
	if err != nil {
		hub.Close()
		return nil, err
	}
	return &tape{source: tapes.Hub{Hub: hub, ID: s.SessionID}, session: s, hub: hub, done: func() { hub.Close() }}, nil
}

func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// playFrom plays from where the options say.
func playFrom(ctx context.Context, player *playback.Player, o playOptions, show func(event.Event) error) error {
	if o.from != "" {
		seq, err := o.place(ctx, player)
		if err != nil {
			return err
		}
		if err := player.Seek(ctx, seq-1); err != nil {
			return Usagef("--from %s: %s", o.from, err)
		}
	}
	return player.Play(ctx, o.pace, show)
}

// place is the event of --from, which is a seq or a time; the first without it.
func (o playOptions) place(ctx context.Context, player *playback.Player) (event.Seq, error) {
	from := o.from
	if from == "" {
		return player.First(), nil
	}
	if n, err := strconv.ParseInt(from, 10, 64); err == nil {
		if event.Seq(n) > player.Last() {
			return 0, Usagef("--from %s is beyond the end: the last event is %d", from, player.Last())
		}
		return max(event.Seq(n), player.First()), nil
	}
	at, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return 0, Usagef("--from is a seq, or a time such as 2026-02-21T14:00:00Z")
	}
	seq, err := player.SeqAt(ctx, at)
	if err != nil {
		return 0, Usagef("--from %s: %s", from, err)
	}
	return seq, nil
}

// paced prints events when they are due.
type paced struct {
	feed  sink
	idle  time.Duration
	still bool // without pauses
	say   io.Writer
}

// wait is a pause of playback.Pace. It flushes the output, and prints a note if the
// pause is shorter than the recorded one.
func (p *paced) wait(ctx context.Context, pause, gap time.Duration) error {
	if p.still {
		return ctx.Err()
	}
	if err := p.feed.flush(); err != nil {
		return err
	}
	if gap > p.idle {
		fmt.Fprintf(p.say, "(nothing for %s)\n", gap.Round(time.Second))
	}
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
