package index

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/journal"
)

// Feed is the change feed of the session list.
type Feed interface {
	// Changed is closed at the next change; it is taken before Since.
	Changed() <-chan struct{}
	// Since returns the sessions that changed and that were removed after a version, and
	// the version of the next call.
	Since(version uint64) (changed, gone []string, now uint64)
}

// sweepEvery is how often all sessions are looked at: the feed forgets removals beyond some.
const sweepEvery = 10 * time.Minute

// Run fills the index until ctx ends, and closes it. It reads at most Most events in a
// transaction, then rests for as long as that took: half of one processor at most. One
// goroutine calls it, once.
func (x *Index) Run(ctx context.Context, feed Feed) {
	defer x.close()
	var version uint64
	var swept time.Time
	for ctx.Err() == nil {
		changed := feed.Changed()
		if time.Since(swept) >= sweepEvery {
			_, _, version = feed.Since(0)
			if x.sweep(ctx) {
				swept = time.Now()
			}
		} else {
			var ids, gone []string
			ids, gone, version = feed.Since(version)
			x.want(ids, gone)
		}
		began := time.Now()
		left, err := x.step(ctx)
		if err == nil {
			err = x.resample(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			x.failed(ctx, err)
			rest(ctx, x.Retry, x.wake)
			swept = time.Time{}
		case left > 0:
			rest(ctx, time.Since(began), nil)
		default:
			x.wait(ctx, changed)
		}
	}
}

// wait returns when a search asks, when changes have gathered, or when a sweep is due.
func (x *Index) wait(ctx context.Context, changed <-chan struct{}) {
	sweep := time.NewTimer(sweepEvery)
	defer sweep.Stop()
	select {
	case <-changed:
		rest(ctx, x.Settle, x.wake)
	case <-x.wake:
	case <-sweep.C:
	case <-ctx.Done():
	}
}

// rest waits for so long, until wake, or until ctx ends.
func rest(ctx context.Context, long time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}

// sweep opens the database if it is not open, and wants all sessions that are behind. It
// reports whether it could.
func (x *Index) sweep(ctx context.Context) bool {
	if err := x.open(ctx); err != nil {
		x.failed(ctx, err)
		return false
	}
	x.wantAll()
	return true
}

// wantAll adds the sessions that are behind to those that are looked at next.
func (x *Index) wantAll() {
	x.state.Lock()
	defer x.state.Unlock()
	gone := make(map[string]struct{}, len(x.known))
	for id := range x.known {
		gone[id] = struct{}{}
	}
	for md := range x.Store.Newest(journal.Place{}) {
		delete(gone, md.SessionID)
		if of, ok := x.known[md.SessionID]; !ok || of.epoch != md.Epoch || of.seq < md.MaxSeq {
			x.pending[md.SessionID] = struct{}{}
		}
	}
	for id := range gone {
		x.pending[id] = struct{}{}
	}
}

// want adds sessions to those that are looked at next.
func (x *Index) want(lists ...[]string) {
	x.state.Lock()
	defer x.state.Unlock()
	for _, ids := range lists {
		for _, id := range ids {
			x.pending[id] = struct{}{}
		}
	}
}

// open opens the database and reads how far it is. If it is open already, and its file is still
// there, it does nothing.
func (x *Index) open(ctx context.Context) error {
	x.look()
	x.state.Lock()
	damaged := x.damaged
	x.state.Unlock()
	if damaged {
		if err := x.remove(); err != nil {
			return err
		}
	}
	if x.db != nil { // only this goroutine changes it
		return nil
	}
	db, err := openDatabase(ctx, x.Dir)
	if err != nil {
		return err
	}
	known, last, err := load(ctx, db.write)
	if err != nil {
		db.close() //nolint:errcheck // the first error says why
		return err
	}
	x.use(db, known, last)
	x.wantAll()
	return nil
}

// use lets searches use the database.
func (x *Index) use(db *database, known map[string]entry, last int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state.Lock()
	defer x.state.Unlock()
	x.db, x.file, x.known, x.last = db, db.file, known, last
	x.keys = make(map[int64]string, len(known))
	for id, of := range known {
		x.keys[of.key] = id
	}
}

// resample takes a sample if the index has no other, or has twice as much as then.
func (x *Index) resample(ctx context.Context) error {
	x.state.Lock()
	last, of := x.last, x.sample
	x.state.Unlock()
	if of != nil && last < 2*of.last || last == 0 {
		return nil
	}
	of, err := takeSample(ctx, x.db.write, last)
	if err != nil {
		return err
	}
	x.state.Lock()
	x.sample = of
	x.state.Unlock()
	return nil
}

// load reads how far each session is.
func load(ctx context.Context, db *sql.DB) (known map[string]entry, last int64, err error) {
	known = map[string]entry{}
	rows, err := db.QueryContext(ctx, "select s.key, s.id, s.epoch, s.seq, s.open, s.message, coalesce((select max(p.id) from passages p where p.session = s.key), 0) from sessions s")
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close() // its error is Err's
	for rows.Next() {
		var id string
		var of entry
		if err := rows.Scan(&of.key, &id, &of.epoch, &of.seq, &of.open, &of.message, &of.top); err != nil {
			return nil, 0, err
		}
		known[id] = of
		last = max(last, of.top)
	}
	return known, last, rows.Err()
}

// remove closes the database and removes its files: it is made again.
func (x *Index) remove() error {
	x.close()
	x.state.Lock()
	x.damaged, x.known, x.keys, x.last, x.sample = false, map[string]entry{}, map[int64]string{}, 0, nil
	x.state.Unlock()
	return removeFiles(x.Dir)
}

// close closes the database once no search uses it.
func (x *Index) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db == nil {
		return
	}
	x.state.Lock()
	x.file = nil
	x.state.Unlock()
	if err := x.db.close(); err != nil {
		x.Logger.Debug("the search index was not closed", "err", err)
	}
	x.db = nil
}

// failed notes why the index does not go on. What cannot be repaired is made again.
func (x *Index) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	x.look()
	x.state.Lock()
	before := x.problem
	x.problem = err.Error()
	if useless(err) {
		x.damaged, x.again = true, madeAgain
	}
	x.state.Unlock()
	if before != err.Error() {
		x.Logger.Warn("the search index does not go on; search reads the files", "err", err)
	}
	x.more.Ring()
}

// next returns the sessions to look at, those made first first.
func (x *Index) next() []string {
	x.state.Lock()
	defer x.state.Unlock()
	ids := make([]string, 0, len(x.pending))
	for id := range x.pending {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, strings.Compare)
	return ids
}
