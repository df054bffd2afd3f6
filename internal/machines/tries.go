package machines

import (
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// firstPause is from one try to reach home to the next, after a connection that was good.
	firstPause = 250 * time.Millisecond
	// mostUnreached is the longest such pause while home cannot be reached, so that a machine is
	// back within 2 s after it can be.
	mostUnreached = 1500 * time.Millisecond
	// mostRefusal is that pause while home answers and refuses: only a person changes that.
	mostRefusal = 15 * time.Second
	// reachBound is how long home's computer may take to accept a connection. A packet that was
	// lost is sent again after 1, 3 and 7 s: a new try is sooner.
	reachBound = 2 * time.Second
)

// refusal is what home says when it refuses a machine.
type refusal struct{ error }

// Unwrap returns what home says.
func (r refusal) Unwrap() error { return r.error }

// tries are the pauses between a machine's tries to reach home. They double, up to a limit by
// what ended the try.
type tries struct {
	most  time.Duration // limits all of them
	pause time.Duration
}

// again begins with the shortest pause.
func (t *tries) again() { t.pause = 0 }

// next returns how long to wait after a try that took some time and ended with err.
func (t *tries) next(err error, took time.Duration) time.Duration {
	limit, refused := mostUnreached, errors.As(err, &refusal{})
	if refused {
		limit = mostRefusal
	}
	t.pause = min(max(2*t.pause, firstPause), limit, t.most)
	// Machines whose home was away do not come all at once.
	wait := t.pause/2 + rand.N(t.pause/2+1)
	if refused {
		return wait
	}
	return max(wait-took, rand.N(firstPause/2))
}
