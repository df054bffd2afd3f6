package client

import (
	"errors"
	"fmt"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// Cursor is how far a client is in a session's log. The zero Cursor knows
// nothing of it. A seq means something only together with its epoch.
type Cursor struct {
	Epoch string
	Seq   event.Seq
}

// maxHeld bounds the events held above a gap. Events that do not fit are dropped:
// the pages that close the gap bring it.
const maxHeld = 4096

// ErrEpoch says that events of another log came than the one being followed:
// observe again, and the hub's verdict will be a reset.
var ErrEpoch = errors.New("events of another epoch")

// Change is the effect of one frame on a History.
type Change struct {
	// Reset means that the client drops all events; Events is the new beginning.
	Reset bool
	// Events were applied, in order, each once. After a merged run one event
	// covers FirstSeq..Seq.
	Events []event.Event
	// Older is a page that goes before everything held; no cursor moves.
	Older []event.Event
	// Missing is the request to send to the hub, because there is a gap. Its
	// RequestID is empty.
	Missing *wire.LoadEvents
}

// History applies one session's frames: an event at or below the cursor is
// dropped, the next one applied, and above that lies a gap that is asked for.
// Content is never compared. One goroutine owns it; it does no I/O.
type History struct {
	sessionID string
	cursor    Cursor
	// held came above a gap, in order; asked says that the gap was asked for.
	held  []event.Event
	asked bool
	// seen is the highest seq that came, held or not.
	seen    event.Seq
	dropped int
	gaps    int
}

// NewHistory follows the session from a cursor, or from the hub's first frame when
// that is zero.
func NewHistory(sessionID string, from Cursor) *History {
	return &History{sessionID: sessionID, cursor: from}
}

// Cursor is the last event applied.
func (h *History) Cursor() Cursor { return h.cursor }

// Dropped counts the live events that came at or below the cursor, and Gaps
// the times one came above the next. A hub that keeps its word causes neither.
func (h *History) Dropped() int { return h.dropped }

// Gaps is documented with Dropped.
func (h *History) Gaps() int { return h.gaps }

// Reconnected says that a new connection begins: requests on the old one will not
// be answered.
func (h *History) Reconnected() {
	h.held, h.asked = nil, false
}

// Apply takes one frame. Frames of other sessions and frames without events
// change nothing. ErrEpoch says the session must be observed again.
func (h *History) Apply(m wire.Message) (Change, error) {
	switch m := m.(type) {
	case *wire.Events:
		if m.SessionID != h.sessionID {
			return Change{}, nil
		}
		if m.Epoch != h.cursor.Epoch {
			return Change{}, fmt.Errorf("%w: %s instead of %s", ErrEpoch, m.Epoch, h.cursor.Epoch)
		}
		return h.apply(m.Events), nil
	case *wire.EventsLoaded:
		if m.SessionID != h.sessionID {
			return Change{}, nil
		}
		return h.load(m), nil
	}
	return Change{}, nil
}

func (h *History) load(m *wire.EventsLoaded) Change {
	switch {
	case m.Verdict == wire.VerdictReset, h.cursor == (Cursor{}):
		h.cursor = Cursor{Epoch: m.Epoch, Seq: m.LastSeq}
		h.held, h.asked, h.seen = nil, false, m.LastSeq
		return Change{Reset: true, Events: m.Events}
	case m.Prepend:
		return Change{Older: m.Events}
	}
	var change Change
	for _, e := range m.Events {
		h.take(e, &change)
	}
	if h.asked {
		h.close(&change)
	}
	return change
}

// close goes on after the requested page: with the held events, and with another
// request where they are not enough.
func (h *History) close(change *Change) {
	held := h.held
	h.held, h.asked = nil, false
	for _, e := range held {
		if !h.take(e, change) && e.Seq > h.cursor.Seq {
			h.held = append(h.held, e)
		}
	}
	if h.cursor.Seq < h.seen {
		h.ask(change)
	}
}

func (h *History) apply(events []event.Event) Change {
	var change Change
	for _, e := range events {
		h.seen = max(h.seen, e.Seq)
		switch {
		case h.take(e, &change):
		case e.Seq <= h.cursor.Seq:
			h.dropped++
		default:
			if !h.asked {
				h.gaps++
				h.ask(&change)
			}
			if len(h.held) < maxHeld {
				h.held = append(h.held, e)
			}
		}
	}
	return change
}

// take applies e if it is the next one.
func (h *History) take(e event.Event, change *Change) bool {
	first := e.Seq
	if e.FirstSeq > 0 {
		first = e.FirstSeq
	}
	if e.Seq <= h.cursor.Seq || first > h.cursor.Seq+1 {
		return false
	}
	h.cursor.Seq = e.Seq
	change.Events = append(change.Events, e)
	return true
}

func (h *History) ask(change *Change) {
	h.asked = true
	after := h.cursor.Seq
	change.Missing = &wire.LoadEvents{SessionID: h.sessionID, Epoch: h.cursor.Epoch, AfterSeq: &after, Limit: wire.MaxPage}
}
