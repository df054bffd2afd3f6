package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// line318 is a streamed event whose line has 318 bytes. All recorded figures use
// this size.
func line318() event.Draft {
	d := message("")
	d.Data = []byte(`{"message_id":"m1","text":"` + string(bytes.Repeat([]byte("x"), 177)) + `"}`)
	return d
}

// rounds runs first and second in turn, n calls each, until the benchmark's count
// is reached. It returns the median time of one call of each. The interleaving
// exposes both to the same load of the machine.
func rounds(b *testing.B, n int, first, second func()) (one, two time.Duration) {
	b.Helper()
	var ones, twos []time.Duration
	for done := 0; done < b.N || len(ones) < 5; done += n {
		ones = append(ones, timed(n, first))
		twos = append(twos, timed(n, second))
	}
	slices.Sort(ones)
	slices.Sort(twos)
	return ones[len(ones)/2], twos[len(twos)/2]
}

func timed(n int, f func()) time.Duration {
	start := time.Now()
	for range n {
		f()
	}
	return time.Since(start) / time.Duration(n)
}

// rawWriter writes the same bytes directly to a file.
func rawWriter(b *testing.B, size int) func() {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	require.NoError(b, err)
	b.Cleanup(func() { f.Close() })
	line := bytes.Repeat([]byte("x"), size)
	return func() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
	}
}

// report prints the speed as a share of raw write(2).
func report(b *testing.B, raw, ours time.Duration) {
	b.ReportMetric(float64(raw)/float64(ours), "x-raw")
	b.ReportMetric(float64(ours), "ns/append")
	b.ReportMetric(float64(raw), "ns/raw-write")
	b.ReportMetric(0, "ns/op")
}

// benchAppend compares Append of one line with write(2) of the same bytes.
func benchAppend(b *testing.B, l *store.Log) {
	b.Helper()
	ctx := context.Background()
	d := line318()
	d.Time = time.Now()
	b.ReportAllocs()
	b.ResetTimer()
	raw, ours := rounds(b, 2000, rawWriter(b, 318), func() {
		if _, _, err := l.Append(ctx, d); err != nil {
			b.Fatal(err)
		}
	})
	report(b, raw, ours)
}

// BenchmarkAppend is the hot path: a validated payload to a visible event.
func BenchmarkAppend(b *testing.B) {
	b.Run("observers=0", func(b *testing.B) {
		s := open(b, b.TempDir(), store.Options{})
		benchAppend(b, create(b, s))
	})
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("observers=%d", n), func(b *testing.B) {
			s := open(b, b.TempDir(), store.Options{})
			l := create(b, s)
			ctx, cancel := context.WithCancel(context.Background())
			var group errgroup.Group
			for range n {
				group.Go(func() error { return observer.New(l, nowhere{}, 0, 64<<10).Run(ctx) })
			}
			benchAppend(b, l)
			cancel()
			require.ErrorIs(b, group.Wait(), context.Canceled)
		})
	}
	b.Run("log=300MB", func(b *testing.B) {
		s := open(b, b.TempDir(), store.Options{SegmentBytes: 1 << 40})
		l := create(b, s)
		grow(b, l, 1_000_000)
		benchAppend(b, l)
	})
	b.Run("beside=20sessions", func(b *testing.B) {
		s := open(b, b.TempDir(), store.Options{})
		ctx, cancel := context.WithCancel(context.Background())
		var group errgroup.Group
		for range 20 {
			other := create(b, s)
			group.Go(func() error {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for ctx.Err() == nil {
					<-tick.C
					if _, _, err := other.Append(context.Background(), line318()); err != nil {
						return err
					}
				}
				return nil
			})
		}
		benchAppend(b, create(b, s))
		cancel()
		require.NoError(b, group.Wait())
	})
}

// nowhere is a Sink that discards everything.
type nowhere struct{}

func (nowhere) Deliver(context.Context, event.Batch) error { return nil }

// grow appends n events in large writes.
func grow(b *testing.B, l *store.Log, n int) {
	b.Helper()
	drafts := make([]event.Draft, 1000)
	for i := range drafts {
		drafts[i] = line318()
		drafts[i].Time = time.Now()
	}
	for done := 0; done < n; done += len(drafts) {
		_, _, err := l.Append(context.Background(), drafts...)
		require.NoError(b, err)
	}
}

// BenchmarkAppend16 appends 16 lines in one call, as the pipe of a fast agent
// delivers them.
func BenchmarkAppend16(b *testing.B) {
	ctx := context.Background()
	s := open(b, b.TempDir(), store.Options{})
	l := create(b, s)
	drafts := make([]event.Draft, 16)
	for i := range drafts {
		drafts[i] = line318()
		drafts[i].Time = time.Now()
	}
	b.ReportAllocs()
	b.ResetTimer()
	raw, ours := rounds(b, 500, rawWriter(b, 318), func() {
		if _, _, err := l.Append(ctx, drafts...); err != nil {
			b.Fatal(err)
		}
	})
	report(b, raw, ours/16)
}

