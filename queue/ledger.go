package queue

import (
	"slices"
	"time"
)

// Outcome is the latest outcome of a prompt.
type Outcome string

const (
	// Queued: it waits.
	Queued Outcome = "queued"
	// Received: it is in the log.
	Received Outcome = "received"
	// Removed: a client removed it from the queue; it will not run.
	Removed Outcome = "removed"
	// Interrupted: it is in the log, and its turn was interrupted. The agent does
	// not get it again automatically.
	Interrupted Outcome = "interrupted"
)

// Entry is the ledger's entry of one prompt id.
type Entry struct {
	PromptID string `json:"prompt_id"`
	// Hash is the hash of the original payload. If it is empty, as after a rebuild
	// from a log that lacks it, any payload matches.
	Hash    string  `json:"hash,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Seq is the prompt's event, if it is in the log.
	Seq int64     `json:"seq,omitempty"`
	At  time.Time `json:"at"`
}

// ledgerSize is the minimum number of prompt ids in the ledger. At twice that
// number the oldest half moves to the archive.
const ledgerSize = 1000

// ledger is a list of entries in the order of their last change. It is a value: its
// methods return a new ledger and do not change the old one.
type ledger []Entry

// find searches from the newest end, because almost every lookup is of a recent
// entry.
func (l ledger) find(promptID string) (Entry, bool) {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].PromptID == promptID {
			return l[i], true
		}
	}
	return Entry{}, false
}

func (l ledger) with(e Entry) ledger {
	next := make(ledger, 0, len(l)+1)
	for _, old := range l {
		if old.PromptID != e.PromptID {
			next = append(next, old)
		}
	}
	return append(next, e)
}

// split divides a ledger into the entries that move to the archive and the newest
// ones.
func (l ledger) split() (old, young ledger) {
	at := len(l) - ledgerSize
	return l[:at], slices.Clone(l[at:])
}

// without returns the ledger without these entries. A later entry of the same prompt
// stays.
func (l ledger) without(gone ledger) ledger {
	ids := make(map[string]Entry, len(gone))
	for _, e := range gone {
		ids[e.PromptID] = e
	}
	return slices.DeleteFunc(slices.Clone(l), func(e Entry) bool {
		old, listed := ids[e.PromptID]
		return listed && old == e
	})
}
