package session

import (
	"fmt"
	"sync"
	"time"

	"github.com/abidehub/abide/session/state"
)

// uploadOverhead is added to the size of each uploaded file, in bytes, because many
// empty files take space too.
const uploadOverhead = 4 << 10

// uploadDays counts the bytes that each credential uploads per day (UTC), since the
// hub started.
type uploadDays struct {
	now func() time.Time

	mu    sync.Mutex
	day   time.Time
	bytes map[string]int64 // by credential
}

// take counts n bytes, or returns when they will be allowed.
func (u *uploadDays) take(credential string, n, limit int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begin()
	if err := u.room(credential, n, limit); err != nil {
		return err
	}
	u.bytes[credential] += n
	return nil
}

// count counts n bytes that are there already.
func (u *uploadDays) count(credential string, n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begin()
	u.bytes[credential] += n
}

// fits returns when n bytes will be allowed; nil if they are now.
func (u *uploadDays) fits(credential string, n, limit int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begin()
	return u.room(credential, n, limit)
}

// begin begins a new day if there is one. mu is held.
func (u *uploadDays) begin() {
	if day := u.now().UTC().Truncate(24 * time.Hour); !day.Equal(u.day) {
		u.day, u.bytes = day, make(map[string]int64)
	}
}

// room is fits while mu is held.
func (u *uploadDays) room(credential string, n, limit int64) error {
	if u.bytes[credential]+n > limit {
		return fmt.Errorf("%w: at most %s of attachments are accepted a day with one device or token: try again after %s, or raise limits.daily_attachments_mib",
			state.ErrTooLarge, inMiB(limit), u.day.Add(24*time.Hour).Format("15:04 MST on 2 Jan"))
	}
	return nil
}

func (u *uploadDays) giveBack(credential string, n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes[credential] = max(0, u.bytes[credential]-n)
}

// uploadSum is the size of a session's uploads, including running ones.
type uploadSum struct {
	mu    sync.Mutex
	known bool
	bytes int64
}

// take counts n bytes. It calls kept once for the size of the existing uploads.
func (u *uploadSum) take(n, limit int64, kept func() (int64, error)) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.known {
		bytes, err := kept()
		if err != nil {
			return fmt.Errorf("count attachments: %w", err)
		}
		u.bytes, u.known = bytes, true
	}
	if u.bytes+n > limit {
		return fmt.Errorf("%w: at most %s of attachments are kept in a session: continue in a new session, or raise limits.session_attachments_mib",
			state.ErrTooLarge, inMiB(limit))
	}
	u.bytes += n
	return nil
}

// forget makes take count the existing uploads again. No upload may be running.
func (u *uploadSum) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes, u.known = 0, false
}

// add counts n bytes that were stored already.
func (u *uploadSum) add(n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes += n // take replaces it if the existing uploads are not known yet
}

func (u *uploadSum) giveBack(n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes = max(0, u.bytes-n)
}

func inMiB(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
