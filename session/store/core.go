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
	touched atomic.Int64 // time of the newest event in microseconds
	leased  atomic.Int64 // the fence of the latest lease; 0 if none was granted
	marks   marks
	tail    tail.Tail
	bell    bell.Bell
	segs    segments
	health  health
}

// prior is what is known about a log before it is opened.
type prior struct {
	crashed bool // the machine stopped while a hub had the data directory open
	suspect bool // a sync of it failed in this run: see reopen
}
