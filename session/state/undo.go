package state

import "github.com/abidehub/abide/session/transcript"

// mostUndosKnown is how many requests of undos are known, so that a repeated one changes
// nothing.
const mostUndosKnown = 20

// Undos are a session's undos.
type Undos struct {
	// N is how many began.
	N int `json:"n,omitempty"`
	// Open began and is not complete; nil if none is.
	Open *transcript.Undo `json:"open,omitempty"`
	// Back are those that a redo can take back, oldest first. A prompt ends that.
	Back []transcript.Undo `json:"back,omitempty"`
	// Known are the newest complete ones.
	Known []transcript.Undo `json:"known,omitempty"`
	// Files is the state that the files have been put into since the last prompt; empty if
	// none.
	Files string `json:"files,omitempty"`
}

// Done returns the complete undo of a request; nil if it is not known.
func (u *Undos) Done(key string) *transcript.Undo {
	for i := range u.Known {
		if key != "" && u.Known[i].Key == key {
			return &u.Known[i]
		}
	}
	return nil
}

// apply applies how far an undo is. It returns the agent's session afterwards: none once the
// talk went back, because it knows what was taken back.
func (u *Undos) apply(p transcript.Undo, agentSession string) string {
	u.N = max(u.N, p.N)
	if p.Phase == transcript.UndoBegun {
		u.Open = &p
		return agentSession
	}
	u.Open = nil
	if p.What.Files() {
		u.Files = p.To
	}
	if p.Phase == transcript.UndoCutOff {
		p.What, p.FromSeq = transcript.UndoFiles, 0 // the talk goes back last
		if !p.Redo {
			u.Back = append(u.Back, p)
		}
		return agentSession
	}
	u.Known = append(u.Known, p)
	u.Known = u.Known[max(0, len(u.Known)-mostUndosKnown):]
	switch n := len(u.Back); {
	case !p.Redo:
		u.Back = append(u.Back, p)
		if p.What.Talk() {
			return ""
		}
	case n > 0:
		if p.What.Talk() && agentSession == "" {
			agentSession = u.Back[n-1].AgentSessionID
		}
		u.Back = u.Back[:n-1]
	}
	return agentSession
}

// prompted forgets what a redo could take back.
func (u *Undos) prompted() { u.Back, u.Files = nil, "" }
