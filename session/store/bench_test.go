package store_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// line318 is a streamed event whose line has 318 bytes, the size everything was
// measured with.
func line318() event.Draft {
	d := message("")
	d.Data = []byte(`{"message_id":"m1","text":"` + string(bytes.Repeat([]byte("x"), 177)) + `"}`)
	return d
}

// rounds runs a and b in turn, n calls each, until the benchmark's count is
// reached, and returns the median time of one call of each. Interleaved, they
// share whatever else the machine does.
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

// rawWriter writes the same bytes with nothing around it.
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

// report prints what a benchmark compared: the share of raw write(2) speed that
// is left.
func report(b *testing.B, raw, ours time.Duration) {
	b.ReportMetric(float64(raw)/float64(ours), "x-raw")
	b.ReportMetric(float64(ours), "ns/append")
	b.ReportMetric(float64(raw), "ns/raw-write")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkAppend(b *testing.B) {
	ctx := context.Background()
	s := open(b, b.TempDir(), store.Options{})
	l := create(b, s)
	d := line318()
	_, _, err := l.Append(ctx, d)
	require.NoError(b, err)
	at := time.Now()
	d.Time = at
	b.ReportAllocs()
	b.ResetTimer()
	raw, ours := rounds(b, 2000, rawWriter(b, 318), func() {
		if _, _, err := l.Append(ctx, d); err != nil {
			b.Fatal(err)
		}
	})
	report(b, raw, ours)
}

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
