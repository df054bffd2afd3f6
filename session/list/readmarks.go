package list

import (
	"log/slog"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/internal/jsonfile"
	"github.com/abidehub/abide/session/event"
)

const (
	// readPause is how long moves of marks are collected before they are saved.
	readPause = 500 * time.Millisecond
	// maxReaders and maxReadSessions limit the marks. Beyond them, the marks that
	// moved least recently are removed, and earlier events then count as read.
	maxReaders      = 2048
	maxReadSessions = 2048
	// maxReadWaiters limits the channels, because their people may be gone.
	maxReadWaiters = 8192
)

// readMark is how far one person has read one session.
type readMark struct {
	// Epoch is the epoch of Seq. The mark is invalid in another epoch.
	Epoch string    `json:"epoch"`
	Seq   event.Seq `json:"seq"`
	// At is the time of the last move, in seconds since 1970.
	At int64 `json:"at"`

	version uint64 // of the move, in this run
}

// ReadMarks remembers how far each person has read each session. The caller chooses
// the names of people. A mark is visible at once and in read.json within about a
// second. A crash before that loses the move, so something read shows as unread. It
// is safe for concurrent use and never waits for the device.
type ReadMarks struct {
	files  jsonfile.Files
	logger *slog.Logger
	moved  bell.Slot // there are unsaved marks

	mu      sync.Mutex
	people  map[string]map[string]readMark // by person and session
	since   map[string]int64               // by person, their first visit in microseconds since 1970: sessions made before count as read
	waiting map[string]*bell.Bell          // by person; removed when it rings
	version uint64
	unsaved bool
}

// OpenReadMarks reads the marks among a hub's small files. An invalid file is set aside,
// because marks are not worth stopping the hub.
func OpenReadMarks(files jsonfile.Files, logger *slog.Logger) *ReadMarks {
	r := &ReadMarks{
		files: files, logger: logger, moved: bell.NewSlot(),
		people: map[string]map[string]readMark{}, since: map[string]int64{}, waiting: map[string]*bell.Bell{},
	}
	file, _, err := r.file().Read()
	if err != nil {
		logger.Warn("read marks cannot be read", "err", err)
	}
	for person, marks := range file.People {
		since := file.Since[person]
		for id, mark := range marks {
			if mark.Seq <= 0 {
				continue
			}
			r.put(person, id, mark)
			if at := mark.At * 1e6; file.Since[person] == 0 && (since == 0 || at < since) {
				since = at // the person was known by then
			}
		}
		r.came(person, since)
	}
	for person, since := range file.Since {
		r.came(person, since)
	}
	return r
}

// Of returns how far a person has read the session of this line, at most to its
// MaxSeq. Without a mark, it is 0 and known if the session has a last line and was
// created after the person's first visit. If known is false, also in another epoch,
// the session counts as read.
func (r *ReadMarks) Of(person string, line Info) (seq event.Seq, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mark, known := r.people[person][line.SessionID]
	if known {
		return min(mark.Seq, line.MaxSeq), mark.Epoch == line.Epoch
	}
	since := r.since[person]
	return 0, since > 0 && line.LastLine != "" && line.CreatedAt.UnixMicro() >= since
}

// Came records a person's first visit. Later calls have no effect.
func (r *ReadMarks) Came(person string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since[person] == 0 {
		r.came(person, time.Now().UnixMicro())
		r.changed()
	}
}

// came moves a person's first visit, only forward. The caller holds the lock.
func (r *ReadMarks) came(person string, since int64) {
	if since <= r.since[person] {
		return
	}
	if r.since[person] == 0 && len(r.since) >= maxReaders {
		delete(r.since, stalest(r.since, func(at int64) int64 { return at }))
	}
	r.since[person] = since
}

