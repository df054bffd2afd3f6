package acp

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// watch reports an agent that is silent in the middle of a turn, once for each
// silence. It only reports: models take their time, and a person decides when it is
// too long.
func (a *Agent) watch() {
	told := time.Time{}
	for {
		select {
		case <-a.quiet:
			return
		case <-a.cfg.Clock.After(a.cfg.Bounds.Silence / 10):
		}
		since, open := a.silentSince()
		silent := a.cfg.Clock.Now().Sub(since)
		if !open || silent < a.cfg.Bounds.Silence || since.Equal(told) {
			continue
		}
		told = since
		if a.rec.put(event.AgentStalled{SilentMS: silent.Milliseconds()}) != nil {
			return
		}
	}
}

// silentSince returns when the agent was last heard, or got its prompt if that is
// later. It does not count as silent while it waits for a person.
func (a *Agent) silentSince() (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn == nil || a.inbound.waiting() {
		return time.Time{}, false
	}
	heard := time.Unix(0, a.tap.heard.Load())
	if heard.Before(a.turn.began) {
		heard = a.turn.began
	}
	return heard, true
}
