package server

import (
	"runtime"
	"runtime/debug"
	"time"
)

const (
	// crowd is the number of arrivals that leave about 1 MiB of garbage.
	crowd = 50
	// crowdQuiet is how long nothing must have arrived. crowdPause is the
	// minimum time between two returns of memory.
	crowdQuiet = 2 * time.Second
	crowdPause = time.Minute
)

// arrivalGarbage decides when to return the memory of arrivals to the system: of
// upgrades and of sessions that were created or opened. Each leaves about 20 KiB:
// buffers of net/http and of files, and a grown stack. A hub with idle clients and
// sessions allocates nothing, so the collector would not run for two minutes, and the
// system would get the memory even later.
type arrivalGarbage struct {
	seen   int // number of arrivals so far
	seenAt time.Time
	given  int // that number at the last return of memory
	last   time.Time
}

// due reports whether to return memory now. came is the number of arrivals so far.
func (g *arrivalGarbage) due(came int, now time.Time) bool {
	if came != g.seen {
		g.seen, g.seenAt = came, now
	}
	if came-g.given < crowd || now.Sub(g.seenAt) < crowdQuiet || now.Sub(g.last) < crowdPause {
		return false
	}
	g.given, g.last = came, now
	return true
}

// giveBack collects garbage and returns free memory to the system, in some
// milliseconds. It collects twice, because each collection halves underused stacks.
func giveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}
