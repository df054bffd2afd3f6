package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// lineBytes is about the length of the lines measured with: a chunk of an
// agent's message as real agents send them, in its envelope.
const lineBytes = 318

// chunk is a streamed event with a line of lineBytes bytes.
func chunk() event.Draft {
	const envelope = 115 // {"seq":…,"time":…,"type":"agent_message","turn":1,"data":…,"crc":"…"}\n
	frame := `{"message_id":"` + stamp(0) + `","text":"`
	text := strings.Repeat("All work and no play makes Jack a dull boy. ", 8)
	return event.Draft{Type: event.TypeAgentMessage, Turn: 1, Data: []byte(frame + text[:lineBytes-envelope-len(frame)-2] + `"}`)}
}

// stamp is a time of sending, always of the same length: readers find it in
// the event and know how long it took to come.
func stamp(nanoseconds int64) string { return fmt.Sprintf("%019d", nanoseconds) }

// writeStamp puts a stamp over another without allocating, so that a run counts
// only the server's allocations.
func writeStamp(over []byte, nanoseconds int64) {
	for i := 18; i >= 0; i-- {
		over[i] = byte('0' + nanoseconds%10)
		nanoseconds /= 10
	}
}

func openStore(dir string) (*store.Store, error) { return store.Open(dir, store.Options{}) }

func newLog(ctx context.Context, s *store.Store) (*store.Log, error) {
	return s.Create(ctx, event.SessionStart{Agent: "bench", Workspace: s.Dir()})
}

// appended is a log that is appended to wherever it is.
type appended interface {
	Marks() journal.Marks
	Append(ctx context.Context, drafts ...event.Draft) (first, last event.Seq, err error)
}

// held is a session's log as appended.
type held struct{ journal.Log }

// Append implements appended.
func (l held) Append(ctx context.Context, drafts ...event.Draft) (first, last event.Seq, err error) {
	return l.Log.Append(ctx, 0, drafts...)
}

// fill brings a log to n events.
func fill(ctx context.Context, l appended, n int) error {
	const batch = 256
	drafts := make([]event.Draft, batch)
	for i := range drafts {
		drafts[i] = chunk()
	}
	for have := int(l.Marks().Written); have < n; {
		take := min(batch, n-have)
		if _, _, err := l.Append(ctx, drafts[:take]...); err != nil {
			return err
		}
		have += take
	}
	return nil
}

// appendEach appends n lines, `at` together, and returns how long one took.
func appendEach(ctx context.Context, l *store.Log, n, at int) (time.Duration, error) {
	drafts := make([]event.Draft, at)
	for i := range drafts {
		drafts[i] = chunk()
	}
	began := time.Now()
	for range n / at {
		if _, _, err := l.Append(ctx, drafts...); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(n), nil
}

// writeEach writes n lines with one write(2) each: the floor under any log.
func writeEach(dir string, n int) (time.Duration, error) {
	f, err := os.OpenFile(filepath.Join(dir, "raw"), os.O_CREATE|os.O_APPEND|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	line := []byte(strings.Repeat("x", lineBytes-1) + "\n")
	began := time.Now()
	for range n {
		if _, err := f.Write(line); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(n), nil
}

// measureAppend holds appending against raw write(2).
func measureAppend(ctx context.Context, b *bench) error {
	s, err := openStore(filepath.Join(b.dir, "append"))
	if err != nil {
		return err
	}
	defer s.Close()
	quiet, err := newLog(ctx, s)
	if err != nil {
		return err
	}
	long, err := newLog(ctx, s)
	if err != nil {
		return err
	}
	if err := fill(ctx, long, b.scaled(1_000_000, 4)); err != nil {
		return err
	}
	watched, err := newLog(ctx, s)
	if err != nil {
		return err
	}
	leave := follow(ctx, watched, 100)
	defer leave()
	var others []*store.Log
	for range 20 {
		l, err := newLog(ctx, s)
		if err != nil {
			return err
		}
		others = append(others, l)
	}

	// Many short rounds: each fits between two moments at which the machine gives
	// the processor to another process.
	const lines = 4_000
	var raw, alone, followed, late, beside, together, validated []time.Duration
	for range 15 * b.rounds() {
		steps := []struct {
			into *[]time.Duration
			run  func() (time.Duration, error)
		}{
			{&raw, func() (time.Duration, error) { return writeEach(b.dir, lines) }},
			{&alone, func() (time.Duration, error) { return appendEach(ctx, quiet, lines, 1) }},
			{&late, func() (time.Duration, error) { return appendEach(ctx, long, lines, 1) }},
			{&beside, func() (time.Duration, error) {
				stop := busy(others)
				defer stop()
				return appendEach(ctx, quiet, lines, 1)
			}},
			{&followed, func() (time.Duration, error) { return appendEach(ctx, watched, lines, 1) }},
			{&together, func() (time.Duration, error) { return appendEach(ctx, quiet, lines, 16) }},
			{&validated, func() (time.Duration, error) { return validateEach(lines) }},
		}
		for _, step := range steps {
			took, err := step.run()
			if err != nil {
				return err
			}
			*step.into = append(*step.into, took)
		}
	}
	b.atLeast("append, against write(2), unwatched", 0.70, ratio(raw, alone))
	b.atLeast("append, against write(2), 100 observers", 0.55, ratio(raw, followed))
	b.atMost(fmt.Sprintf("append to a log of %s events, against an empty one", count(b.scaled(1_000_000, 4))), 1.10, ratio(late, alone))
	b.atMost("append beside 20 sessions of 100 events a second, against alone", 1.10, ratio(beside, alone))
	b.told("16 lines appended together, against write(2) of each", ratio(raw, together))
	b.told("making a draft (validation), against write(2)", ratio(validated, raw))
	b.detail("per line of %d bytes: write(2) %s, append %s, with 100 observers %s, to the long log %s, beside 20 sessions %s, 16 together %s, validation %s",
		lineBytes, median(raw), median(alone), median(followed), median(late), median(beside), median(together), median(validated))
	return nil
}

// busy has every log take 100 events a second, as from a fast agent, until the
// returned function is called.
func busy(logs []*store.Log) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	for i, l := range logs {
		wait.Go(func() {
			draft := chunk()
			// They do not all come at once, and not all after a pause.
			next := time.NewTimer(time.Duration(i) * 10 * time.Millisecond / time.Duration(len(logs)))
			defer next.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-next.C:
				}
				_, _, _ = l.Append(ctx, draft) // a failure of the device fails the measurement too
				next.Reset(10 * time.Millisecond)
			}
		})
	}
	return func() { cancel(); wait.Wait() }
}

