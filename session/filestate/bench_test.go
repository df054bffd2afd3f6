package filestate_test

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkKeep keeps the state of a repository of 10,000 files: the first time, and after
// ten edits.
func BenchmarkKeep(b *testing.B) {
	h := newHarness(b, true)
	for i := range 9_990 {
		put(b, h.of.Folder, fmt.Sprintf("d%d/e%d/f%d.go", i%100, i%7, i), fmt.Sprintf("package d%d // %01500d\n", i, i))
	}
	run(b, h.of.Folder, "add", "-A")
	run(b, h.of.Folder, "commit", "-q", "-m", "all")
	began := time.Now()
	h.keep(b, "1")
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "first-ms")
	for i := range 10 {
		put(b, h.of.Folder, fmt.Sprintf("d%d/e%d/f%d.go", i%100, i%7, i), fmt.Sprintf("edited %d", i))
	}
	for n := 0; b.Loop(); n++ {
		put(b, h.of.Folder, "edited", fmt.Sprint(n))
		h.keep(b, "2")
	}
}
