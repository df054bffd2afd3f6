package journaltest

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

func reads(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	var want []string
	for range 40 {
		d := message(strings.Repeat("w", 50))
		put(t, l, d)
		want = append(want, string(d.Data))
	}
	require.Equal(t, want, texts(t, l))
	last := l.Marks().Visible
	one, err := l.ReadAfter(ctx, last-2, 1)
	require.NoError(t, err)
	require.Equal(t, 1, one.Count, "a batch has at least one event")
	for _, after := range []event.Seq{last, last + 100} {
		none, err := l.ReadAfter(ctx, after, 1<<20)
		require.NoError(t, err)
		require.True(t, none.Empty())
		none, through, err := l.ReadWritten(ctx, after, 1<<20)
		require.NoError(t, err)
		require.True(t, none.Empty())
		require.Equal(t, after, through)
	}
	_, err = l.ReadAfter(ctx, -1, 1)
	require.ErrorIs(t, err, journal.ErrInvalid)
	_, err = l.ReadBefore(ctx, -1, 1)
	require.ErrorIs(t, err, journal.ErrInvalid)
	_, err = l.ReadBefore(ctx, 0, 0)
	require.ErrorIs(t, err, journal.ErrInvalid)
	for after := event.Seq(0); after < last; {
		b, through, err := l.ReadWritten(ctx, after, 500)
		require.NoError(t, err)
		require.Greater(t, through, after)
		require.Equal(t, through, b.Last)
		after = through
	}
	for before := last + 1; before > 1; {
		b, err := l.ReadBefore(ctx, before, 7)
		require.NoError(t, err)
		require.Equal(t, before-1, b.Last)
		require.Equal(t, max(1, before-7), b.First)
		before = b.First
	}
	events := all(t, l)
	seq, found, err := l.SeqAt(ctx, events[0].Time)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, event.Seq(1), seq)
	_, found, err = l.SeqAt(ctx, events[len(events)-1].Time.Add(time.Hour))
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, h.Close())
}

func storedLines(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	for range 40 {
		put(t, l, message(strings.Repeat("w", 50)))
	}
	last := l.Marks().Visible
	for after := event.Seq(0); after < last; {
		found, err := l.ReadLines(ctx, after, 500)
		require.NoError(t, err)
		require.Greater(t, found.Last, after)
		require.LessOrEqual(t, found.File, after+1)
		events, err := l.ReadAfter(ctx, after, 1<<20)
		require.NoError(t, err)
		var want strings.Builder
		for e := range events.UpTo(found.Last).Headers() {
			body := e.JSON[:len(e.JSON)-1]
			fmt.Fprintf(&want, "%s,\"crc\":\"%08x\"}\n", body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		}
		require.Equal(t, want.String(), string(found.Lines))
		after = found.Last
	}
	one, err := l.ReadLines(ctx, last-2, 1)
	require.NoError(t, err)
	require.Equal(t, last-1, one.Last, "there is at least one line")
	none, err := l.ReadLines(ctx, last, 1)
	require.NoError(t, err)
	require.Equal(t, journal.Stretch{Last: last}, none)
	require.NoError(t, h.Close())
}

func rings(t T, s Subject) {
	h, l := fresh(t, s)
	for _, d := range []event.Draft{message("stream"), prompt("durable")} {
		changed := l.Changed()
		select {
		case <-changed:
			require.Fail(t, "the bell rang before a change")
		default:
		}
		put(t, l, d)
		rang(t, changed, "an append")
	}
	changed := l.Changed()
	require.NoError(t, h.Close())
	rang(t, changed, "the end of the hub")
}

// patience is how long a bell may be delayed by a busy machine.
const patience = 3 * time.Second

// rang waits for a bell that may be delayed a little.
func rang(t T, changed <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(patience):
		require.Fail(t, "the bell did not ring", "after %s", what)
	}
}

func blobFirst(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	last := l.Marks().Visible
	s.Fill(Blobs)
	_, _, err := l.Append(ctx, 0, message("with it"), large("a"))
	require.ErrorIs(t, err, journal.ErrBlocked)
	require.Equal(t, last, l.Marks().Visible, "an event is visible whose blob could not be stored")
	s.Fill()
	put(t, l, large("b"))
	check := func() {
		events := all(t, l)
		var data struct {
			Text event.BlobRef `json:"text"`
		}
		e := events[len(events)-1]
		require.Less(t, len(e.Data), 64<<10)
		require.NoError(t, unmarshal(e.Data, &data))
		require.EqualValues(t, 300<<10, data.Text.Blob.Bytes)
		require.True(t, strings.HasPrefix(data.Text.Head, "bbbb"))
		require.Equal(t, strings.Repeat("b", 300<<10), read(t, l, data.Text.Blob.SHA256))
	}
	check()
	h, l = killed(t, s, h, l.ID())
	check()
	require.NoError(t, h.Close())
}

