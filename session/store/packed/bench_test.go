package packed_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/store/packed"
)

// BenchmarkPack measures a file of 64 MiB of events: packed, and opened.
func BenchmarkPack(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "events.jsonl")
	var text strings.Builder
	for n := 0; text.Len() < 64<<20; n++ {
		fmt.Fprintf(&text, `{"seq":%d,"time":"2026-02-21T14:03:%02d.%06dZ","type":"agent_message","turn":%d,"data":{"message_id":"m-%x","text":"word %d of a sentence about %x "},"crc":"%08x"}`+"\n", n, n%60, n*7919%1000000, n/900, n/40*2654435761, n*31%997, n*40503%65536, n*2654435761%(1<<32))
	}
	fill := func() { require.NoError(b, os.WriteFile(path, []byte(text.String()), 0o600)) }
	b.SetBytes(int64(text.Len()))
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			fill()
			temp, err := packed.Make(b.Context(), disk.OS(), path)
			require.NoError(b, err)
			require.NoError(b, packed.Replace(disk.OS(), temp, path))
			info, err := os.Stat(path + packed.Suffix)
			require.NoError(b, err)
			b.ReportMetric(float64(info.Size())/float64(text.Len()), "ratio")
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			f, err := packed.Open(disk.OS(), path, dir)
			require.NoError(b, err)
			require.NoError(b, f.Close())
		}
	})
}
