package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/store"
)

// measureWhole measures the two operations on the whole of a long log, against
// reading its files: searching it, and opening its session when only the log is
// left.
func measureWhole(ctx context.Context, b *bench) error {
	events := b.scaled(1_000_000, 4)
	dir := filepath.Join(b.dir, "whole")
	s, err := openStore(dir)
	if err != nil {
		return err
	}
	l, err := newLog(ctx, s)
	if err == nil {
		err = converse(ctx, l, events)
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	id, last := l.ID(), l.Marks().Visible
	if err := s.Close(); err != nil {
		return err
	}
	files := filepath.Join(dir, "sessions", id)
	lines := func() ([]journal.Part, error) { return store.Lines(store.OS(), files) }
	// The text is in no line, but its first letter is in all of them.
	query, err := search.NewQuery("Jack was never dull", 10, time.Hour)
	if err != nil {
		return err
	}
	var bytes int64
	var read, searched, opened []time.Duration
	for range b.scaled(5, 2) {
		began := time.Now()
		if bytes, err = readAll(files); err != nil {
			return err
		}
		read = append(read, time.Since(began))
		began = time.Now()
		found, err := query.Run(ctx, []search.Source{{SessionID: id, Lines: lines, MaxSeq: last}}, search.Place{})
		if err != nil {
			return err
		}
		if !found.Done || len(found.Hits) > 0 || found.Bytes < bytes*9/10 {
			return fmt.Errorf("the search saw %d of %d bytes, and %d hits", found.Bytes, bytes, len(found.Hits))
		}
		searched = append(searched, time.Since(began))
		took, err := openBare(ctx, dir, id)
		if err != nil {
			return err
		}
		opened = append(opened, took)
	}
	b.told(fmt.Sprintf("searching %s events for absent text, against reading their files", count(events)), ratio(searched, read))
	b.told(fmt.Sprintf("opening %s events without metadata and queue, against reading their files", count(events)), ratio(opened, read))
	b.detail("%d MB of events: reading %s, searching %s (%.0f MB/s), opening without metadata and queue %s", bytes>>20,
		median(read), median(searched), float64(bytes)/1e6/median(searched).Seconds(), median(opened))
	return nil
}

// converse brings a log to n events or a few more, in turns of some 500.
func converse(ctx context.Context, l *store.Log, n int) error {
	for turn := 1; int(l.Marks().Written) < n; turn++ {
		prompt, err := event.NewDraft(event.UserPrompt{PromptID: fmt.Sprint(turn), Text: "What comes next?"}, turn, time.Time{})
		if err != nil {
			return err
		}
		end, err := event.NewDraft(event.TurnEnd{PromptID: fmt.Sprint(turn), StopReason: event.StopEndTurn}, turn, time.Time{})
		if err != nil {
			return err
		}
		drafts := []event.Draft{prompt}
		for range 500 {
			drafts = append(drafts, chunk())
		}
		if _, _, err := l.Append(ctx, append(drafts, end)...); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads the event files of a session and returns their size.
func readAll(dir string) (bytes int64, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "events*.jsonl"))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		// Hidden from io.Copy's shortcuts, which would not read at all.
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 1<<20))
		if err := errors.Join(err, f.Close()); err != nil {
			return 0, err
		}
		bytes += n
	}
	return bytes, nil
}

// openBare opens a session of which only the log is left.
func openBare(ctx context.Context, dir, id string) (time.Duration, error) {
	for _, name := range []string{"metadata.json", "queue.json"} {
		if err := os.Remove(filepath.Join(dir, "sessions", id, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, err
		}
	}
	s, err := openStore(dir)
	if err != nil {
		return 0, err
	}
	m, err := newManager(s)
	if err != nil {
		return 0, errors.Join(err, s.Close())
	}
	began := time.Now()
	_, err = m.Session(ctx, id)
	took := time.Since(began)
	return took, errors.Join(err, m.Close(ctx), s.Close())
}

// measureIdleSessions weighs sessions that are open and unwatched.
func measureIdleSessions(ctx context.Context, b *bench) (err error) {
	const goal = 24 << 10
	server, err := b.serve(ctx, "sessions")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	// Lasting allocations that the first ones cause are not counted for them.
	if _, err := server.tell(order{Publish: 20}); err != nil {
		return err
	}
	sessions := b.scaled(idleSessions, 4)
	before, err := server.tell(order{Usage: true, Collect: true})
	if err != nil {
		return err
	}
	if _, err := server.tell(order{Publish: sessions}); err != nil {
		return err
	}
	settle()
	after, err := server.tell(order{Usage: true, Collect: true})
	if err != nil {
		return err
	}
	n := int64(sessions)
	figure := fmt.Sprintf("memory of one of %d idle sessions of 200 events, all garbage collected", sessions)
	b.weighed(figure, goal, (after.Resident-before.Resident)/n)
	b.detail("%s: objects %d, stacks %d bytes", figure, (after.Heap-before.Heap)/n, (after.Stacks-before.Stacks)/n)
	return nil
}

// idleSessions is how many sessions are weighed.
const idleSessions = 400

// opener opens one of many sessions for each event that is to be published. It
// has no clients.
type opener struct {
	open func(ctx context.Context, id string) error
	ids  []string
	next int
}

func newOpener(ctx context.Context, dir string) (publisher, error) {
	s, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	o := &opener{}
	for range idleSessions + 20 {
		l, err := newLog(ctx, s)
		if err == nil {
			err = fill(ctx, l, 200)
		}
		if err == nil {
			// As a hub leaves a session that it saw: without it, opening would
			// write, and read it whole.
			l.UpdateMetadata(func(m *journal.Metadata) { m.Name = "idle" })
			err = l.FlushMetadata(ctx)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		o.ids = append(o.ids, l.ID())
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	if s, err = openStore(dir); err != nil {
		return nil, err
	}
	m, err := newManager(s)
	if err != nil {
		return nil, err
	}
	o.open = func(ctx context.Context, id string) error { _, err := m.Session(ctx, id); return err }
	return o, nil
}

func (o *opener) hello() greeting { return greeting{} }

func (o *opener) publish(ctx context.Context, _ []byte) error {
	if o.next == len(o.ids) {
		return errors.New("there are no more sessions to open")
	}
	o.next++
	return o.open(ctx, o.ids[o.next-1])
}

func (o *opener) last() int64 { return int64(o.next) }