// read returns a blob's bytes.
func read(t T, l journal.Log, sha string) string {
	t.Helper()
	r, err := l.OpenBlob(sha)
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return string(data)
}

func blobsOnce(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	names, err := l.BlobNames()
	require.NoError(t, err)
	require.Empty(t, names)
	one, err := l.PutBlobFrom(ctx, "text/plain", strings.NewReader("same"))
	require.NoError(t, err)
	require.Equal(t, event.Blob{SHA256: "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5", Bytes: 4, MediaType: "text/plain"}, one)
	two, err := l.PutBlobFrom(ctx, "text/plain", strings.NewReader("same"))
	require.NoError(t, err)
	require.Equal(t, one, two)
	_, err = l.PutBlobFrom(ctx, "", io.MultiReader(strings.NewReader("half"), failing{}))
	require.ErrorIs(t, err, errHalf)
	names, err = l.BlobNames()
	require.NoError(t, err)
	require.Equal(t, []string{one.SHA256}, names)
	require.Equal(t, "same", read(t, l, one.SHA256))
	for _, sha := range []string{"", "../metadata.json", strings.Repeat("0", 64), strings.ToUpper(one.SHA256)} {
		_, err = l.OpenBlob(sha)
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	h, l = killed(t, s, h, l.ID())
	require.Equal(t, "same", read(t, l, one.SHA256))
	require.NoError(t, h.Close())
}

var errHalf = errors.New("half of it")

// failing is a reader that fails.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errHalf }

func uploads(t T, s Subject) {
	ctx := context.Background()
	h, l := fresh(t, s)
	at := time.Date(2026, 2, 21, 14, 0, 0, 0, time.UTC)
	upload := func(text string) event.Attachment {
		b, err := l.PutBlobFrom(ctx, "text/plain", strings.NewReader(text))
		require.NoError(t, err)
		require.False(t, l.Uploaded(b.SHA256))
		a := event.Attachment{Name: text + ".txt", MediaType: "text/plain", Bytes: b.Bytes, SHA256: b.SHA256}
		require.NoError(t, l.NoteUpload(ctx, a, at))
		require.True(t, l.Uploaded(b.SHA256))
		return a
	}
	named, lost := upload("named"), upload("lost one")
	got, err := l.Upload(event.Attachment{SHA256: lost.SHA256})
	require.NoError(t, err)
	require.Equal(t, lost, got)
	bytes, files, err := l.UploadSize()
	require.NoError(t, err)
	require.Equal(t, []int64{13, 2}, []int64{bytes, int64(files)})
	require.NoError(t, l.NameUploads([]string{named.SHA256}))
	h, l = killed(t, s, h, l.ID())
	for before, want := range map[time.Time][]string{at.Add(-time.Second): nil, at.Add(time.Second): {lost.SHA256}} {
		stale, err := l.StaleUploads(before, nil)
		require.NoError(t, err)
		require.Equal(t, want, stale)
		stale, err = h.StaleUploads(l.ID(), before)
		require.NoError(t, err)
		require.Equal(t, want, stale)
	}
	require.NoError(t, l.RemoveUploads([]string{lost.SHA256}))
	_, err = l.Upload(lost)
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = l.OpenBlob(lost.SHA256)
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.Equal(t, "named", read(t, l, named.SHA256))
	require.NoError(t, h.Close())
}

func derives(t T, s Subject) {
	h, l := fresh(t, s)
	put(t, l, prompt("before"))
	for _, d := range []journal.Derived{l.Derived(), h.Derived()} {
		_, err := d.Read("x.json")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, d.Write("x.json", []byte("long before")))
		require.NoError(t, d.Write("x.json", []byte("after")))
		data, err := d.Read("x.json")
		require.NoError(t, err)
		require.Equal(t, "after", string(data))
		require.NoError(t, d.Write("y.json", []byte("other")))
		require.NoError(t, d.Remove("y.json", "never.json"))
		_, err = d.Read("y.json")
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	beside, err := h.DerivedOf(l.ID())
	require.NoError(t, err)
	data, err := beside.Read("x.json")
	require.NoError(t, err)
	require.Equal(t, "after", string(data))
	_, err = h.DerivedOf("20200101-000000-00000000")
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.NoError(t, l.Derived().Remove())
	require.NoError(t, h.Derived().Remove())
	h, l = killed(t, s, h, l.ID())
	for _, d := range []journal.Derived{l.Derived(), h.Derived()} {
		_, err := d.Read("x.json")
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	require.Equal(t, dataOf(prompt("before")), texts(t, l))
	require.NoError(t, h.Close())
}

func words(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func keepsFiles(t T, s Subject) {
	h, l := fresh(t, s)
	for _, f := range []journal.Files{l.Files(), h.Files()} {
		_, err := f.Read("notes.json")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, f.Replace("notes.json", words("long before")))
		require.NoError(t, f.Replace("notes.json", words("after")))
		require.NoError(t, f.Append("notes.jsonl", []byte("1\n")))
		require.NoError(t, f.Append("notes.jsonl", []byte("2\n")))
		require.NoError(t, f.Replace("bad.json", words("?")))
		kept, err := f.SetAside("bad.json", "quarantine/bad-1.json")
		require.NoError(t, err)
		require.True(t, kept)
	}
	h, l = killed(t, s, h, l.ID())
	for _, f := range []journal.Files{l.Files(), h.Files()} {
		for name, want := range map[string]string{"notes.json": "after", "notes.jsonl": "1\n2\n", "quarantine/bad-1.json": "?"} {
			data, err := f.Read(name)
			require.NoError(t, err)
			require.Equal(t, want, string(data))
		}
		_, err := f.Read("bad.json")
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	require.NoError(t, h.Close())
}

func idsOf(list iter.Seq[journal.Metadata]) (ids []string) {
	for m := range list {
		ids = append(ids, m.SessionID)
	}
	return ids
}

func lists(t T, s Subject) {
	h := s.Open(t)
	made := []string{create(t, h), create(t, h), create(t, h)}
	for i, id := range []int{0, 2, 1} {
		d := message("news")
		d.Time = time.Now().Add(time.Duration(i+1) * time.Second)
		put(t, open(t, h, made[id]), d)
	}
	want := []string{made[1], made[2], made[0]}
	check := func() {
		require.Equal(t, want, idsOf(h.Newest(journal.Place{})))
		require.Equal(t, want, idsOf(h.Owned()))
		list := h.List()
		require.Len(t, list, 3)
		for i, m := range list {
			require.Equal(t, want[i], m.SessionID)
			one, listed := h.Listed(m.SessionID)
			require.True(t, listed)
			require.Equal(t, m.UpdatedAt, one.UpdatedAt)
			require.Equal(t, "demo", one.Agent)
		}
		behind := journal.Place{UpdatedAt: list[0].UpdatedAt, SessionID: list[0].SessionID}
		require.Equal(t, want[1:], idsOf(h.Newest(behind)))
	}
	check()
	require.NoError(t, h.Close())
	h = s.Open(t)
	check()
	require.NoError(t, h.Close())
}

// lines reads a log as it is stored.
func lines(t T, s Subject) {
	h, l := fresh(t, s)
	for range 50 {
		put(t, l, message("a needle in the log"))
	}
	require.NoError(t, l.Files().Replace("notes.json", words("beside")))
	require.NoError(t, h.Close())
	h = s.Open(t)
	require.NoError(t, h.Present(l.ID()))
	beside, err := h.Beside(l.ID())
	require.NoError(t, err)
	data, err := beside.Read("notes.json")
	require.NoError(t, err)
	require.Equal(t, "beside", string(data))
	require.Error(t, beside.Replace("notes.json", words("x")), "without a lease")
	parts, err := h.Lines(l.ID())
	require.NoError(t, err)
	last, needles := event.Seq(0), 0
	for _, p := range parts {
		open, err := p.Open()
		require.NoError(t, err)
		text := make([]byte, open.Size())
		n, err := open.ReadAt(text, 0)
		require.True(t, err == nil || errors.Is(err, io.EOF))
		require.Len(t, text, n)
		require.NoError(t, open.Close())
		for line := range strings.Lines(string(text)) {
			require.True(t, strings.HasPrefix(line, `{"seq":`) && strings.HasSuffix(line, "}\n"))
			var e event.Event
			require.NoError(t, unmarshal([]byte(line), &e))
			require.Equal(t, last+1, e.Seq)
			last = e.Seq
			needles += strings.Count(line, "needle")
		}
	}
	require.Equal(t, 50, needles)
	_, err = h.Lines("20260101-000000-00000000")
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = h.Beside("20260101-000000-00000000")
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.ErrorIs(t, h.Present("20260101-000000-00000000"), journal.ErrNotFound)
	require.NoError(t, h.Close())
}
