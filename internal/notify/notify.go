// Package notify decides which devices and channels are notified of sessions that
// need a person, and sends the messages.
//
// The Notifier follows the logs of sessions that change. An event that needs a
// notification becomes a Note. For each target (a browser's push subscription, or a
// configured channel) that wants it and does not show the session now, a delivery
// is written to push.json before it is sent. A session has one message at a target:
// a newer note replaces it, and it is withdrawn when it is settled elsewhere.
package notify

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/internal/outgoing"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// longTurn is how long a turn must take for its end to be notified.
const longTurn = time.Minute

// Options configure a Notifier.
type Options struct {
	// Dir is the data directory.
	Dir      string
	Manager  *session.Manager
	Registry *auth.Registry
	// Since is when the hub started: older events are not notified.
	Since time.Time
	// Guard sends the requests.
	Guard    *outgoing.Guard
	Channels []Channel
	// Base is the address of the app for links in channels; without it there are no
	// links.
	Base   string
	Logger *slog.Logger
	Timing Timing
	// Lines are those of this hub's machines; nil if there can be none.
	Lines Lines
	// Quiet reports that another hub, home, notifies people of this hub's sessions; nil is
	// never.
	Quiet func() bool
	// Now is the clock of answers by a channel; nil is time.Now.
	Now func() time.Time
}

// Timing configures the waits. Zero fields take the default.
type Timing struct {
	// LongTurn is how long a turn must take for its end to be notified: 60 s.
	LongTurn time.Duration
	// Ack is how long a visible screen may take to acknowledge its events: 1.5 s.
	Ack time.Duration
	// Retry is the wait before the second attempt; it grows fivefold: 2 s.
	Retry time.Duration
}

// Notifier notifies people. It is safe for concurrent use.
type Notifier struct {
	dir      string
	of       sessions
	registry *auth.Registry
	since    time.Time
	logger   *slog.Logger
	timing   Timing
	now      func() time.Time
	tokens   tokens
	sessions map[string]*follow // only Run's goroutine uses it
	lines    Lines              // nil if there can be none
	lined    map[string]lined   // only Run's goroutine uses it
	quiet    func() bool
	kick     bell.Bell // rings when there may be a delivery to send

	mu     sync.Mutex
	saved  record // the contents of push.json
	guard  *outgoing.Guard
	config channelSet
	busy   requests
	tests  testTimes
	counts wire.NotifyCounts
	needs  map[string]struct{} // the sessions of machines that need a person
}

// Open reads push.json. It starts no goroutine.
func Open(o Options) (*Notifier, error) {
	saved, err := readRecord(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open notifications: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Quiet == nil {
		o.Quiet = func() bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	n := &Notifier{
		dir: o.Dir, of: managed{o.Manager}, registry: o.Registry, since: o.Since, logger: o.Logger, timing: o.Timing.withDefaults(), now: o.Now,
		sessions: map[string]*follow{}, lines: o.Lines, lined: map[string]lined{}, needs: map[string]struct{}{}, quiet: o.Quiet, saved: saved, busy: requests{}, tests: testTimes{},
	}
	n.Configure(o.Guard, o.Channels, o.Base)
	return n, nil
}

func (t Timing) withDefaults() Timing {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&t.LongTurn, longTurn}, {&t.Ack, 1500 * time.Millisecond}, {&t.Retry, 2 * time.Second}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return t
}

// backOff returns the wait after so many attempts: 2 s, 10 s, 50 s, 250 s.
func (t Timing) backOff(attempts int) time.Duration {
	wait := t.Retry
	for range attempts - 1 {
		wait *= 5
	}
	return wait
}

// Configure replaces the guard and the channels while the hub runs.
func (n *Notifier) Configure(guard *outgoing.Guard, channels []Channel, base string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.guard, n.config = guard, channelSet{channels, base}
}

// Counts returns the numbers for the health page.
func (n *Notifier) Counts() wire.NotifyCounts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.counts
}

// Notifies reports whether anybody is notified of anything.
func (n *Notifier) Notifies() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.targets(), func(t target) bool { return t.choice.Events == nil || len(t.choice.Events) > 0 })
}

// Run follows sessions and sends messages until ctx ends. It returns when no
// request is running.
func (n *Notifier) Run(ctx context.Context) error {
	var sending sync.WaitGroup
	defer sending.Wait()
	n.revive(ctx)
	version, lines := uint64(0), uint64(0)
	for {
		changed, kicked, granted := n.of.Changed(), n.kick.Listen(), n.registry.Changed()
		var linesChanged <-chan struct{}
		if n.lines != nil {
			linesChanged = n.lines.LinesChanged()
		}
		n.prune()
		version, lines = n.lookAt(ctx, version), n.lookAtLines(lines)
		due := n.dispatch(ctx, &sending)
		var at <-chan time.Time
		if !due.IsZero() {
			at = time.After(time.Until(due))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-linesChanged:
		case <-kicked:
		case <-granted:
		case <-at:
		}
	}
}

// Finish reads the events that the sessions wrote while the hub was stopping, after
// Run has returned and the sessions are closed. Their messages are sent after the
// next start.
func (n *Notifier) Finish(ctx context.Context) { n.lookAt(ctx, 0) }
