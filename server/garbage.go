package server

import (
	"runtime"
	"runtime/debug"
	"time"
)

const (
	// crowd is how many upgrades leave enough behind to be given back: about
	// 1 MiB.
	crowd = 50
	// crowdQuiet is how long no client must have come, and crowdPause the least
	// time between two givings.
	crowdQuiet = 2 * time.Second
	crowdPause = time.Minute
)

// upgradeGarbage says when the memory that upgrades took is given back to the
// system. Each leaves about 20 KiB behind, net/http's buffers and a grown stack.
// A hub with idle clients allocates nothing, so the collector would not run for
// two minutes, and the system has the memory back later still.
type upgradeGarbage struct {
	seen   int // sockets that ever were
	seenAt time.Time
	given  int // of them, when memory was given back
	last   time.Time
}

// due reports whether to give memory back now. came is how many sockets there
// ever were.
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

// giveBack collects garbage and returns free memory to the system. It takes some
// milliseconds. Each collection halves stacks of which little is used, so there
// are two.
func giveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}
