package screen

import (
	"slices"

	"github.com/abidehub/abide/session/event"
)

const (
	// pageEvents is how many events are asked for at once.
	pageEvents = 500
	// heldEvents and heldBytes bound the events in memory. Older or newer ones are read
	// again when the person comes to them.
	heldEvents = 10_000
	heldBytes  = 32 << 20
)

// window is a part of a log without a gap.
type window struct {
	epoch  string
	events []event.Event
	bytes  int
	// min is the first event that the log has, end the newest one.
	min, end event.Seq
}

func firstOf(e event.Event) event.Seq {
	if e.FirstSeq > 0 {
		return e.FirstSeq
	}
	return e.Seq
}

// first and last are the ends of the window. An empty one ends before it begins.
func (w *window) first() event.Seq {
	if len(w.events) == 0 {
		return w.end + 1
	}
	return firstOf(w.events[0])
}

func (w *window) last() event.Seq {
	if len(w.events) == 0 {
		return w.end
	}
	return w.events[len(w.events)-1].Seq
}

func sizeOf(events []event.Event) (n int) {
	for _, e := range events {
		n += len(e.Data)
	}
	return n
}

// reset replaces the window.
func (w *window) reset(events []event.Event) {
	w.events, w.bytes = slices.Clip(events), sizeOf(events)
}

// prepend adds a page before the window, and drops from the other end what is too much.
func (w *window) prepend(events []event.Event) {
	events = slices.DeleteFunc(events, func(e event.Event) bool { return e.Seq >= w.first() })
	w.events = append(slices.Clip(events), w.events...)
	w.bytes += sizeOf(events)
	for len(w.events) > 1 && w.over() {
		last := w.events[len(w.events)-1]
		w.events, w.bytes = w.events[:len(w.events)-1], w.bytes-len(last.Data)
	}
}

// append adds the events that go on where the window ends. One that is full drops what
// is too much from the other end if drop says so, and else takes no more. The end of the
// log is where the newest event is.
func (w *window) append(events []event.Event, drop bool) {
	for _, e := range events {
		at := w.last()
		w.end = max(w.end, e.Seq)
		if e.Seq <= at || firstOf(e) > at+1 || !drop && w.over() {
			continue // known, or beyond the window: it is read when the person comes there
		}
		w.events, w.bytes = append(w.events, e), w.bytes+len(e.Data)
	}
	for drop && len(w.events) > 1 && w.over() {
		w.bytes -= len(w.events[0].Data)
		w.events = w.events[1:]
	}
}

// full reports whether another page would drop something.
func (w *window) full() bool { return len(w.events)+pageEvents > heldEvents || w.bytes > heldBytes/2 }

func (w *window) over() bool { return len(w.events) > heldEvents || w.bytes > heldBytes }

// turn is where the newest prompt is in events: what lies before does not change any more.
func (w *window) turn() int {
	for i := len(w.events) - 1; i >= 0; i-- {
		if w.events[i].Type == event.TypeUserPrompt {
			return i
		}
	}
	return 0
}
