package journaltest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/journal/journaltest"
	"github.com/abidehub/abide/session/journal/memory"
	"github.com/abidehub/abide/session/store/blobs"
)

// recorder is a T that records failures.
type recorder struct{ words []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.words = append(r.words, fmt.Sprintf(format, args...))
}
func (r *recorder) FailNow() { runtime.Goexit() }

// verdict runs a promise and returns its failures.
func verdict(p journaltest.Promise, s journaltest.Subject) []string {
	r, done := &recorder{}, make(chan struct{})
	go func() {
		defer close(done)
		p.Keep(r, s)
	}()
	<-done
	return r.words
}

// subject returns a journal in memory whose hubs are wrapped.
func subject(wrap func(*memory.Store) journal.Store) journaltest.Subject {
	d := memory.NewDevice()
	open := func(journaltest.T) journaltest.Hub {
		s := d.Open()
		return journaltest.Hub{Store: wrap(s), Close: s.Close, Kill: s.Kill}
	}
	return journaltest.Subject{Open: open, Second: open, Fill: func(kinds ...journaltest.Kind) {
		var full []string
		for _, k := range kinds {
			full = append(full, string(k))
		}
		d.Fill(full...)
	}}
}

// broken is a store with a fault in its logs.
type broken struct {
	journal.Store
	log func(journal.Log) journal.Log
}

func (b broken) Lease(ctx context.Context, id string) (journal.Lease, error) {
	l, err := b.Store.Lease(ctx, id)
	if err != nil {
		return nil, err
	}
	return brokenLease{l, b.log}, nil
}

type brokenLease struct {
	journal.Lease
	log func(journal.Log) journal.Log
}

func (b brokenLease) Log(ctx context.Context) (journal.Log, error) {
	l, err := b.Lease.Log(ctx)
	if err != nil || b.log == nil {
		return l, err
	}
	return b.log(l), nil
}

// logs returns a wrapper of stores that wraps their logs.
func logs(wrap func(journal.Log) journal.Log) func(*memory.Store) journal.Store {
	return func(s *memory.Store) journal.Store { return broken{s, wrap} }
}

// latest gives every holder the rights of the latest.
type latest map[string]journal.Log

type unfenced struct {
	journal.Log
	latest latest
}

func (u unfenced) Append(ctx context.Context, next event.Seq, d ...event.Draft) (event.Seq, event.Seq, error) {
	return u.latest[u.ID()].Append(ctx, next, d...)
}

type unfencedFiles struct {
	journal.Log
	latest latest
}

func (u unfencedFiles) Files() journal.Files { return u.latest[u.ID()].Files() }

type unfencedLabels struct {
	journal.Log
	latest latest
}

func (u unfencedLabels) Label(f func(*journal.Metadata)) error { return u.latest[u.ID()].Label(f) }

func sharing(wrap func(journal.Log, latest) journal.Log) func(*memory.Store) journal.Store {
	all := latest{}
	return logs(func(l journal.Log) journal.Log {
		all[l.ID()] = l
		return wrap(l, all)
	})
}

type well struct{ journal.Log }

func (well) Health() journal.Health { return journal.Health{State: journal.HealthOK} }

type anywhere struct{ journal.Log }

func (l anywhere) Append(ctx context.Context, _ event.Seq, d ...event.Draft) (event.Seq, event.Seq, error) {
	return l.Log.Append(ctx, 0, d...)
}

type oneByOne struct{ journal.Log }

func (l oneByOne) Append(ctx context.Context, next event.Seq, d ...event.Draft) (first, last event.Seq, err error) {
	for i := range d {
		at, end, err := l.Log.Append(ctx, next, d[i])
		if err != nil {
			return 0, 0, err
		}
		if next, last = 0, end; i == 0 {
			first = at
		}
	}
	if len(d) == 0 {
		return l.Log.Append(ctx, next)
	}
	return first, last, nil
}

type lineFirst struct{ journal.Log }

