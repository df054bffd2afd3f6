package server

import (
	"runtime"
	"runtime/debug"
	"time"
)

const (
	// crowd is the number of upgrades that leave about 1 MiB of garbage.
	crowd = 50
	// crowdQuiet is how long no new client must have come. crowdPause is the
	// minimum time between two returns of memory.
	crowdQuiet = 2 * time.Second
	crowdPause = time.Minute
)

// upgradeGarbage decides when to return the memory of upgrades to the system. Each
// upgrade leaves about 20 KiB: net/http's buffers and a grown stack. A hub with
// idle clients allocates nothing, so the collector would not run for two minutes,
// and the system would get the memory even later.
type upgradeGarbage struct {
	seen   int // number of sockets that ever ran
	seenAt time.Time
	given  int // that number at the last return of memory
	last   time.Time
}

// due reports whether to return memory now. came is the number of sockets that ever
// ran.
func (g *upgradeGarbage) due(came int, now time.Time) bool {
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
