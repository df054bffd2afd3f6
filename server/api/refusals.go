package api

import (
	"sync"
	"time"
)

const (
	// refusalsAtOnce failed sign-ins are recorded individually, then one per
	// refusalEvery.
	refusalsAtOnce = 10
	refusalEvery   = time.Minute
)

// refusalBound keeps failed sign-ins from filling the audit trail.
type refusalBound struct {
	mu      sync.Mutex
	used    int       // guarded by mu
	since   time.Time // guarded by mu
	skipped int       // guarded by mu
}

// take reports whether to record a failed sign-in, and how many were skipped since
// the last record.
func (b *refusalBound) take(now time.Time) (skipped int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if freed := int(now.Sub(b.since) / refusalEvery); freed > 0 {
		b.used, b.since = max(b.used-freed, 0), now
	}
	if b.used >= refusalsAtOnce {
		b.skipped++
		return 0, false
	}
	b.used++
	skipped, b.skipped = b.skipped, 0
	return skipped, true
}
