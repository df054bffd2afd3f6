package plain

import "github.com/abidehub/abide/session/event"

// Folded writes the events of a session as a Feed does, but each message, thought and tool
// call whole at the place where it began, as the page shows them. It writes a turn once it
// has ended, and holds the events of that turn.
type Folded struct {
	feed  *Feed
	order [][]event.Event // of the turn; each slot is what is shown in one piece
	slot  map[string]int  // of the messages, thoughts, calls and terminals in order
}

// NewFolded returns a Folded that writes to a feed.
func NewFolded(feed *Feed) *Folded { return &Folded{feed: feed, slot: map[string]int{}} }

// Write takes one event. The error is the writer's.
func (f *Folded) Write(e event.Event) error {
	if e.Type == event.TypeUserPrompt {
		if err := f.flush(); err != nil {
			return err
		}
	}
	key := pieceOf(e)
	at, known := f.slot[key]
	if known && key != "" {
		f.order[at] = append(f.order[at], e)
	} else {
		f.slot[key] = len(f.order)
		f.order = append(f.order, []event.Event{e})
	}
	if e.Type == event.TypeTurnEnd {
		return f.flush()
	}
	return nil
}

// Close writes the turn that has not ended.
func (f *Folded) Close() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.feed.Close()
}

func (f *Folded) flush() error {
	for _, piece := range f.order {
		for _, e := range piece {
			if err := f.feed.Write(e); err != nil {
				return err
			}
		}
	}
	f.order = nil
	clear(f.slot)
	return nil
}

// pieceOf names the message, thought, call or terminal that an event is a part of; empty if
// it is a piece of its own.
func pieceOf(e event.Event) string {
	payload, err := e.Payload()
	if err != nil {
		return ""
	}
	switch p := payload.(type) {
	case event.AgentMessage:
		if p.MessageID != "" {
			return "message " + p.MessageID
		}
	case event.AgentThought:
		if p.MessageID != "" {
			return "thought " + p.MessageID
		}
	case event.ToolCall:
		return "tool " + p.ToolCallID
	case event.ToolCallUpdate:
		return "tool " + p.ToolCallID
	case event.TerminalOutput:
		return "terminal " + p.TerminalID
	}
	return ""
}