// Move records that a person has read a session of this epoch up to seq, which must
// be in its log. Within an epoch a mark only moves forward.
func (r *ReadMarks) Move(person, sessionID, epoch string, seq event.Seq) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mark, known := r.people[person][sessionID]
	if seq <= 0 || known && mark.Epoch == epoch && mark.Seq >= seq {
		return
	}
	if r.since[person] == 0 {
		r.came(person, time.Now().UnixMicro())
	}
	r.version++
	r.put(person, sessionID, readMark{Epoch: epoch, Seq: seq, At: time.Now().Unix(), version: r.version})
	r.changed()
	if own := r.waiting[person]; own != nil {
		own.Ring()
		delete(r.waiting, person)
	}
}

// Carry moves every mark in this session and epoch from exactly from to to, so that
// the events between do not count as unread.
func (r *ReadMarks) Carry(sessionID, epoch string, from, to event.Seq) {
	r.mu.Lock()
	var people []string
	for person, marks := range r.people {
		if mark, known := marks[sessionID]; known && mark.Epoch == epoch && mark.Seq == from {
			people = append(people, person)
		}
	}
	r.mu.Unlock()
	for _, person := range people {
		r.Move(person, sessionID, epoch, to)
	}
}

// Forget removes every mark of a deleted session.
func (r *ReadMarks) Forget(sessionID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for person, marks := range r.people {
		if _, known := marks[sessionID]; !known {
			continue
		}
		if delete(marks, sessionID); len(marks) == 0 {
			delete(r.people, person)
		}
		r.changed()
	}
}

// Changed returns a channel that is closed when a mark of the person moves; it may
// also close without a move. Take it before Since, or a move in between is missed.
func (r *ReadMarks) Changed(person string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.waiting[person]
	if own == nil {
		if len(r.waiting) >= maxReadWaiters {
			// Most of these people left. The others call Changed again.
			for _, b := range r.waiting {
				b.Ring()
			}
			clear(r.waiting)
		}
		own = new(bell.Bell)
		r.waiting[person] = own
	}
	return own.Listen()
}

// Since returns the sessions whose mark the person moved after version v, in no
// order, and the v of the next call. Only the last move of each counts.
func (r *ReadMarks) Since(person string, v uint64) (sessions []string, now uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, mark := range r.people[person] {
		if mark.version > v {
			sessions = append(sessions, id)
		}
	}
	return sessions, r.version
}

// put sets a mark and removes marks beyond the limits. The caller holds the lock.
func (r *ReadMarks) put(person, sessionID string, mark readMark) {
	marks := r.people[person]
	if marks == nil {
		if len(r.people) >= maxReaders {
			gone := stalest(r.people, lastMove)
			delete(r.people, gone)
			delete(r.since, gone)
		}
		marks = map[string]readMark{}
		r.people[person] = marks
	}
	if _, known := marks[sessionID]; !known && len(marks) >= maxReadSessions {
		oldest := stalest(marks, func(m readMark) int64 { return m.At })
		r.came(person, (marks[oldest].At+1)*1e6) // otherwise it would count as unread again
		delete(marks, oldest)
	}
	marks[sessionID] = mark
}

// stalest returns the key of the value with the lowest at.
func stalest[V any](all map[string]V, at func(V) int64) string {
	key, least := "", int64(math.MaxInt64)
	for k, v := range all {
		if t := at(v); t < least {
			key, least = k, t
		}
	}
	return key
}

func lastMove(marks map[string]readMark) int64 {
	last := int64(0)
	for _, m := range marks {
		last = max(last, m.At)
	}
	return last
}

// changed schedules a save. The caller holds the lock.
func (r *ReadMarks) changed() {
	r.unsaved = true
	r.moved.Ring()
}

// unsavedMarks returns a copy of all marks if some are unsaved.
func (r *ReadMarks) unsavedMarks() (readMarksFile, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.unsaved {
		return readMarksFile{}, false
	}
	r.unsaved = false
	people := make(map[string]map[string]readMark, len(r.people))
	for person, marks := range r.people {
		people[person] = maps.Clone(marks)
	}
	return readMarksFile{Format: 1, People: people, Since: maps.Clone(r.since)}, true
}
