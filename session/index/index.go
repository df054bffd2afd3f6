package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/behind"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/search"
)

// Options are what an Index needs.
type Options struct {
	Store journal.Store
	// Dir is the directory of the database; it is made if it is missing.
	Dir    string
	Logger *slog.Logger
	// Most is the most events that a transaction reads; 0 is 16,384.
	Most int
	// Settle is how long changes gather before they are read; 0 is a second.
	Settle time.Duration
	// Retry is how long it waits after a failure; 0 is half a minute.
	Retry time.Duration
}

// Index has the texts of the sessions of a store, as far as Run has read them. It is safe for
// concurrent use.
type Index struct {
	Options
	more bell.Bell // rings after each transaction
	wake chan struct{}

	mu sync.RWMutex // held for reading while a search uses the database
	db *database    // nil while it cannot be used

	state   sync.Mutex // below
	known   map[string]entry
	keys    map[int64]string
	last    int64 // the highest id of a passage
	sample  *sample
	pending map[string]struct{}
	tried   map[string]event.Seq // the MaxSeq with which a session could not be read
	problem string
	file    os.FileInfo // of the database, nil while it is not open
	damaged bool        // a search found that; Run makes the database again
	again   string      // why it is made again, until that is done
}

// entry is how far a session was read.
type entry struct {
	key   int64
	epoch string
	seq   event.Seq
	// open is the passage that the next chunk of the message continues; 0 if none can.
	open    int64
	message string
	// top is the highest id of its passages.
	top int64
}

// New returns an index that has nothing before Run.
func New(o Options) *Index {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Most <= 0 {
		o.Most = 16384
	}
	if o.Settle <= 0 {
		o.Settle = time.Second
	}
	if o.Retry <= 0 {
		o.Retry = 30 * time.Second
	}
	return &Index{Options: o, wake: make(chan struct{}, 1), known: map[string]entry{}, keys: map[int64]string{}, pending: map[string]struct{}{}, tried: map[string]event.Seq{}}
}

// Progress is how far the index is.
type Progress struct {
	// Sessions are in the index. Behind have events that it does not have; they may be in it,
	// too.
	Sessions, Behind int
	// Problem says why it does not go on; empty if it does.
	Problem string
	// Again says why it is made again; empty if it is whole.
	Again string
}

// Progress returns how far the index is. It notices that the files of the index were removed.
func (x *Index) Progress() Progress {
	x.look()
	x.state.Lock()
	defer x.state.Unlock()
	return Progress{Sessions: len(x.known), Behind: len(x.pending), Problem: x.problem, Again: x.again}
}

// look notices that the file of the open database was removed or replaced: what is written to
// it would be lost. Run makes it again.
func (x *Index) look() {
	x.state.Lock()
	file := x.file
	x.state.Unlock()
	if file == nil {
		return
	}
	now, err := os.Stat(filepath.Join(x.Dir, fileName))
	if err == nil && os.SameFile(file, now) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	x.state.Lock()
	if x.file == file {
		x.damaged, x.again = true, "its files were removed or replaced"
	}
	x.state.Unlock()
	x.ring()
}

// At returns how far a session was read.
func (x *Index) At(id string) behind.Place {
	of, _ := x.entryOf(id)
	return behind.Place{Epoch: of.epoch, Seq: of.seq}
}

// Mark implements search.Index.
func (x *Index) Mark() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.db == nil {
		return 0
	}
	x.state.Lock()
	defer x.state.Unlock()
	return x.last
}

// CatchUp implements search.Index.
func (x *Index) CatchUp(ctx context.Context, sources []search.Source) {
	x.look()
	for {
		more := x.more.Listen()
		if x.ask(sources) == 0 {
			return
		}
		x.ring()
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// ask has the sessions read that are behind, and returns how many these are; 0 also if the
// index does not go on.
func (x *Index) ask(sources []search.Source) (behind int) {
	x.state.Lock()
	defer x.state.Unlock()
	if x.problem != "" {
		return 0
	}
	for _, s := range sources {
		if at, failed := x.tried[s.SessionID]; failed && at == s.MaxSeq {
			continue
		}
		if of, ok := x.known[s.SessionID]; !ok || of.epoch != s.Epoch || of.seq < s.MaxSeq {
			x.pending[s.SessionID] = struct{}{}
			behind++
		}
	}
	return behind
}

// Covered implements search.Index.
func (x *Index) Covered(ctx context.Context, s search.Source, mark int64) (event.Seq, error) {
	x.state.Lock()
	of, ok := x.known[s.SessionID]
	x.state.Unlock()
	if !ok || of.epoch != s.Epoch {
		return 0, nil
	}
	if of.top <= mark {
		return of.seq, nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.db == nil {
		return 0, errNone
	}
	var last event.Seq
	err := x.db.read.QueryRowContext(ctx, "select coalesce(max(last), 0) from passages where session = ? and id <= ?", of.key, mark).Scan(&last)
	return last, x.seen(err)
}

// madeAgain says why an index is made again that cannot be read.
const madeAgain = "it was damaged"

// errNone says that there is no database that can be used.
var errNone = errors.New("the search index cannot be used now")

// seen notes an error of reading that means damage.
func (x *Index) seen(err error) error {
	if err == nil {
		return nil
	}
	x.look() // a connection that was opened since would read another file
	if useless(err) {
		x.state.Lock()
		x.damaged, x.again = true, madeAgain
		x.state.Unlock()
		x.ring()
	}
	return fmt.Errorf("read the search index: %w", err)
}

// ring wakes Run.
func (x *Index) ring() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}