func (l lineFirst) Append(ctx context.Context, next event.Seq, drafts ...event.Draft) (event.Seq, event.Seq, error) {
	drafts = slices.Clone(drafts)
	var later [][]byte
	for i, d := range drafts {
		data, err := blobs.Shrink(d.Data, func(mediaType string, data []byte) (event.Blob, error) {
			later = append(later, data)
			return event.Blob{SHA256: strings.Repeat("0", 64), Bytes: int64(len(data)), MediaType: mediaType}, nil
		})
		if err == nil {
			drafts[i].Data = data
		}
	}
	first, last, err := l.Log.Append(ctx, next, drafts...)
	for _, data := range later {
		if err == nil {
			_, err = l.PutBlobFrom(ctx, "", bytes.NewReader(data))
		}
	}
	return first, last, err
}

type shownFirst struct {
	journal.Log
	shown *event.Seq
}

func (l shownFirst) Append(ctx context.Context, next event.Seq, d ...event.Draft) (event.Seq, event.Seq, error) {
	*l.shown = l.Log.Marks().Visible + event.Seq(len(d))
	return l.Log.Append(ctx, next, d...)
}

func (l shownFirst) Marks() journal.Marks {
	m := l.Log.Marks()
	m.Visible = max(m.Visible, *l.shown)
	return m
}

type acknowledging struct{ journal.Log }

func (l acknowledging) Append(ctx context.Context, next event.Seq, d ...event.Draft) (event.Seq, event.Seq, error) {
	first, last, err := l.Log.Append(ctx, next, d...)
	if errors.Is(err, journal.ErrBlocked) {
		last := l.Marks().Written
		return last + 1, last + event.Seq(len(d)), nil
	}
	return first, last, err
}

// late keeps streamed events to itself until the next append.
type late struct {
	journal.Log
	drafts *[]event.Draft
}

func (l late) Append(ctx context.Context, next event.Seq, d ...event.Draft) (event.Seq, event.Seq, error) {
	if len(d) == 1 && d[0].Type == event.TypeUserPrompt {
		*l.drafts = append(*l.drafts, d...)
		last := l.Marks().Written
		return last + 1, last + 1, nil
	}
	return l.Log.Append(ctx, next, append(*l.drafts, d...)...)
}

type skipping struct{ journal.Log }

func (l skipping) ReadAfter(ctx context.Context, after event.Seq, n int) (event.Batch, error) {
	if after > 1 {
		after++
	}
	return l.Log.ReadAfter(ctx, after, n)
}

type unended struct{ journal.Log }

func (l unended) ReadLines(ctx context.Context, after event.Seq, n int) (journal.Stretch, error) {
	s, err := l.Log.ReadLines(ctx, after, n)
	s.Lines = bytes.TrimSuffix(s.Lines, []byte("\n"))
	return s, err
}

type shortPages struct{ journal.Log }

func (l shortPages) ReadBefore(ctx context.Context, before event.Seq, limit int) (event.Batch, error) {
	if limit > 3 {
		limit--
	}
	return l.Log.ReadBefore(ctx, before, limit)
}

type silent struct{ journal.Log }

func (silent) Changed() <-chan struct{} { return nil }

type newEpochs struct {
	journal.Log
	epoch string
}

func (l newEpochs) Epoch() string { return l.epoch }

type forgetful struct{ journal.Log }

func (l forgetful) Label(f func(*journal.Metadata)) error {
	l.UpdateMetadata(f)
	return nil
}

type lazy struct{ journal.Log }

func (lazy) FlushMetadata(context.Context) error { return nil }

type anyNumbers struct {
	journal.Log
	seq *event.Seq
}

func (l anyNumbers) UpdateMetadata(f func(*journal.Metadata)) {
	l.Log.UpdateMetadata(func(m *journal.Metadata) {
		f(m)
		*l.seq = m.MaxSeq
	})
}

func (l anyNumbers) Metadata() journal.Metadata {
	m := l.Log.Metadata()
	m.MaxSeq = max(m.MaxSeq, *l.seq)
	return m
}

type madeUp struct{ journal.Log }

func (l madeUp) Derived() journal.Derived { return madeUpFiles{l.Log.Derived()} }

type madeUpFiles struct{ journal.Derived }

