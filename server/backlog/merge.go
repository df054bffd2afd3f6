package backlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/abidehub/abide/session/event"
)

// run is a sequence of events that becomes one: chunks of one message or of one
// terminal's output, or updates of one tool call.
type run struct {
	head  event.Event // of the newest event, whose seq is the run's
	first event.Seq
	count int
	raw   []byte // of a run of one that is sent unchanged
	// members are the data of an event that may be joined; nil of others.
	members map[string]json.RawMessage
	// text is the growing member of a run of several, decoded. cut is how many characters
	// are cut before it.
	text []byte
	cut  int
	// grown is what became of a raw output.
	grown *event.Grown
	// lean means that a member was left out.
	lean bool
}

// Merge joins consecutive chunks and updates, and leaves out contents of tool calls
// that a later event of the batch replaces, and what became of the _meta in raw. It decodes events, so it is used only for
// the backlog of clients that ask for it. Each run covers FirstSeq..Seq of its events
// and has the time of the last. The batch still covers First..Last.
func Merge(b event.Batch) (event.Batch, error) {
	var runs []*run
	for g := range b.Headers() {
		next, err := readRun(g.JSON)
		if err != nil {
			return event.Batch{}, err
		}
		runs = append(runs, next)
	}
	leaveOutReplaced(runs)
	out := event.Batch{First: b.First, Last: b.Last}
	var buf bytes.Buffer
	for i := 0; i < len(runs); {
		open := runs[i]
		for i++; i < len(runs) && open.take(runs[i]); i++ {
		}
		if out.Count > 0 {
			buf.WriteByte(',')
		}
		out.Count++
		open.write(&buf)
	}
	out.JSON = buf.Bytes()
	return out, nil
}

func readRun(object []byte) (*run, error) {
	r := &run{raw: object, count: 1}
	if err := json.Unmarshal(object, &r.head); err != nil {
		return nil, fmt.Errorf("merging a backlog: %w", err)
	}
	r.first = r.head.Seq
	if growing(r.head.Type) == "" || r.head.Unverified || json.Unmarshal(r.head.Data, &r.members) != nil {
		r.members = nil
	}
	grown, cut := r.members["output_grown"], r.members["content_cut"]
	if grown != nil && json.Unmarshal(grown, &r.grown) != nil || cut != nil && json.Unmarshal(cut, &r.cut) != nil {
		r.members = nil // it is of no form that can be joined
		return r, nil
	}
	if raw := r.members["raw"]; bytes.Contains(raw, []byte(`"_meta":{"`+event.MetaGrown+`":`)) {
		r.leaveOutOf("raw", "_meta")
	}
	delete(r.members, "output_grown") // write puts them back
	delete(r.members, "content_cut")
	return r, nil
}

// growing returns the member of an event's data that continues that of the event
// before; empty for events that are not joined.
func growing(kind event.Type) string {
	switch kind {
	case event.TypeAgentMessage, event.TypeAgentThought:
		return "text"
	case event.TypeTerminalOutput:
		return "data"
	case event.TypeToolCall, event.TypeToolCallUpdate:
		return "content_added"
	}
	return ""
}

// about identifies the message, terminal or tool call; empty if the run can be joined
// with no other.
func (r *run) about() string {
	named, only := "", 2
	switch r.head.Type {
	case event.TypeAgentMessage, event.TypeAgentThought:
		named = "message_id"
	case event.TypeTerminalOutput:
		if named = "terminal_id"; r.members["tool_call_id"] != nil {
			only = 3
		}
	case event.TypeToolCallUpdate:
		named, only = "tool_call_id", len(r.members)
	}
	tool := r.head.Type == event.TypeToolCallUpdate
	if len(r.members) > only || len(r.members[named]) <= len(`""`) || !tool && r.members[growing(r.head.Type)] == nil {
		return "" // it has more than text, which would be lost
	}
	return string(r.members[named]) + string(r.members["tool_call_id"])
}

