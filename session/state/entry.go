package state

import "github.com/abidehub/abide/session/event"

// Entry is a payload to be written, with its turn.
type Entry struct {
	Turn    int
	Payload event.Payload
}

// Closings returns the events that end unfinished tool calls and open requests: those
// calls for which which is true, as failed, and all requests, as cancelled by the hub
// with the reason.
func (f *Fold) Closings(which func(ToolCall) bool, reason string) []Entry {
	var list []Entry
	for _, call := range f.Tools.Unfinished() {
		if which(call) {
			list = append(list, Entry{Turn: call.Turn, Payload: event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{
				ToolCallID: call.ID, Status: event.ToolFailed, Synthetic: true,
			}}})
		}
	}
	for _, r := range f.Permissions.Open {
		list = append(list, Entry{Turn: r.Turn, Payload: r.Cancelled(TheHub(), reason)})
	}
	return list
}
