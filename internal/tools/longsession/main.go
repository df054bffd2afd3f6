// Command longsession writes a session of many events into a data directory.
//
// It is for tests and measurements that need a session of a million events, which
// takes a minute to write. The log is written by the store, as a hub writes it, so
// it is sound by every rule of docs/storage.md. No hub may be running on the
// directory. The id of the session is printed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "longsession:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("longsession", flag.ContinueOnError)
	data := flags.String("data", "", "data `DIR`ectory to write into")
	events := flags.Int("events", 1_000_000, "how many events the session has, its session_start among them")
	sessions := flags.Int("sessions", 0, "write `N` sessions of realistic texts, which have the events together")
	perTurn := flags.Int("turn", 500, "how many events a turn has")
	workspace := flags.String("workspace", ".", "`DIR`ectory the session says it ran in")
	agent := flags.String("agent", "demo", "`NAME` of the agent the session says it had")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *data == "" || *events < 1 || *perTurn < 1 {
		return errors.New("name a directory with --data, and one event or more with --events and --turn")
	}
	where, err := filepath.Abs(*workspace)
	if err != nil {
		return err
	}
	if *sessions > 0 {
		if err := writeMany(ctx, *data, event.SessionStart{Agent: *agent, Workspace: where}, *sessions, *events); err != nil {
			return fmt.Errorf("write %d sessions: %w", *sessions, err)
		}
		return nil
	}
	id, err := write(ctx, *data, event.SessionStart{Agent: *agent, Workspace: where}, *events, *perTurn)
	if err != nil {
		return fmt.Errorf("write a session of %d events: %w", *events, err)
	}
	_, err = fmt.Fprintln(out, id)
	return err
}

// write makes a session of exactly n events, so many in each turn, and returns its id.
func write(ctx context.Context, data string, start event.SessionStart, n, perTurn int) (id string, err error) {
	s, err := store.Open(data, store.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	l, err := s.Create(ctx, start)
	if err != nil {
		return "", err
	}
	var ledger []queue.Entry
	for turn := 1; ; turn++ {
		left := n - int(l.Marks().Written)
		if left == 0 {
			break
		}
		drafts, err := conversation(turn, min(left, perTurn))
		if err != nil {
			return "", err
		}
		first, _, err := l.Append(ctx, drafts...)
		if err != nil {
			return "", err
		}
		if drafts[0].Type == event.TypeUserPrompt {
			ledger = append(ledger, queue.Entry{PromptID: promptID(turn), Outcome: queue.Received, Seq: int64(first), At: time.Now()})
		}
	}
	l.UpdateMetadata(func(m *journal.Metadata) { m.Name = fmt.Sprintf("A session of %d events", n) })
	if err := writeQueue(filepath.Join(data, "sessions", l.ID()), ledger, int64(l.Marks().Written)); err != nil {
		return "", err
	}
	return l.ID(), l.FlushMetadata(ctx)
}

// openAtOnce is how many sessions of a store are written before it is closed, with its files.
const openAtOnce = 200

// writeMany makes sessions of realistic texts with n events together, or a few more.
func writeMany(ctx context.Context, data string, start event.SessionStart, sessions, n int) error {
	a := newAuthor(1)
	for from := 0; from < sessions; from += openAtOnce {
		if err := writeSome(ctx, data, start, a, min(openAtOnce, sessions-from), n/sessions); err != nil {
			return err
		}
	}
	return nil
}

// writeSome makes sessions of n events each, or a few more.
func writeSome(ctx context.Context, data string, start event.SessionStart, a *author, sessions, n int) (err error) {
	s, err := store.Open(data, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for range sessions {
		l, err := s.Create(ctx, start)
		if err != nil {
			return err
		}
		var drafts []event.Draft
		var ledger []queue.Entry
		for turn := 1; len(drafts) < n-1; turn++ {
			of, err := draftsOf(a.turn(turn, max(5, min(n-1-len(drafts), 40))), turn)
			if err != nil {
				return err
			}
			ledger = append(ledger, queue.Entry{PromptID: promptID(turn), Outcome: queue.Received, Seq: int64(len(drafts) + 2), At: time.Now()})
			drafts = append(drafts, of...)
		}
		if _, _, err := l.Append(ctx, drafts...); err != nil {
			return err
		}
		l.UpdateMetadata(func(m *journal.Metadata) { m.Name = a.says(5) })
		if err := writeQueue(filepath.Join(data, "sessions", l.ID()), ledger, int64(l.Marks().Written)); err != nil {
			return err
		}
	}
	return nil
}

// writeQueue leaves the queue as a hub would: empty, and it knows the prompts of
// the log up to seq. A hub that misses it reads the whole log.
func writeQueue(dir string, ledger []queue.Entry, seq int64) error {
	q, err := queue.Open(disk.Folder{Dir: dir}, queue.Options{})
	if err != nil {
		return err
	}
	q.Enter(ledger...)
	q.Advance(seq)
	save := q.Due()
	save.Write()
	return q.Settle(save)
}

func promptID(turn int) string { return fmt.Sprintf("longsession-%d", turn) }

// messageChunks is how many chunks make one message.
const messageChunks = 40

// conversation is one whole turn of n events. A turn too short for its frame of
// prompt, start and end is messages only.
func conversation(turn, n int) ([]event.Draft, error) {
	prompt := promptID(turn)
	var payloads []event.Payload
	framed := n >= 3
	if framed {
		payloads = append(payloads,
			event.UserPrompt{PromptID: prompt, Text: event.Text(fmt.Sprintf("Question %d: what comes next?", turn))},
			event.TurnStart{PromptID: prompt})
		n--
	}
	for i := len(payloads); i < n; i++ {
		payloads = append(payloads, event.AgentMessage{
			MessageID: fmt.Sprintf("m-%d-%d", turn, i/messageChunks),
			Text:      event.Text(fmt.Sprintf("Word %d of turn %d. ", i, turn) + strings.Repeat("and on ", i%messageChunks)),
		})
	}
	if framed {
		payloads = append(payloads, event.TurnEnd{PromptID: prompt, StopReason: event.StopEndTurn})
	}
	return draftsOf(payloads, turn)
}

func draftsOf(payloads []event.Payload, turn int) ([]event.Draft, error) {
	drafts := make([]event.Draft, len(payloads))
	for i, p := range payloads {
		d, err := event.NewDraft(p, turn, time.Time{})
		if err != nil {
			return nil, err
		}
		drafts[i] = d
	}
	return drafts, nil
}
