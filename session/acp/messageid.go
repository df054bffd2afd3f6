package acp

import "fmt"

// chunkKind tells messages, thoughts and the output of terminals apart.
type chunkKind int

const (
	chunkNone chunkKind = iota
	chunkMessage
	chunkThought
	chunkTerminal
)

// messageIDs assigns ids to chunks without one: consecutive chunks of one kind form
// a message. The ids are unique in the session, not only in this run of the agent.
// It belongs to the reader.
type messageIDs struct {
	prefix  string
	n       int
	run     chunkKind
	current string // the id of the run
}

// id returns the chunk's own id, or the one of its run.
func (m *messageIDs) id(kind chunkKind, own string) string {
	if own != "" {
		m.run = chunkNone
		return own
	}
	if m.run != kind {
		m.n++
		m.run, m.current = kind, fmt.Sprintf("%s-%d", m.prefix, m.n)
	}
	return m.current
}

// interrupt ends the run: a tool call, a permission request, a turn.
func (m *messageIDs) interrupt() { m.run = chunkNone }
