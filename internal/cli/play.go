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

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/playback"
)

// playOptions say how a session is played.
type playOptions struct {
	pace  playback.Pace
	from  string // a seq, or a time
	noTTY bool
}

func (p *Program) play() *cobra.Command {
	var o playOptions
	var level levelFlags
	cmd := &cobra.Command{
		Use:   "play ID|FILE",
		Short: "Print a session as it went, in time",
		Long: "Print a session as it went, in time. A pause longer than --idle takes --idle, and a line says so. FILE is what\n" +
			"abide export wrote as zip or jsonl; it needs no hub. --no-tty prints without pauses, as a pipe does.",
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
		player, done, err := p.player(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		defer done()
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
	cmd.Flags().BoolVar(&o.noTTY, "no-tty", false, "print without pauses")
	level.add(cmd)
	p.HubFlags(cmd)
	p.colorFlag(cmd)
	return cmd
}

// player returns a player of a file, or else of a session of the hub.
func (p *Program) player(ctx context.Context, name string) (player *playback.Player, done func(), err error) {
	source, first, done, err := p.tape(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	player = playback.NewPlayer(source, first)
	if err := player.Load(ctx); err != nil {
		done()
		return nil, nil, err
	}
	return player, done, nil
}

// tape is the source of a player, with the seq of its first event.
func (p *Program) tape(ctx context.Context, name string) (source observer.Source, first event.Seq, done func(), err error) {
	if strings.ContainsAny(name, "/.") || isFile(name) {
		file, err := open(name)
		if err != nil {
			return nil, 0, nil, err
		}
		lines, err := openEventFile(file)
		if errors.Is(err, errZip) {
			var unpacked *os.File
			if unpacked, err = unpackEvents(file); err == nil {
				file.Close()
				file = unpacked
				lines, err = openEventFile(file)
			}
		}
		if err != nil {
			return nil, 0, nil, errors.Join(Usagef("%s: %w", name, err), file.Close())
		}
		return lines, lines.first, func() { file.Close() }, nil
	}
	hub, err := p.Connect(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	s, err := p.find(ctx, hub, name)
	if err != nil {
		hub.Close()
		return nil, 0, nil, err
	}
	return hubEvents{hub, s.SessionID}, s.MinSeq, func() { hub.Close() }, nil
}

func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// playFrom plays from where the options say.
func playFrom(ctx context.Context, player *playback.Player, o playOptions, show func(event.Event) error) error {
	if o.from != "" {
		seq, err := placeOf(ctx, player, o.from)
		if err != nil {
			return err
		}
		if err := player.Seek(ctx, seq-1); err != nil {
			return Usagef("--from %s: %s", o.from, err)
		}
	}
	return player.Play(ctx, o.pace, show)
}

// placeOf is the event of a seq or a time.
func placeOf(ctx context.Context, player *playback.Player, from string) (event.Seq, error) {
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
