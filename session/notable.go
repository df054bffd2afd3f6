package session

import (
	"sync"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// mostNotable is how many seqs are kept.
const mostNotable = 64

// notables are the seqs of a session's newest events that a person may be notified
// of, so that a notifier reads no others. It is safe for concurrent use. The zero
// value is complete from the first event on.
type notables struct {
	mu   sync.Mutex
	from event.Seq   // nothing is known of events up to this one
	seqs []event.Seq // ascending
}

// notable reports whether a person may be notified of an event, or it settles what a
// person was notified of.
func notable(p event.Payload) bool {
	switch p := p.(type) {
	case event.Note:
		return p.Statement() == state.NoteJob
	case event.UserPrompt, event.TurnStart, event.TurnEnd, event.TurnInterrupted, event.InterruptionSettled,
		event.PermissionRequest, event.PermissionOutcome:
		return true
	}
	return false
}

func (n *notables) add(seq event.Seq) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.seqs) == mostNotable {
		n.from = n.seqs[0]
		n.seqs = append(n.seqs[:0], n.seqs[1:]...)
	}
	n.seqs = append(n.seqs, seq)
}

// restart forgets everything up to an event, which was not added.
func (n *notables) restart(through event.Seq) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.from, n.seqs = through, nil
}

func (n *notables) after(seq event.Seq) (seqs []event.Seq, complete bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.seqs {
		if s > seq {
			seqs = append(seqs, s)
		}
	}
	return seqs, seq >= n.from
}
