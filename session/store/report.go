package store

import (
	"fmt"
	"path/filepath"

	"github.com/abidehub/abide/session/event"
)

// Report is the result of a check or a repair.
type Report struct {
	// Sessions and Events are the numbers that were checked.
	Sessions int   `json:"sessions"`
	Events   int64 `json:"events"`
	// Problems are the violated invariants, in the order of the files.
	Problems []Problem `json:"problems"`
	// Notes are harmless traces of a crash. The next opening of the session repairs
	// them.
	Notes []Problem `json:"notes,omitempty"`
	// Actions are the changes Repair made, for a person.
	Actions []Action `json:"actions,omitempty"`
}

// OK reports whether every invariant holds.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// Problem is a violated invariant.
type Problem struct {
	// Session is empty for a problem of the data directory itself.
	Session string `json:"session,omitempty"`
	Kind    string `json:"kind"`
	// Seq and File give the place, if known.
	Seq  event.Seq `json:"seq,omitempty"`
	File string    `json:"file,omitempty"`
	// Detail is for a person.
	Detail string `json:"detail"`
	// Repairable means that Repair removes the problem. All other problems stay,
	// and readers skip them.
	Repairable bool `json:"repairable"`
}

// String is one line for a person.
func (p Problem) String() string {
	where := p.Session
	if p.File != "" {
		where = filepath.Join(where, p.File)
	}
	if p.Seq > 0 {
		where = fmt.Sprintf("%s seq %d", where, p.Seq)
	}
	return fmt.Sprintf("%s: %s: %s", where, p.Kind, p.Detail)
}

// The kinds of problems.
const (
	ProblemUnreadable = "unreadable" // a file or directory cannot be read
	ProblemMode       = "mode"       // others may read or write it
	ProblemMetadata   = "metadata"   // metadata.json does not fit the log
	ProblemHole       = "hole"       // events without a line
	ProblemRepeat     = "repeat"     // a line whose seq, or a higher one, was there before
	ProblemUnverified = "unverified" // a checksum is absent or wrong
	ProblemDamaged    = "damaged"    // bytes that are no line, between lines
	ProblemTorn       = "torn"       // bytes behind the last line
	ProblemStart      = "start"      // a file does not begin as it must
	ProblemBlob       = "blob"       // a blob is missing or has other bytes
	ProblemLine       = "line"       // a line is longer than lines may be
	ProblemStray      = "stray"      // something that does not belong there
)

// Action is one thing Repair did.
type Action struct {
	Session string `json:"session"` // empty for the data directory itself
	Did     string `json:"did"`
}

func (r *Report) add(p Problem) {
	switch p.Kind {
	case ProblemMetadata:
		p.Repairable = true
	case ProblemTorn:
		p.Repairable = p.File == activeName // no other file is ever written again
	}
	r.Problems = append(r.Problems, p)
}