// take joins the next run, if both are about the same.
func (r *run) take(next *run) bool {
	about := r.about()
	if about == "" || r.head.Type != next.head.Type || r.head.Turn != next.head.Turn || about != next.about() {
		return false
	}
	if a, b := r.members["raw"], next.members["raw"]; a != nil && b != nil && !bytes.Equal(a, b) {
		return false
	}
	if next.members["content"] != nil && hasChange(r.members["content"]) {
		return false
	}
	member := growing(r.head.Type)
	var before, added string
	if r.count == 1 && !text(r.members[member], &before) || !text(next.members[member], &added) {
		return false // a blob
	}
	if r.count == 1 {
		r.text = []byte(before)
	}
	switch {
	case next.members["content"] != nil:
		r.text, r.cut = []byte(added), next.cut
	case next.cut > 0:
		rest, left := event.CutEnd(string(r.text), next.cut)
		r.text, r.cut = append([]byte(rest), added...), r.cut+left
	default:
		r.text = append(r.text, added...)
	}
	if next.members["raw_output"] != nil {
		r.grown = nil
	}
	r.grown = r.grown.Then(next.grown)
	delete(r.members, member)
	maps.Copy(r.members, next.members)
	r.head, r.count, r.lean = next.head, r.count+1, r.lean || next.lean
	return true
}

// text decodes a string; an absent one is empty.
func text(raw json.RawMessage, s *string) bool {
	return raw == nil || raw[0] == '"' && json.Unmarshal(raw, s) == nil
}

// leaveOutReplaced leaves out contents and outputs of tool calls which a later event
// replaces. A content with a change stays, as the change stays with its call.
func leaveOutReplaced(runs []*run) {
	type place struct {
		turn         int
		call, member string
	}
	replaced := map[place]bool{}
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		if r.members == nil || growing(r.head.Type) != "content_added" {
			continue
		}
		at := func(member string) place { return place{r.head.Turn, string(r.members["tool_call_id"]), member} }
		whole := r.members["content"] != nil
		if replaced[at("content")] && !hasChange(r.members["content"]) {
			r.lean = r.lean || r.cut > 0
			r.leaveOut("content", "content")
			r.leaveOut("content_added", "")
			r.cut = 0
		}
		replaced[at("content")] = replaced[at("content")] || whole
		output := r.members["raw_output"] != nil
		if replaced[at("raw_output")] {
			r.leaveOut("raw_output", "rawOutput")
			r.lean = r.lean || r.grown != nil
			r.grown = nil
		}
		replaced[at("raw_output")] = replaced[at("raw_output")] || output
	}
}

// hasChange reports whether a content may have a change of a file.
func hasChange(content json.RawMessage) bool { return bytes.Contains(content, []byte(`"diff"`)) }

// leaveOut removes a member, and the agent's own under its name in raw.
func (r *run) leaveOut(member, inRaw string) {
	if r.members[member] == nil {
		return
	}
	delete(r.members, member)
	r.lean = true
	r.leaveOutOf("raw", inRaw)
}

// leaveOutOf removes a member of a member.
func (r *run) leaveOutOf(member, name string) {
	var inner map[string]json.RawMessage
	if json.Unmarshal(r.members[member], &inner) == nil && inner[name] != nil {
		delete(inner, name)
		r.members[member], r.lean = encode(inner), true
	}
}

func (r *run) write(buf *bytes.Buffer) {
	if r.count == 1 && !r.lean {
		buf.Write(r.raw)
		return
	}
	merged := r.head
	if r.count > 1 {
		merged.FirstSeq = r.first
		delete(r.members, growing(r.head.Type))
		if len(r.text) > 0 {
			r.members[growing(r.head.Type)] = encode(string(r.text))
		}
	}
	if r.cut > 0 {
		r.members["content_cut"] = encode(r.cut)
	}
	if r.grown != nil {
		r.members["output_grown"] = encode(r.grown)
	}
	merged.Data = encode(r.members)
	buf.Write(encode(merged))
}

// encode encodes events, strings and JSON as they are in the log, without escaping HTML.
func encode(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // what was decoded can be encoded
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
