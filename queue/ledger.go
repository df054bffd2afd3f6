package queue

import (
	"slices"
	"time"
)

// Outcome is the latest that became of a prompt.
type Outcome string

const (
	// Queued: it waits.
	Queued Outcome = "queued"
	// Received: it is in the log.
	Received Outcome = "received"
	// Removed: a client took it out of the queue; it will not run.
	Removed Outcome = "removed"
	// Interrupted: it is in the log, and its turn was cut off. It is not given
	// to the agent again by itself.
	Interrupted Outcome = "interrupted"
)

// Entry is the ledger's entry of one prompt id.
type Entry struct {
	PromptID string `json:"prompt_id"`
	// Hash is of the original payload. Empty means that it is not known, as
	// after a rebuild from a log that does not say it; then any payload matches.
	Hash    string  `json:"hash,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Seq is the prompt's event, when it is in the log.
	Seq int64     `json:"seq,omitempty"`
	At  time.Time `json:"at"`
}

// ledgerSize is how many prompt ids the ledger holds at least; it grows to twice
// that before its oldest half goes into the archive.
const ledgerSize = 1000

// ledger is a list of entries, the latest changed last. It is a value: its
// methods return a new ledger and leave the old one as it was.
type ledger []Entry

// find looks from the newest end, where almost every question is about.
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

// split divides a ledger that has grown out of its bounds. After a division that
// could not be kept the next is a while later: the device is asked again, and
// not for every prompt.
func (l ledger) split() (old, young ledger) {
	if len(l) <= 2*ledgerSize || len(l)%ledgerSize != 1 {
		return nil, l
	}
	at := len(l) - ledgerSize
	return l[:at], slices.Clone(l[at:])
}
