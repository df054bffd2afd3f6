package store_test

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
)

// cuts is the number of power cuts tried at each call.
func cuts() int {
	if soak.On() {
		return 8
	}
	return 1
}

func TestAStoryIsToldAsItIs(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			trace, _ := told(t, &s, fault{}, 0)
			for _, step := range s.steps {
				require.Contains(t, stepsOf(trace), step, "the story has no such step")
			}
		})
	}
}

// TestAStoryLosesNothingWhateverCallFails runs every story with every fault at its
// first possible call, then at the second, and so on.
func TestAStoryLosesNothingWhateverCallFails(t *testing.T) {
	for _, s := range stories() {
		for _, f := range faults {
			t.Run(s.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				everyCall(t, &s, f)
			})
		}
	}
}

// TestASyncAfterAFailedOneIsNotBelievedOnAFullDevice fills the device right after a
// failed sync. Then neither the metadata can record the failure nor the bytes be
// written again.
func TestASyncAfterAFailedOneIsNotBelievedOnAFullDevice(t *testing.T) {
	for _, s := range stories() {
		if !strings.HasPrefix(s.name, "a device that fails while a log is opened") {
			continue
		}
		for n := 1; n <= 10; n++ {
			t.Run(fmt.Sprint(s.name, "/", n), func(t *testing.T) {
				_, at := told(t, &s, faultNamed(t, "a full device"), n)
				require.NotZero(t, at)
			})
		}
	}
}

func faultNamed(t *testing.T, name string) fault {
	i := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
	require.GreaterOrEqual(t, i, 0)
	return faults[i]
}

// everyCall runs a story with a fault at the first call, the second, and so on,
// until the story ends before the fault. A soak tries every call. Otherwise it
// tries every 97th, from a start derived from the names of the story and the fault.
func everyCall(t *testing.T, s *story, f fault) {
	first, step := 1+sample(s.name+f.name)%97, 97
	if soak.On() {
		first, step = 1, 1
	}
	over := false
	for n := first; !over; n += step {
		require.Less(t, n, 5000, "the story does not end")
		if !t.Run(fmt.Sprint(n), func(t *testing.T) {
			_, at := told(t, s, f, n)
			over = at == 0
		}) {
			return
		}
	}
}

// TestAKillBetweenAnyTwoStepsLosesNothing kills the process right before each step
// of each story that changes the device, and before the steps that a story names. A
// named step that never happens is a failure. Outside of a soak it tries one in
// three of the other steps.
func TestAKillBetweenAnyTwoStepsLosesNothing(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			trace, _ := told(t, &s, fault{}, 0)
			steps := map[string]bool{}
			for _, step := range s.steps {
				steps[step] = true
			}
			for _, c := range trace {
				if c.changes() {
					steps[c.step()] = true
				}
			}
			for step := range steps {
				if !soak.On() && !slices.Contains(s.steps, step) && sample(s.name+step)%3 > 0 {
					continue
				}
				t.Run(step, func(t *testing.T) {
					for n := 1; ; n++ { // for each time the story reaches the step
						at := 0
						for attempt := 0; at == 0 && attempt < 5; attempt++ {
							// The calls of a log's goroutines may come in another
							// order.
							_, at = told(t, &s, faults[0].before(step), n)
							if n > 1 {
								break
							}
						}
						// A step of the trace may have come by chance, as after a failed write.
						require.True(t, n > 1 || at > 0 || !slices.Contains(s.steps, step), "no kill came right before the step")
						if at == 0 || !soak.On() {
							return
						}
					}
				})
			}
		})
	}
}

// sample derives a number from a name, so that a failing run can be repeated.
func sample(name string) int { return int(crc32.ChecksumIEEE([]byte(name)) >> 1) }

// told runs a story with a fault at its n-th possible call and compares the
// remaining files with the promises. It returns the calls that were made, and the
// number of the failed call, or zero. It runs in a synctest bubble, so timers take
// no time.
func told(t *testing.T, s *story, f fault, n int) (trace []call, at int) {
	synctest.Test(t, func(t *testing.T) {
		p := newTeller(t, s)
		defer func() {
			p.leave()
			if t.Failed() {
				t.Log(p.fs.lines())
			}
		}()
		if n > 0 {
			p.cause = f.cause
			p.fs.set(f.from(n, &at))
		}
		s.tell(p)
		if !p.gone { // a kill: no clean close comes before
			p.oracle.clone().verify(p.disk.restart(), "boot-1", false)
		}
		p.leave()
		trace = p.fs.trace()
		for cut := range uint64(cuts()) {
			p.oracle.clone().verify(p.disk.powerCut(rand.New(rand.NewPCG(uint64(n), cut))), "boot-2", true)
		}
		// Cut the power also during the run after the kill.
		after, disk := p.oracle.clone(), p.disk.restart()
		after.verify(disk, "boot-1", false)
		after.verify(disk.powerCut(rand.New(rand.NewPCG(uint64(n), 99))), "boot-2", true)
	})
	return trace, at
}

func stepsOf(trace []call) []string {
	var all []string
	for _, c := range trace {
		all = append(all, c.step())
	}
	return all
}
