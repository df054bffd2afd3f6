package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/journal"
)

// health keeps a log's Health.
type health struct {
	frozen  atomic.Bool // read on every append
	blocked atomic.Bool // read on every append
	// wants is the size of the largest value that waits for space; zero if only
	// lines wait.
	wants atomic.Int64

	mu     sync.Mutex
	state  journal.HealthState
	reason string
	err    error // why the log is frozen
	damage journal.Damage

	unsaved string // why the metadata cannot be written
}

func (h *health) get() journal.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	state := h.state
	if state == "" {
		state = journal.HealthOK
	}
	taken := ""
	if errors.Is(h.err, errTaken) {
		taken = errTaken.Error()
	}
	return journal.Health{State: state, Reason: h.reason, Taken: taken, Unsaved: h.unsaved, Damage: h.damage}
}

// saved records whether the metadata could be written.
func (h *health) saved(err error) {
	why := ""
	if err != nil {
		why = whyUnsaved(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unsaved = why
}

// whyUnsaved returns why metadata cannot be written, without a path.
func whyUnsaved(err error) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	return "the system refuses it"
}

// refusal returns the error for an append to a frozen log.
func (h *health) refusal() error {
	if !h.frozen.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// block records that the device is full.
func (h *health) block(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == journal.HealthFrozen || h.state == journal.HealthBlocked {
		return
	}
	h.state, h.reason = journal.HealthBlocked, err.Error()
	h.blocked.Store(true)
}

// fits records that n bytes could be written, which unblocks writes that are not
// larger.
func (h *health) fits(n int64) {
	wants := h.wants.Load()
	if n < wants {
		return
	}
	if wants > 0 {
		h.wants.Store(0)
	}
	h.unblock()
}

// unblock records that there is space again.
func (h *health) unblock() {
	if !h.blocked.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == journal.HealthBlocked {
		h.state, h.reason = journal.HealthOK, ""
		h.blocked.Store(false)
	}
}

// freeze records that the device failed.
func (h *health) freeze(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != journal.HealthFrozen {
		h.state, h.reason, h.err = journal.HealthFrozen, err.Error(), fmt.Errorf("%w: %w", journal.ErrFrozen, err)
		h.frozen.Store(true)
	}
}

// thaw records that the log was reopened.
func (h *health) thaw() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state, h.reason, h.err = journal.HealthOK, "", nil
	h.frozen.Store(false)
	h.blocked.Store(false)
	h.wants.Store(0)
}

// sawHoles records that a reader met holes. Readers meet the same hole many times,
// so holes are not counted here.
func (h *health) sawHoles(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.damage.Holes == 0 {
		h.damage.Holes = int64(n)
	}
}

// setDamage sets the damage that recovery found.
func (h *health) setDamage(d journal.Damage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.damage = d
}

// blockedIfFull makes an error about missing space an ErrBlocked, which may be
// repeated.
func blockedIfFull(err error) error {
	if disk.IsFull(err) {
		return fmt.Errorf("%w: %w", journal.ErrBlocked, err)
	}
	return err
}
