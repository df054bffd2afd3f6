package store

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
)

// unrepaired is a log that recovery could not repair for lack of space. It is
// readable, Append returns ErrBlocked, and the flusher retries the recovery. The
// holder of the write lock owns it.
type unrepaired struct {
	file  File // the active file, locked
	prior prior
}

// repairer recovers a log that could not be repaired for lack of space when it was
// opened.
type repairer struct {
	*writer
	// again is Log.recoverAgain, set with the first state. It is called by the holder of
	// the write lock.
	again func(*unrepaired) (taken func() error, err error)
	state atomic.Pointer[unrepaired] // changed by the holder of the write lock; nil once it is repaired
}

// unrepaired reports whether the log waits to be repaired.
func (m *repairer) unrepaired() bool { return m.state.Load() != nil }

// tryRepair repairs the log if it is unrepaired, and reports whether it was.
func (m *repairer) tryRepair() (was bool, err error) {
	err = m.withWriteLock(func() error {
		if was = m.state.Load() != nil; was && !m.out.closed {
			return m.repair()
		}
		return nil
	})
	return was, err
}

// repair recovers the log again. The caller holds the write lock.
func (m *repairer) repair() error {
	u := m.state.Load()
	taken, err := m.again(u)
	if err != nil {
		if errors.Is(err, syscall.EIO) {
			u.prior.suspect = true
			m.meta.setFrozen(true)
			m.health.freeze(err) // only Reopen retries
		}
		return fmt.Errorf("repair log: %w", err)
	}
	defer m.state.Store(nil) // not earlier: until then only labels.json may be written
	return taken()
}
