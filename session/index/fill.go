package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/abidehub/abide/session/behind"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/search"
)

// maxText bounds the text of a passage in bytes. A longer message becomes several; a phrase
// across their edge is not found.
const maxText = 256 << 10

// step looks at sessions that are pending, in one transaction, and returns how many are left.
func (x *Index) step(ctx context.Context) (left int, err error) {
	if err := x.open(ctx); err != nil {
		return 0, err
	}
	ids := x.next()
	if len(ids) == 0 {
		x.state.Lock()
		x.problem, x.again = "", ""
		x.state.Unlock()
		return 0, nil
	}
	tx, err := x.db.write.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("begin to fill the search index: %w", err)
	}
	f := &filler{ctx: ctx, tx: tx, store: x.Store, last: x.last, known: map[string]*entry{}, gone: map[string]int64{}, room: x.Most}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	defer f.end()
	done, tried := []string{}, map[string]event.Seq{}
	for _, id := range ids {
		if f.room <= 0 {
			break
		}
		f.room-- // looking costs, too
		of, ok := x.entryOf(id)
		whole, err := f.session(id, of, ok)
		if f.failed != nil {
			return 0, f.failed
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err != nil {
			x.Logger.Debug("a session is not in the search index", "session", id, "err", err)
			md, _ := x.Store.Listed(id)
			tried[id] = md.MaxSeq
		}
		if whole || err != nil {
			done = append(done, id)
		}
	}
	f.end()
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("commit the search index: %w", err)
	}
	x.state.Lock()
	defer x.state.Unlock()
	for id, key := range f.gone {
		delete(x.keys, key)
		delete(x.known, id)
	}
	for id, of := range f.known {
		x.known[id], x.keys[of.key] = *of, id
	}
	for _, id := range done {
		delete(x.pending, id)
		delete(x.tried, id)
	}
	maps.Copy(x.tried, tried)
	if x.last, x.problem = f.last, ""; len(x.pending) == 0 {
		x.again = ""
	}
	x.more.Ring()
	return len(x.pending), nil
}

func (x *Index) entryOf(id string) (entry, bool) {
	x.state.Lock()
	defer x.state.Unlock()
	of, ok := x.known[id]
	return of, ok
}

// filler fills the database in one transaction.
type filler struct {
	ctx    context.Context
	tx     *sql.Tx
	store  journal.Store
	last   int64 // the highest id of a passage
	known  map[string]*entry
	gone   map[string]int64
	room   int   // how many more events may be read
	failed error // of the database: nothing of the transaction counts

	statements map[string]*sql.Stmt

	// of the session that is read
	of    *entry
	id    int64 // of the passage, 0 if there is none
	at    search.Passage
	fresh bool // it is not stored yet
	grown bool // it has more than what is stored
}

// session brings one session up to date. It reports whether it is; an error says why it cannot
// be.
func (f *filler) session(id string, of entry, known bool) (whole bool, err error) {
	md, listed := f.store.Listed(id)
	if known && (!listed || md.Epoch != of.epoch) {
		if !f.drop(of.key, "") {
			return false, nil
		}
		f.exec("delete from sessions where key = ?", of.key)
		f.gone[id] = of.key
		known = false
	}
	if !listed || f.failed != nil {
		return true, f.failed
	}
	if !known {
		of = entry{epoch: md.Epoch}
		f.exec("insert into sessions(id, epoch, seq, open, message) values(?, ?, 0, 0, '')", id, md.Epoch)
		f.scan([]any{&of.key}, "select key from sessions where id = ?", id)
	} else if md.MinSeq > 1 && !f.drop(of.key, " and last < "+fmt.Sprint(int64(md.MinSeq))) {
		return false, nil
	}
	if f.failed != nil {
		return false, f.failed
	}
	f.of, f.id, f.at, f.fresh, f.grown = &of, 0, search.Passage{}, false, false
	to := min(of.seq+event.Seq(f.room), md.MaxSeq)
	if from := md.MinSeq - 1; from > of.seq {
		to = min(from+event.Seq(f.room), md.MaxSeq)
	}
	f.room -= int(max(0, to-max(of.seq, md.MinSeq-1)))
	err = behind.Read(f.ctx, f.store, id, of.seq, to, search.Searched, f.take)
	f.put()
	if err != nil || f.failed != nil {
		return false, errors.Join(f.failed, err)
	}
	of.seq = max(of.seq, to)
	f.exec("update sessions set seq = ?, open = ?, message = ? where key = ?", int64(of.seq), of.open, of.message, of.key)
	f.known[id] = &of
	return of.seq >= md.MaxSeq, f.failed
}

