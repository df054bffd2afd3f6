package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/abidehub/abide/internal/disk"
)

// HealthState is how a log is.
type HealthState string

const (
	// HealthOK: the log can be read and written.
	HealthOK HealthState = "ok"
	// HealthBlocked: the device is full. The log recovers by itself.
	HealthBlocked HealthState = "blocked"
	// HealthFrozen: the device failed. The log accepts no events until it is
	// reopened.
	HealthFrozen HealthState = "frozen"
)

// Health says whether a log can be written, and counts its damage.
type Health struct {
	State HealthState `json:"state"`
	// Reason is the cause, for a person; empty while the state is ok.
	Reason string `json:"reason,omitempty"`
	// Taken says how another program removed, replaced or shortened the file of a
	// frozen log; empty if it is frozen for another reason. The hub keeps the rest
	// of the file open until it ends.
	Taken string `json:"taken,omitempty"`
	// Absence says whether the directory of a frozen log is or was missing.
	Absence Absence `json:"absence,omitempty"`
	// Unsaved is why the metadata cannot be written, for a person and without a
	// path; empty if it can.
	Unsaved string `json:"unsaved,omitempty"`
	Damage
}

// health keeps a log's Health.
type health struct {
	frozen  atomic.Bool // read on every append
	blocked atomic.Bool // read on every append
	// wants is the size of the largest value that waits for space; zero if only
	// lines wait.
	wants atomic.Int64

	mu     sync.Mutex
	state  HealthState
	reason string
	err    error // why the log is frozen
	damage Damage

	unsaved string // why the metadata cannot be written
}

func (h *health) get() Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	state := h.state
	if state == "" {
		state = HealthOK
	}
	taken := ""
	if errors.Is(h.err, errTaken) {
		taken = errTaken.Error()
	}
	return Health{State: state, Reason: h.reason, Taken: taken, Unsaved: h.unsaved, Damage: h.damage}
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
	if h.state == HealthFrozen || h.state == HealthBlocked {
		return
	}
	h.state, h.reason = HealthBlocked, err.Error()
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
	if h.state == HealthBlocked {
		h.state, h.reason = HealthOK, ""
		h.blocked.Store(false)
	}
}

// freeze records that the device failed.
func (h *health) freeze(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != HealthFrozen {
		h.state, h.reason, h.err = HealthFrozen, err.Error(), fmt.Errorf("%w: %w", ErrFrozen, err)
		h.frozen.Store(true)
	}
}

// thaw records that the log was reopened.
func (h *health) thaw() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state, h.reason, h.err = HealthOK, "", nil
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
func (h *health) setDamage(d Damage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.damage = d
}

// blockedIfFull makes an error about missing space an ErrBlocked, which may be
// repeated.
func blockedIfFull(err error) error {
	if disk.IsFull(err) {
		return fmt.Errorf("%w: %w", ErrBlocked, err)
	}
	return err
}
