package store_test

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// soak reports whether the slow tests should take their time.
func soak() bool { return os.Getenv("ABIDE_SOAK") != "" }

// cuts is how many power cuts are tried at each call.
func cuts() int {
	if soak() {
		return 8
	}
	return 1
}

func TestAStoryIsToldAsItIs(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			trace, _ := told(t, &s, fault{}, 0)
			for _, step := range s.steps {
				require.Contains(t, stepsOf(trace), step, "the story does not come by that step")
			}
		})
	}
}

// TestAStoryLosesNothingWhateverCallFails tells every story with every fault at
// the first call it can happen to, at the second, and so on to its end.
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

// TestASyncAfterAFailedOneIsNotBelievedOnAFullDevice has the device fill up right
// after it failed to sync, when neither the metadata can say so nor the bytes be
// written anew.
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

// everyCall tells a story with a fault at the first call, the second, and so on,
// until the story is over before it comes. Only in a soak is it every one; else
// every 97th, from a start that the names of the story and the fault give.
func everyCall(t *testing.T, s *story, f fault) {
	first, step := 1+sample(s.name+f.name)%97, 97
	if soak() {
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

// TestAKillBetweenAnyTwoStepsLosesNothing has the process end right before each
// step of each story that changes something on the device, and before those that
// a story names: a step that no kill comes before is a failure. Unless in a soak, of
// the steps a story does not name one in three is taken.
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
				if !soak() && !slices.Contains(s.steps, step) && sample(s.name+step)%3 > 0 {
					continue
				}
				t.Run(step, func(t *testing.T) {
					for n := 1; ; n++ { // each time the story comes by
						at := 0
						for attempt := 0; at == 0 && attempt < 5; attempt++ {
							// A log's own calls may come in another order.
							_, at = told(t, &s, faults[0].before(step), n)
							if n > 1 {
								break
							}
						}
						require.True(t, n > 1 || at > 0, "no kill came right before it")
						if at == 0 || !soak() {
							return
						}
					}
				})
			}
		})
	}
}

// sample turns a name into a number that is the same in every run, so that a red run
// is red again.
func sample(name string) int { return int(crc32.ChecksumIEEE([]byte(name)) >> 1) }

// told tells a story with a fault at the n-th call that it can happen to, compares
// the files left with the promises, and returns the calls that were made, and the
// number of the one that failed, zero if none did. Its time is its own, so waiting
// for a timer takes none.
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
		if !p.gone { // killed before anything is closed in good order
			p.oracle.clone().verify(p.disk.restart(), "boot-1", false)
		}
		p.leave()
		trace = p.fs.trace()
		for cut := range uint64(cuts()) {
			p.oracle.clone().verify(p.disk.powerCut(rand.New(rand.NewPCG(uint64(n), cut))), "boot-2", true)
		}
		// The power fails under the run behind a kill, too.
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