// BenchmarkAppendDurable appends a prompt, which is synced before Append returns.
// It is compared with write(2) and fdatasync(2) of the same bytes.
func BenchmarkAppendDurable(b *testing.B) {
	ctx := context.Background()
	s := open(b, b.TempDir(), store.Options{})
	l := create(b, s)
	d := prompt("p")
	f, err := store.OS().Create(filepath.Join(b.TempDir(), "raw"))
	require.NoError(b, err)
	defer f.Close()
	line, at := bytes.Repeat([]byte("x"), 200), int64(0)
	b.ResetTimer()
	raw, ours := rounds(b, 20, func() {
		_, err := f.WriteAt(line, at)
		at += int64(len(line))
		if err := errors.Join(err, f.Datasync()); err != nil {
			b.Fatal(err)
		}
	}, func() {
		if _, _, err := l.Append(ctx, d); err != nil {
			b.Fatal(err)
		}
	})
	report(b, raw, ours)
}

// BenchmarkReplay reads the last 50 events of a log that was just opened and has no
// tail in memory.
func BenchmarkReplay(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		root := b.TempDir()
		s, err := store.Open(root, store.Options{SegmentBytes: 1 << 40})
		require.NoError(b, err)
		l := create(b, s)
		grow(b, l, n)
		require.NoError(b, s.Close())
		id := l.ID()
		b.Run(fmt.Sprintf("last=50/of=%d", n), func(b *testing.B) {
			s := open(b, root, store.Options{})
			l, err := s.Log(ctx, id)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				batch, err := l.ReadBefore(ctx, 0, 50)
				if err != nil || batch.Count != 50 {
					b.Fatal(batch.Count, err)
				}
			}
		})
		b.Run(fmt.Sprintf("any=50/of=%d", n), func(b *testing.B) {
			s := open(b, root, store.Options{})
			l, err := s.Log(ctx, id)
			require.NoError(b, err)
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				batch, err := l.ReadBefore(ctx, event.Seq(r.IntN(n-60)+60), 50)
				if err != nil || batch.Count != 50 {
					b.Fatal(batch.Count, err)
				}
			}
		})
		b.Run(fmt.Sprintf("cold-tail/of=%d", n), func(b *testing.B) {
			s := open(b, root, store.Options{})
			for b.Loop() {
				// The first call opens the log, including recovery.
				l, err := s.Log(ctx, id)
				if err != nil {
					b.Fatal(err)
				}
				batch, err := l.ReadBefore(ctx, 0, 50)
				if err != nil || batch.Count != 50 {
					b.Fatal(batch.Count, err)
				}
				b.StopTimer()
				require.NoError(b, s.Close())
				s = open(b, root, store.Options{})
				b.StartTimer()
			}
		})
		b.Run(fmt.Sprintf("whole/of=%d", n), func(b *testing.B) {
			s := open(b, root, store.Options{})
			l, err := s.Log(ctx, id)
			require.NoError(b, err)
			for b.Loop() {
				sent := 0
				for cursor := event.Seq(0); ; {
					batch, err := l.ReadAfter(ctx, cursor, 256<<10)
					if err != nil {
						b.Fatal(err)
					}
					if batch.Empty() {
						break
					}
					cursor, sent = batch.Last, sent+len(batch.JSON)
				}
				b.SetBytes(int64(sent))
			}
		})
	}
}

// BenchmarkStart opens and lists a data directory of 10,000 sessions. The files are
// in the page cache.
func BenchmarkStart(b *testing.B) {
	root := b.TempDir()
	s, err := store.Open(root, store.Options{})
	require.NoError(b, err)
	one := create(b, s)
	require.NoError(b, s.Close())
	model, err := os.ReadFile(filepath.Join(root, "sessions", one.ID(), "metadata.json"))
	require.NoError(b, err)
	lines, err := os.ReadFile(filepath.Join(root, "sessions", one.ID(), "events.jsonl"))
	require.NoError(b, err)
	for i := range 10_000 {
		id := fmt.Sprintf("20260101-000000-%08x", i)
		dir := filepath.Join(root, "sessions", id)
		require.NoError(b, os.Mkdir(dir, 0o700))
		for name, data := range map[string][]byte{"metadata.json": model, "events.jsonl": lines} {
			data = bytes.ReplaceAll(data, []byte(one.ID()), []byte(id))
			require.NoError(b, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		}
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := store.Open(root, store.Options{})
			if err != nil || len(s.List()) != 10_001 {
				b.Fatal(err)
			}
			b.StopTimer()
			require.NoError(b, s.Close())
			b.StartTimer()
		}
	})
	b.Run("list", func(b *testing.B) {
		s := open(b, root, store.Options{})
		for b.Loop() {
			if len(s.List()) != 10_001 {
				b.Fatal("sessions are missing")
			}
		}
	})
}

// BenchmarkValidate measures the step before Append: encoding a payload as JSON.
func BenchmarkValidate(b *testing.B) {
	p := event.AgentMessage{MessageID: "m1", Text: event.Text(bytes.Repeat([]byte("x"), 177))}
	at := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := event.NewDraft(p, 1, at); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadTail is one follower at the end of the log. It copies nothing.
func BenchmarkReadTail(b *testing.B) {
	ctx := context.Background()
	s := open(b, b.TempDir(), store.Options{})
	l := create(b, s)
	grow(b, l, 1000)
	b.ReportAllocs()
	for b.Loop() {
		batch, err := l.ReadAfter(ctx, 950, 64<<10)
		if err != nil || batch.Empty() {
			b.Fatal(err)
		}
	}
}
