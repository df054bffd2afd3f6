// Package behind reads the events of a log after a cursor from the log's files, for what is
// derived from logs. It opens no session and holds up no log.
package behind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// Source is the logs that Read reads; a journal.Store is one.
type Source interface {
	// Lines are the stored lines of a session's log, in parts, oldest first.
	Lines(id string) ([]journal.Part, error)
}

// Read calls take with the events of a session from after+1 to last, in the order of their
// seqs. Those of unwanted types are left out; so are those that retention removed and those
// that cannot be read. When ctx ends it returns ctx's error; the events so far were taken.
func Read(ctx context.Context, store Source, id string, after, last event.Seq, wanted func(event.Type) bool, take func(event.Event)) error {
	if after >= last {
		return nil
	}
	parts, err := store.Lines(id)
	if err != nil {
		return err
	}
	r := reader{after: after, last: last, wanted: wanted, take: take}
	for _, part := range parts {
		if err := r.read(ctx, part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // a part that retention removed meanwhile is none
		}
	}
	return nil
}

// reader reads the parts of one log.
type reader struct {
	after, last event.Seq
	wanted      func(event.Type) bool
	take        func(event.Event)
}

func (r *reader) read(ctx context.Context, part journal.Part) error {
	file, err := part.Open()
	if err != nil || file == nil {
		return err
	}
	defer file.Close() // it was only read from
	var unknown logfile.Index
	at, from, err := unknown.Find(file, r.after+1, file.Size())
	if err != nil {
		return fmt.Errorf("find event %d: %w", r.after+1, err)
	}
	lines := logfile.NewReader(file, from, file.Size())
	defer lines.Close()
	order := logfile.Order{Prev: max(0, at-1)}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		raw, err := lines.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		line := logfile.Parse(raw.Text)
		if !order.Accepts(line) || line.Seq <= r.after {
			continue
		}
		if line.Seq > r.last {
			return nil
		}
		if !r.mayBeWanted(line.Body) {
			continue
		}
		if e, err := line.Event(); err == nil && r.wanted(e.Type) {
			r.take(e)
			r.after = e.Seq
		}
	}
}

// mayBeWanted reports whether a line may have a wanted event, without decoding it. The type
// is near the beginning of a line that a log wrote.
func (r *reader) mayBeWanted(body []byte) bool {
	_, rest, found := bytes.Cut(body[:min(len(body), 128)], []byte(`"type":"`))
	kind, _, whole := bytes.Cut(rest, []byte(`"`))
	return !found || !whole || r.wanted(event.Type(kind))
}