func (f madeUpFiles) Read(name string) ([]byte, error) {
	data, err := f.Derived.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

type unsaved struct {
	journal.Log
	files map[string][]byte
}

func (l unsaved) Files() journal.Files { return unsavedFiles{l.Log.Files(), l.files} }

type unsavedFiles struct {
	journal.Files
	files map[string][]byte
}

func (f unsavedFiles) Replace(name string, fill func(io.Writer) error) error {
	var data bytes.Buffer
	err := fill(&data)
	f.files[name] = data.Bytes()
	return err
}

func (f unsavedFiles) Read(name string) ([]byte, error) {
	if data, ok := f.files[name]; ok {
		return data, nil
	}
	return f.Files.Read(name)
}

type anyBlob struct{ journal.Log }

func (l anyBlob) OpenBlob(sha string) (io.ReadSeekCloser, error) {
	b, err := l.Log.OpenBlob(sha)
	if errors.Is(err, journal.ErrNotFound) {
		return l.Log.OpenBlob("0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5")
	}
	return b, err
}

type allStale struct{ journal.Log }

func (l allStale) StaleUploads(before time.Time, only []string) ([]string, error) {
	return l.Log.StaleUploads(before.AddDate(1, 0, 0), only)
}

type oldestFirst struct{ *memory.Store }

func (s oldestFirst) Newest(behind journal.Place) iter.Seq[journal.Metadata] {
	list := slices.Collect(s.Store.Newest(behind))
	slices.Reverse(list)
	return slices.Values(list)
}

type immortal struct{ *memory.Store }

func (immortal) Delete(context.Context, string) error { return nil }

type shredder struct{ *memory.Store }

func (s shredder) Trash(ctx context.Context, id string) error { return s.Delete(ctx, id) }

type fullTrash struct{ *memory.Store }

func (fullTrash) Purge(context.Context, journal.Trashed) error { return nil }

type generous struct{ *memory.Store }

func (s generous) Lease(ctx context.Context, id string) (journal.Lease, error) {
	return s.TakeOver(ctx, id)
}

type ownsAll struct{ *memory.Store }

func (s ownsAll) Owned() iter.Seq[journal.Metadata] { return s.Newest(journal.Place{}) }

type blobless struct{ *memory.Store }

func (s blobless) Import(ctx context.Context, in journal.Imported) (string, error) {
	in.NextBlob = nil
	return s.Store.Import(ctx, in)
}

type lineless struct{ *memory.Store }

func (s lineless) Lines(id string) ([]journal.Part, error) {
	parts, err := s.Store.Lines(id)
	return parts[:0], err
}

type anyID struct{ *memory.Store }

func (s anyID) Lease(ctx context.Context, id string) (journal.Lease, error) {
	l, err := s.Store.Lease(ctx, id)
	if errors.Is(err, journal.ErrInvalidID) {
		err = journal.ErrNotFound
	}
	return l, err
}

type keepsLease struct{ *memory.Store }

func (s keepsLease) Lease(ctx context.Context, id string) (journal.Lease, error) {
	l, err := s.Store.Lease(ctx, id)
	if err != nil {
		return nil, err
	}
	return unreleased{l}, nil
}

type unreleased struct{ journal.Lease }

func (unreleased) Release() {}

type weightless struct{ *memory.Store }

func (s weightless) Sizes(string) (journal.Sizes, error) { return journal.Sizes{Log: 1}, nil }

func TestABrokenJournalFailsTheSuite(t *testing.T) {
	sound := func(s *memory.Store) journal.Store { return broken{s, nil} }
	promises := map[string]journaltest.Promise{}
	for _, p := range journaltest.Promises() {
		promises[p.Name] = p
		require.Empty(t, verdict(p, subject(sound)), "a sound journal failed: %s", p.Name)
	}
	broke := map[string]bool{}
	for _, f := range []struct {
		fault, promise string
		wrap           func(*memory.Store) journal.Store
	}{
		{"drops the fence", "a newer lease fences the older", sharing(func(l journal.Log, a latest) journal.Log { return unfenced{l, a} })},
		{"drops the fence of files", "a newer lease fences the older", sharing(func(l journal.Log, a latest) journal.Log { return unfencedFiles{l, a} })},
		{"drops the fence of labels", "a newer lease fences the older", sharing(func(l journal.Log, a latest) journal.Log { return unfencedLabels{l, a} })},
		{"does not say that it is lost", "a newer lease fences the older", logs(func(l journal.Log) journal.Log { return well{l} })},
		{"ignores the expected seq", "an append at another next seq writes nothing", logs(func(l journal.Log) journal.Log { return anywhere{l} })},
		{"ignores the expected seq", "of appends at the same next seq one is written", logs(func(l journal.Log) journal.Log { return anywhere{l} })},
		{"writes drafts one by one", "an append takes the next seqs, all or none", logs(func(l journal.Log) journal.Log { return oneByOne{l} })},
		{"stores a blob after its event", "a blob is stored before the event that names it", logs(func(l journal.Log) journal.Log { return lineFirst{l} })},
		{"shows an event before it is written", "an event is written before it is seen", logs(func(l journal.Log) journal.Log { return shownFirst{l, new(event.Seq)} })},
		{"acknowledges a failed append", "an event is written before it is seen", logs(func(l journal.Log) journal.Log { return acknowledging{l} })},
		{"acknowledges before it writes", "an acknowledged event outlives a kill", logs(func(l journal.Log) journal.Log { return late{l, new([]event.Draft)} })},
		{"changes the epoch at each opening", "an acknowledged event outlives a kill", logs(func(l journal.Log) journal.Log { return newEpochs{l, journal.NewEpoch()} })},
		{"forgets a label", "a label is stored when Label returns", logs(func(l journal.Log) journal.Log { return forgetful{l} })},
		{"forgets flushed metadata", "flushed metadata outlives a kill", logs(func(l journal.Log) journal.Log { return lazy{l} })},
		{"lets a caller set numbers", "the numbers of the metadata belong to the journal", logs(func(l journal.Log) journal.Log { return anyNumbers{l, new(event.Seq)} })},
		{"skips an event", "readers get every event once, in order", logs(func(l journal.Log) journal.Log { return skipping{l} })},
		{"returns half a line", "a stored line is the event with its checksum", logs(func(l journal.Log) journal.Log { return unended{l} })},
		{"returns short pages", "a log is what was appended to it", logs(func(l journal.Log) journal.Log { return shortPages{l} })},
		{"never rings", "a change closes the channel", logs(func(l journal.Log) journal.Log { return silent{l} })},
		{"makes up derived files", "derived files may go at any time", logs(func(l journal.Log) journal.Log { return madeUp{l} })},
		{"keeps small files in memory", "small files are replaced whole and fenced", logs(func(l journal.Log) journal.Log { return unsaved{l, map[string][]byte{}} })},
		{"serves any blob", "equal bytes are one blob", logs(func(l journal.Log) journal.Log { return anyBlob{l} })},
		{"calls every upload stale", "an upload is stale until the log names it", logs(func(l journal.Log) journal.Log { return allStale{l} })},
		{"lists the oldest first", "the list has the newest first and opens no log", func(s *memory.Store) journal.Store { return oldestFirst{s} }},
		{"has no stored lines", "the stored lines are there without opening a log", func(s *memory.Store) journal.Store { return lineless{s} }},
		{"knows no sizes", "the sizes grow with what is stored", func(s *memory.Store) journal.Store { return weightless{s} }},
		{"deletes nothing", "a deleted session stays deleted", func(s *memory.Store) journal.Store { return immortal{s} }},
		{"deletes what is put away", "a session in the trash is restored whole, or purged", func(s *memory.Store) journal.Store { return shredder{s} }},
		{"purges nothing", "a session in the trash is restored whole, or purged", func(s *memory.Store) journal.Store { return fullTrash{s} }},
		{"grants each lease", "a lease that another hub holds is refused", func(s *memory.Store) journal.Store { return generous{s} }},
		{"owns every session", "a lease that another hub holds is refused", func(s *memory.Store) journal.Store { return ownsAll{s} }},
		{"keeps a released lease", "a lease that another hub holds is refused", func(s *memory.Store) journal.Store { return keepsLease{s} }},
		{"loses the blobs of an import", "an import keeps seqs, epoch and blobs", func(s *memory.Store) journal.Store { return blobless{s} }},
		{"looks for any id", "an id that is none finds nothing", func(s *memory.Store) journal.Store { return anyID{s} }},
	} {
		t.Run(f.fault, func(t *testing.T) {
			p, known := promises[f.promise]
			require.True(t, known, f.promise)
			words := verdict(p, subject(f.wrap))
			require.NotEmpty(t, words, "%q keeps the promise that %s", f.fault, f.promise)
			broke[f.promise] = true
		})
	}
	for name := range promises {
		require.True(t, broke[name], "no fault breaks the promise that %s", name)
	}
}
