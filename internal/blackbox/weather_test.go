package blackbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// weather runs the faults around a hub. Each kind has a goroutine, so that faults
// overlap.
type weather struct {
	t    *testing.T
	seed uint64
	ctx  context.Context
	end  context.CancelFunc
	wait sync.WaitGroup

	mu     sync.Mutex
	counts map[string]int
}

func newWeather(t *testing.T, seed uint64) *weather {
	ctx, end := context.WithCancel(context.Background())
	w := &weather{t: t, seed: seed, ctx: ctx, end: end, counts: map[string]int{}}
	t.Cleanup(w.calm)
	return w
}

// blow calls fault again and again until calm, with random pauses of gap on
// average. It counts the kind that fault returns. An error fails the test.
func (w *weather) blow(gap time.Duration, fault func(context.Context, *rand.Rand) (kind string, err error)) {
	w.seed++
	random := rand.New(rand.NewPCG(w.seed, 1))
	w.wait.Go(func() {
		for {
			rest(w.ctx, time.Duration(random.Int64N(int64(2*gap))))
			if w.ctx.Err() != nil {
				return
			}
			kind, err := fault(w.ctx, random)
			if err != nil {
				w.t.Errorf("%s: %v", kind, err)
				return
			}
			w.count(kind)
		}
	})
}

// count counts one fault of the kind.
func (w *weather) count(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[kind]++
}

// calm ends all faults and waits for them.
func (w *weather) calm() {
	w.end()
	w.wait.Wait()
}

// String lists the faults so far.
func (w *weather) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var parts []string
	for kind, n := range w.counts {
		parts = append(parts, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// cut applies random network faults to the proxy's connections.
func cut(n *network) func(context.Context, *rand.Rand) (string, error) {
	return func(ctx context.Context, random *rand.Rand) (string, error) {
		kind := []string{"delay", "stall", "rst", "fin", "strand", "mute", "blackhole"}[random.IntN(7)]
		command := kind
		if kind == "delay" {
			command = fmt.Sprintf("delay %dms", 1+random.IntN(60))
		}
		if err := n.tell(command); err != nil {
			return kind, err
		}
		rest(ctx, time.Duration(random.Int64N(int64(2*time.Second))))
		heal := []string{"delay 0s", "heal"}
		if kind == "strand" || kind == "mute" {
			heal = append(heal, "rst") // a silent connection would take half a minute to notice
		}
		return kind, n.tell(heal...)
	}
}

// fillUp fills the disk for a while.
func fillUp(d *smallDisk) func(context.Context, *rand.Rand) (string, error) {
	return func(ctx context.Context, random *rand.Rand) (string, error) {
		if err := d.fill(random.Int64N(512 << 10)); err != nil {
			return "full disk", err
		}
		rest(ctx, time.Duration(random.Int64N(int64(3*time.Second))))
		return "full disk", d.heal()
	}
}

// killAgents kills one process of the hub's agents.
func killAgents(hubID string) func(context.Context, *rand.Rand) (string, error) {
	return func(_ context.Context, random *rand.Rand) (string, error) {
		pids := marked(hubID + ".")
		if len(pids) == 0 {
			return "no agent to kill", nil
		}
		process, err := os.FindProcess(pids[random.IntN(len(pids))])
		if err == nil {
			_ = process.Kill() // it may be gone already
		}
		return "agent killed", err
	}
}

// freeze stops a crowd for a while, at times for longer than the hub's write
// deadline.
func freeze(c *crowd) func(context.Context, *rand.Rand) (string, error) {
	return func(ctx context.Context, random *rand.Rand) (string, error) {
		if err := c.pause(); err != nil {
			return "clients stopped", err
		}
		rest(ctx, time.Duration(random.Int64N(int64([]time.Duration{time.Second, 4 * time.Second, 25 * time.Second}[random.IntN(3)]))))
		return "clients stopped", c.resume()
	}
}

// reconfigure edits the configuration of a running hub, at times with an error. It
// ends with the valid one.
func reconfigure(path string, good []byte) func(context.Context, *rand.Rand) (string, error) {
	return func(ctx context.Context, random *rand.Rand) (string, error) {
		edits := []string{
			"queue: {delay: 20ms, max_size: 10}\n", "queue: {titles: false}\n", "permissions: {wait_limit: 1h}\n", "limits: {clients: 500}\n",
			"queue: {max_size: many}\n", "nonsense", "limits: [\n",
		}
		edit := edits[random.IntN(len(edits))]
		if err := replaceFile(path, append(slices.Clone(good), edit...)); err != nil {
			return "configuration", err
		}
		rest(ctx, time.Duration(random.Int64N(int64(time.Second))))
		return "configuration", replaceFile(path, good)
	}
}

// replaceFile replaces a file atomically, like an editor does.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".edit-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
