// Command bench measures abide's promises of speed, as ratios.
//
// It prints one table: figure, goal, measured, and ok or SHORT. A figure is
// measured side by side with its rival, in interleaved rounds of one run, and the
// median counts: on a noisy machine nothing else means anything. A figure with an
// absolute goal is shown as the used share of that goal. The numbers behind the
// ratios follow in a section of their own.
//
// It is a module of its own, so that the rivals do not become dependencies of
// abide.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
)

func main() {
	if role := os.Getenv(roleName); role != "" {
		if err := serveRole(role); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", role+":", err)
			os.Exit(1)
		}
		return
	}
	quick := flag.Bool("quick", false, "measure less, in under a minute")
	only := flag.String("only", "", "measure only the groups whose name contains `TEXT`")
	dir := flag.String("dir", "", "directory for the files measured on (default: a new one under the system's)")
	profileDir := flag.String("profile", "", "write the CPU profile of each server into `DIR`")
	flag.Parse()
	if err := os.Setenv(profiles, *profileDir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *quick, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// group is a set of figures that are measured together.
type group struct {
	name    string
	measure func(context.Context, *bench) error
}

func groups(b *bench) []group {
	return []group{
		{"words to disk", fromPipe{words, 0, b.scaled(100_000, 4), 7, 1, 1, 1.2, 0.6}.measure},
		{"calls to disk", fromPipe{calls, 0, b.scaled(100_000, 4), 7, 1, 1, 0, 0}.measure},
		{"calls to one", fromPipe{calls, 1, b.scaled(100_000, 4), 5, 1.2, 0, 0, 0}.measure},
		{"calls to ten", fromPipe{calls, 10, b.scaled(50_000, 4), 5, 2.3, 0.5, 0, 0}.measure},
		{"calls to a hundred", fromPipe{calls, 100, b.scaled(10_000, 4), 5, 3, 0.25, 0, 0}.measure},
		{"calls to a thousand", fromPipe{calls, 1000, b.scaled(2_000, 4), 3, 4, 0, 0, 0}.measure},
		{"mix to disk", fromPipe{mix, 0, b.scaled(100_000, 4), 7, 0, 0, 0, 0}.measure},
		{"mix to ten", fromPipe{mix, 10, b.scaled(50_000, 4), 5, 0, 0, 0, 0}.measure},
		{"mix to a hundred", fromPipe{mix, 100, b.scaled(10_000, 4), 5, 0, 0, 0, 0}.measure},
		{"append", measureAppend},
		{"replay", measureReplay},
		{"load", measureLoad},
		{"cold", measureCold},
		{"start", measureStart},
		{"first touch", measureFirstTouch},
		{"whole log", measureWhole},
		{"playback", measurePlayback},
		{"fan-out to one", fanOut{1, b.scaled(200_000, 4), 3, 1.5, 0, 0}.measure},
		{"fan-out to ten", fanOut{10, b.scaled(100_000, 5), 3, 2.3, 0.5, 0}.measure},
		{"fan-out to a hundred", fanOut{100, b.scaled(20_000, 4), 3, 3, 0.25, 0.8}.measure},
		// Fewer rounds of a crowd, each of which takes half a minute. The events are
		// more than the memory tail holds.
		{"fan-out to a thousand", fanOut{1000, b.scaled(4_000, 4), 2, 4, 0.25, 0.8}.measure},
		{"latency", measureLatency},
		{"idle", measureIdle},
		{"collected", measureCollected},
		{"idle sessions", measureIdleSessions},
		{"wake", measureWake},
		{"terminal", measureTerminal},
		{"undo", measureUndo},
		{"jobs", measureJobs},
		{"derived to disk", beside{mix, 0, b.scaled(100_000, 4), 7}.measure},
		{"derived to ten", beside{mix, 10, b.scaled(50_000, 4), 7}.measure},
		{"history", measureHistory},
		{"search", measureSearch},
		{"machines", measureMachines},
	}
}

func run(ctx context.Context, parent string, quick bool, only string) error {
	dir, err := os.MkdirTemp(parent, "abide-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, quick: quick}
	for _, g := range groups(b) {
		if !strings.Contains(g.name, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s …\n", g.name)
		if err := g.measure(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	b.print(os.Stdout)
	fmt.Printf("\n%s, %d processors; %s\n", runtime.Version(), runtime.NumCPU(), map[bool]string{true: "quick: fewer and shorter rounds", false: "full rounds"}[quick])
	return nil
}
