package auth

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// Failures without delay: five a minute for one address, twenty a minute in
	// all. Each further failure waits.
	addressBurst = 5
	totalBurst   = 20

	// maxDelay limits the wait, so that the right credential is delayed but never
	// locked out.
	maxDelay = 5 * time.Second
	// maxWaiting limits the waiting requests; further ones are told to come back
	// later.
	maxWaiting = 64
	// maxAddresses limits the remembered addresses.
	maxAddresses = 1024
)

// limiter slows down clients with wrong credentials, with delays and bounded
// memory.
type limiter struct {
	now   func() time.Time
	slots chan struct{} // one for each request that waits

	mu        sync.Mutex
	total     *rate.Limiter
	addresses map[string]*rate.Limiter
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{
		now:       now,
		slots:     make(chan struct{}, maxWaiting),
		total:     rate.NewLimiter(rate.Every(time.Minute/totalBurst), totalBurst),
		addresses: make(map[string]*rate.Limiter),
	}
}

// count counts a failure of an address.
func (l *limiter) count(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	take(l.total, now)
	take(l.of(address, now), now)
}

// take lets a bucket go into debt, which wait waits for. The debt is limited, so
// that an attack is forgotten a minute after it ended.
func take(b *rate.Limiter, now time.Time) {
	if b.TokensAt(now) > -float64(b.Burst()) {
		b.ReserveN(now, 1)
	}
}

// failed counts a failure and waits as long as earlier failures require.
func (l *limiter) failed(ctx context.Context, address string) error {
	err := l.wait(ctx, address)
	l.count(address)
	return err
}

// wait returns when the address may try again, at most maxDelay later. The error is
// a *Refusal if too many requests wait already, or ctx's.
func (l *limiter) wait(ctx context.Context, address string) error {
	delay := l.delay(address)
	if delay <= 0 {
		return nil
	}
	select {
	case l.slots <- struct{}{}:
	default:
		return &Refusal{Status: http.StatusTooManyRequests, Message: "too many wrong credentials", RetryAfter: maxDelay}
	}
	defer func() { <-l.slots }()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *limiter) delay(address string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	debt := max(debtOf(l.total, now), debtOf(l.of(address, now), now))
	return min(debt, maxDelay)
}

// debtOf returns how long it takes until the bucket allows one failure again.
func debtOf(b *rate.Limiter, now time.Time) time.Duration {
	missing := 1 - b.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / float64(b.Limit()) * float64(time.Second))
}

// of is called with mu held.
func (l *limiter) of(address string, now time.Time) *rate.Limiter {
	if b, ok := l.addresses[address]; ok {
		return b
	}
	if len(l.addresses) >= maxAddresses {
		l.forget(now)
	}
	b := rate.NewLimiter(rate.Every(time.Minute/addressBurst), addressBurst)
	l.addresses[address] = b
	return b
}

// forget removes the addresses without debt. If all have debt it removes all: the
// bucket for all addresses still applies.
func (l *limiter) forget(now time.Time) {
	for address, b := range l.addresses {
		if b.TokensAt(now) >= addressBurst {
			delete(l.addresses, address)
		}
	}
	if len(l.addresses) >= maxAddresses {
		clear(l.addresses)
	}
}
