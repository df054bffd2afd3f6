package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// bench collects the rows of one run.
type bench struct {
	dir     string
	quick   bool
	rows    []row
	details []string
}

// row is one line of the table.
type row struct {
	figure, goal, measured string
	verdict                string
}

// rounds is how many interleaved rounds a comparison takes.
func (b *bench) rounds() int {
	if b.quick {
		return 3
	}
	return 7
}

// scaled is n, or a part of it in a quick run.
func (b *bench) scaled(n, part int) int {
	if b.quick {
		return n / part
	}
	return n
}

// atLeast adds a row with a ratio that must reach the goal, if that is above 0.
func (b *bench) atLeast(figure string, goal, ratio float64) {
	if goal == 0 {
		b.told(figure, ratio)
		return
	}
	b.add(figure, fmt.Sprintf("≥ %.3g ×", goal), ratio, ratio >= goal)
}

// atMost adds a row with a ratio that must not exceed the goal, if that is above 0.
func (b *bench) atMost(figure string, goal, ratio float64) {
	if goal == 0 {
		b.told(figure, ratio)
		return
	}
	b.add(figure, fmt.Sprintf("≤ %.3g ×", goal), ratio, ratio <= goal)
}

// within adds a row for something that must not take longer than the goal.
func (b *bench) within(figure string, goal, took time.Duration) {
	b.add(figure, fmt.Sprintf("≤ 1 × %s", goal), float64(took)/float64(goal), took <= goal)
	b.detail("%s: %s", figure, took)
}

// weighed adds a row for something that must not be larger than the goal, in bytes.
func (b *bench) weighed(figure string, goal, bytes int64) {
	b.add(figure, fmt.Sprintf("≤ 1 × %d KiB", goal>>10), float64(bytes)/float64(goal), bytes <= goal)
	b.detail("%s: %.1f KiB", figure, float64(bytes)/1024)
}

// told adds a row without a goal.
func (b *bench) told(figure string, ratio float64) {
	b.rows = append(b.rows, row{figure, "–", fmt.Sprintf("%.3g ×", ratio), ""})
}

func (b *bench) add(figure, goal string, ratio float64, ok bool) {
	verdict := "SHORT"
	if ok {
		verdict = "ok"
	}
	b.rows = append(b.rows, row{figure, goal, fmt.Sprintf("%.3g ×", ratio), verdict})
}

// detail keeps the numbers behind a ratio.
func (b *bench) detail(format string, args ...any) {
	b.details = append(b.details, fmt.Sprintf(format, args...))
}

func (b *bench) print(w io.Writer) {
	// As docs/performance.md shows it, to be copied there.
	fmt.Fprintln(w, "| figure | goal | measured | |\n|---|---|---|---|")
	for _, r := range b.rows {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", r.figure, r.goal, r.measured, r.verdict)
	}
	fmt.Fprintln(w, "\ndetails (absolute: they say as much of the machine as of the program)")
	for _, d := range b.details {
		fmt.Fprintln(w, " ", d)
	}
}

func median[T int | int64 | float64 | time.Duration](values []T) T {
	return percentile(values, 50)
}

// percentile is the value below which p percent lie; it sorts a copy.
func percentile[T int | int64 | float64 | time.Duration](values []T, p int) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// ratios divides round by round, so that a slow moment of the machine counts on
// both sides, and takes the median.
func ratio[T int | int64 | float64 | time.Duration](over, under []T) float64 {
	each := make([]float64, 0, len(over))
	for i := range over {
		each = append(each, float64(over[i])/float64(under[i]))
	}
	return median(each)
}