// validateEach makes drafts of payloads, as the hub does before it appends an
// agent's events.
func validateEach(n int) (time.Duration, error) {
	p := event.AgentMessage{MessageID: stamp(0), Text: event.Text(strings.Repeat("All work and no play. ", 8))}
	began := time.Now()
	for range n {
		if _, err := event.NewDraft(p, 1, began); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(n), nil
}

// discard is a sink that counts for nothing.
type discard struct{}

// Deliver implements observer.Sink.
func (discard) Deliver(context.Context, event.Batch) error { return nil }

// follow has n observers read the log until the returned function is called.
func follow(ctx context.Context, l *store.Log, n int) (leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() { _ = observer.New(l, discard{}, 0, 64<<10).Run(ctx) }) // it ends with ctx
	}
	return func() { cancel(); wait.Wait() }
}

// measureReplay reads the newest page of logs of different lengths.
func measureReplay(ctx context.Context, b *bench) error {
	sizes := []int{10_000, 100_000, b.scaled(1_000_000, 4)}
	dir := filepath.Join(b.dir, "replay")
	var ids []string
	s, err := openStore(dir)
	if err != nil {
		return err
	}
	for _, n := range sizes {
		l, err := newLog(ctx, s)
		if err == nil {
			err = fill(ctx, l, n)
		}
		if err != nil {
			return err
		}
		ids = append(ids, l.ID())
	}
	// After a reopening, the tail in memory is empty.
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = openStore(dir); err != nil {
		return err
	}
	defer s.Close()
	newest, middle := make([][]time.Duration, len(sizes)), make([][]time.Duration, len(sizes))
	for round := range 40 * b.rounds() {
		for i, id := range ids {
			l, err := s.Log(ctx, id)
			if err != nil {
				return err
			}
			last := l.Marks().Visible
			// A different place each time, never the same as one before.
			anywhere := event.Seq(1 + (round*7919*int(last)/1000)%(int(last)-60))
			for _, read := range []struct {
				after event.Seq
				into  *[]time.Duration
			}{{last - 50, &newest[i]}, {anywhere, &middle[i]}} {
				began := time.Now()
				batch, err := l.ReadAfter(ctx, read.after, 50*lineBytes)
				took := time.Since(began)
				if err != nil {
					return err
				}
				if batch.First != read.after+1 || batch.Count < 40 {
					return fmt.Errorf("read %d to %d, %d events, after %d", batch.First, batch.Last, batch.Count, read.after)
				}
				*read.into = append(*read.into, took)
			}
		}
	}
	last := len(sizes) - 1
	b.within(fmt.Sprintf("the last 50 of %s events", count(sizes[last])), 100*time.Microsecond, median(newest[last]))
	b.atMost(fmt.Sprintf("the last 50 of %s, against the last 50 of %s", count(sizes[last]), count(sizes[1])), 2, ratio(newest[last], newest[1]))
	b.atMost(fmt.Sprintf("the last 50 of %s, against the last 50 of %s", count(sizes[last]), count(sizes[0])), 2, ratio(newest[last], newest[0]))
	b.within(fmt.Sprintf("50 from anywhere in %s events", count(sizes[last])), 100*time.Microsecond, median(middle[last]))
	b.detail("50 events: newest of %v in %s %s %s; anywhere %s %s %s", sizes,
		median(newest[0]), median(newest[1]), median(newest[2]), median(middle[0]), median(middle[1]), median(middle[2]))
	return nil
}

func count(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
