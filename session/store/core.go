package store

import (
	"sync/atomic"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/store/tail"
)

// core is shared by the parts of a log. Fields that change after construction have
// their own locks.
type core struct {
	// Set at construction.
	id    string
	dir   string
	fs    FS
	opts  Options
	runID string

	closed  atomic.Bool
	touched atomic.Int64 // microseconds of the newest event's time
	marks   marks
	tail    tail.Tail
	bell    bell.Bell
	segs    segments
	health  health
}
