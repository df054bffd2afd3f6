package acp

import "fmt"

// chunkKind tells messages and thoughts apart.
type chunkKind int

const (
	chunkNone chunkKind = iota
	chunkMessage
	chunkThought
)

// messageIDs gives chunks without an id one: those of one kind in a row make
// one message. Synthesised ids are unique in the session, not only in this run
// of the agent. It belongs to the reader.
type messageIDs struct {
	prefix  string
	n       int
	run     chunkKind
	current string // the id of the run
}

// id returns the chunk's own id, or the one of the run it belongs to.
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
