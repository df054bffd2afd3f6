package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/event"
)

// playOptions say how a session is played.
type playOptions struct {
	speed float64
	from  int64
	idle  time.Duration
	noTTY bool
}

func (p *Program) play() *cobra.Command {
	var o playOptions
	var level levelFlags
	cmd := &cobra.Command{
		Use:   "play ID|FILE",
		Short: "Print a session as it went, in time",
		Long: "Print a session as it went, in time. A pause longer than --idle takes --idle. FILE is what abide export wrote as\n" +
			"jsonl; it needs no hub. --no-tty prints without pauses, as a pipe does.",
		Example:           "abide play -\nabide play 9f3a --speed 4 --from 120\nabide play session.jsonl",
		Args:              Arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeSession,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.speed <= 0 || o.idle < 0 || o.from < 0 {
			return Usagef("--speed is above 0, --idle and --from are not below it")
		}
		chosen, err := level.level(false)
		if err != nil {
			return err
		}
		style, err := p.style(p.Stdout)
		if err != nil {
			return err
		}
		out := &paced{feed: feedSink(p.Stdout, chosen, style), o: o, still: o.noTTY || !isTerminal(p.Stdout)}
		if file, err := os.Open(args[0]); err == nil {
			defer file.Close()
			return out.end(playFile(cmd.Context(), file, out))
		}
		hub, err := p.Connect(cmd.Context())
		if err != nil {
			return err
		}
		defer hub.Close()
		s, err := p.find(cmd.Context(), hub, args[0])
		if err != nil {
			return err
		}
		return out.end(playSession(cmd.Context(), hub, s.SessionID, s.MinSeq, out))
	}
	cmd.Example = "  " + "abide play -\n  abide play 9f3a --speed 4 --from 120\n  abide play session.jsonl"
	cmd.Flags().Float64Var(&o.speed, "speed", 1, "divide every pause by `N`")
	cmd.Flags().Int64Var(&o.from, "from", 1, "begin with event `SEQ`")
	cmd.Flags().DurationVar(&o.idle, "idle", 2*time.Second, "the longest pause, `D`")
	cmd.Flags().BoolVar(&o.noTTY, "no-tty", false, "print without pauses")
	level.add(cmd)
	p.HubFlags(cmd)
	p.colorFlag(cmd)
	return cmd
}

// paced prints events when they are due.
type paced struct {
	feed  sink
	o     playOptions
	still bool // without pauses
	last  time.Time
}

func (p *paced) play(ctx context.Context, e event.Event) error {
	if e.Seq < event.Seq(p.o.from) {
		return nil
	}
	if pause := p.pause(e.Time); pause > 0 {
		if err := p.feed.flush(); err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return p.feed.write(e)
}

// pause is how long to wait for an event. A clock that went back stands still.
func (p *paced) pause(at time.Time) time.Duration {
	gap := at.Sub(p.last)
	if p.last.IsZero() || gap > 0 {
		p.last = at
	}
	if p.still || gap <= 0 || gap == at.Sub(time.Time{}) {
		return 0
	}
	return time.Duration(float64(min(gap, p.o.idle)) / p.o.speed)
}

func (p *paced) end(err error) error {
	if errors.Is(err, context.Canceled) {
		err = nil // Ctrl-C leaves
	}
	return errors.Join(err, p.feed.close())
}

func playFile(ctx context.Context, file io.Reader, out *paced) error {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 0, 64<<10), 4<<20)
	for lines.Scan() {
		var e event.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("a line of the file is no event: %s", plain.Line(err.Error()))
		}
		if err := out.play(ctx, e); err != nil {
			return err
		}
	}
	return lines.Err()
}

func playSession(ctx context.Context, hub *client.Hub, id string, first event.Seq, out *paced) error {
	after := max(first-1, event.Seq(out.o.from)-1)
	for {
		page, err := hub.EventsAfter(ctx, id, after, 500)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if err := out.play(ctx, e); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(page.Events) == 0 {
			return nil
		}
	}
}