// drop removes passages of a session, as many as there is room for. It reports whether these
// were all.
func (f *filler) drop(key int64, where string) (all bool) {
	n := max(1, f.room)
	some := fmt.Sprintf("select id from passages where session = %d%s order by id limit %d", key, where, n)
	f.exec("delete from texts where rowid in (" + some + ")")
	removed := f.exec("delete from passages where id in (" + some + ")")
	f.room -= int(removed)
	return removed < int64(n)
}

// take adds an event to the passage that it belongs to.
func (f *filler) take(e event.Event) {
	said, ok := search.SaidBy(e)
	if !ok || f.failed != nil {
		return
	}
	joined := e.Type == event.TypeAgentMessage
	if joined && f.of.open > 0 && f.of.message == said.MessageID {
		f.reopen()
	}
	if !joined || f.id == 0 || f.id != f.of.open || f.of.message != said.MessageID || len(f.at.Text)+len(said.Text) > maxText {
		f.put()
		f.last++
		f.id, f.at, f.fresh = f.last, search.Passage{}, true
		f.of.open, f.of.message, f.of.top = 0, "", f.last
		if joined {
			f.of.open, f.of.message = f.last, said.MessageID
		}
	}
	f.at.Add(e, said)
	f.grown = true
}

// reopen reads the passage that a message continues, if it is not in memory.
func (f *filler) reopen() {
	if f.id == f.of.open {
		return
	}
	f.put()
	var pieces []byte
	var text string
	p := search.Passage{Type: event.TypeAgentMessage}
	f.scan([]any{&pieces, &text}, "select pieces, text from passages where id = ?", f.of.open)
	if f.failed != nil {
		return
	}
	p.Text = text
	if p.Pieces, f.failed = decodePieces(pieces, len(text)); f.failed == nil {
		f.id, f.at, f.fresh = f.of.open, p, false
	}
}

// put stores the passage in memory, if it has more than what is stored.
func (f *filler) put() {
	if f.id == 0 || !f.grown || f.failed != nil {
		return
	}
	f.grown = false
	p := f.at
	last, pieces := int64(p.Pieces[len(p.Pieces)-1].Seq), encodePieces(p.Pieces)
	if f.fresh {
		// Not "insert or replace": that is a savepoint, for which FTS5 writes what it has.
		f.exec("insert into passages(id, session, last, type, time, by, by_id, pieces, text) values(?, ?, ?, ?, ?, ?, ?, ?, ?)",
			f.id, f.of.key, last, string(p.Type), p.Pieces[0].Time.UnixMicro(), p.By, p.ByID, pieces, p.Text)
	} else {
		f.exec("delete from texts where rowid = ?", f.id)
		f.exec("update passages set last = ?, pieces = ?, text = ? where id = ?", last, pieces, p.Text, f.id)
	}
	f.fresh = false
	// The tokenizer ends at a zero byte; no query has one.
	f.exec("insert into texts(rowid, text) values(?, ?)", f.id, strings.ReplaceAll(search.Fold(p.Text), "\x00", " "))
}

// prepared returns a statement of the transaction.
func (f *filler) prepared(text string) *sql.Stmt {
	if s := f.statements[text]; s != nil {
		return s
	}
	s, err := f.tx.PrepareContext(f.ctx, text)
	if err != nil {
		f.failed = fmt.Errorf("fill the search index: %w", err)
		return nil
	}
	if f.statements == nil {
		f.statements = map[string]*sql.Stmt{}
	}
	f.statements[text] = s
	return s
}

// exec runs a statement and returns how many rows it changed. After a failure it does nothing.
func (f *filler) exec(text string, args ...any) (changed int64) {
	if f.failed != nil {
		return 0
	}
	var result sql.Result
	var err error
	if len(args) == 0 {
		result, err = f.tx.ExecContext(f.ctx, text)
	} else if s := f.prepared(text); s != nil {
		result, err = s.ExecContext(f.ctx, args...)
	}
	if err == nil && f.failed == nil {
		changed, err = result.RowsAffected()
	}
	if err != nil {
		f.failed = fmt.Errorf("fill the search index: %w", err)
	}
	return changed
}

// scan reads one row.
func (f *filler) scan(to []any, text string, args ...any) {
	if f.failed != nil {
		return
	}
	if s := f.prepared(text); s != nil {
		if err := s.QueryRowContext(f.ctx, args...).Scan(to...); err != nil {
			f.failed = fmt.Errorf("fill the search index: %w", err)
		}
	}
}

// end closes the statements.
func (f *filler) end() {
	for s := range maps.Values(f.statements) {
		s.Close() //nolint:errcheck // nothing of it is used
	}
	f.statements = nil
}
