package demoagent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/abidehub/abide/session/event"
)

const (
	// maxReplayLine bounds a line of a recording, and maxReplayPause a pause in it.
	maxReplayLine  = 4 << 20
	maxReplayPause = 2 * time.Second
)

// Recording is an agent's output in a session, turn by turn.
type Recording struct{ turns [][]recorded }

// recorded is an event of a log, as far as a replay needs it.
type recorded struct {
	Time time.Time       `json:"time"`
	Type string          `json:"type"`
	Turn int             `json:"turn"`
	Data json.RawMessage `json:"data"`
}

// ReadRecording reads the output of `abide export --format jsonl`.
func ReadRecording(from io.Reader) (*Recording, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxReplayLine)
	r := &Recording{}
	for lines.Scan() {
		var e recorded
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read recording: a line is not an event: %w", err)
		}
		if e.Type == "user_prompt" {
			r.turns = append(r.turns, nil)
		}
		if n := len(r.turns); n > 0 {
			r.turns[n-1] = append(r.turns[n-1], e)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	if len(r.turns) == 0 {
		return nil, fmt.Errorf("read recording: there is no user_prompt in it")
	}
	return r, nil
}

// replay repeats the recorded agent's output in its turn of the same number, with
// its requests. The answers do not change the rest.
func (t *turn) replay(r *Recording) error {
	if t.session.turns > len(r.turns) {
		return t.say(fmt.Sprintf("The recording has %d turns, and this is turn %d.", len(r.turns), t.session.turns))
	}
	var last time.Time
	for _, e := range r.turns[t.session.turns-1] {
		if gap := e.Time.Sub(last); gap > 0 && !last.IsZero() {
			if err := t.pause(min(gap, maxReplayPause)); err != nil {
				return err
			}
		}
		last = e.Time
		if err := t.again(e); err != nil {
			return fmt.Errorf("replay %s: %w", e.Type, err)
		}
	}
	return t.ctx.Err()
}

// again repeats one event of the agent. Events of the hub or a person are left out.
func (t *turn) again(e recorded) error {
	var said struct {
		MessageID  string            `json:"message_id"`
		Text       json.RawMessage   `json:"text"`
		Content    json.RawMessage   `json:"content"`
		Entries    json.RawMessage   `json:"entries"`
		StopReason string            `json:"stop_reason"`
		ToolCallID string            `json:"tool_call_id"`
		ToolCall   json.RawMessage   `json:"tool_call"`
		Options    []json.RawMessage `json:"options"`
		Synthetic  bool              `json:"synthetic"`
		Form       json.RawMessage   `json:"form"`
		URL        string            `json:"url"`
	}
	if err := json.Unmarshal(e.Data, &said); err != nil && e.Type != "config" {
		return err
	}
	switch e.Type {
	case "agent_message":
		return t.chunkAgain("agent_message_chunk", said.MessageID, said.Text, said.Content)
	case "agent_thought":
		return t.chunkAgain("agent_thought_chunk", said.MessageID, said.Text, said.Content)
	case "tool_call", "tool_call_update":
		if said.Synthetic {
			return nil // the hub said that
		}
		return t.toolAgain(e.Type, e.Data)
	case "plan":
		return t.raw(map[string]any{"sessionUpdate": "plan", "entries": said.Entries})
	case "permission_request":
		if said.Form != nil || said.URL != "" || len(said.Options) == 0 {
			return nil
		}
		return t.askAgain(said.ToolCallID, said.ToolCall, e.Data)
	case "turn_end":
		switch reason := sdk.StopReason(said.StopReason); reason {
		case sdk.StopReasonMaxTokens, sdk.StopReasonMaxTurnRequests, sdk.StopReasonRefusal:
			t.stop = reason
		}
	}
	return nil
}

func (t *turn) chunkAgain(kind, id string, text, content json.RawMessage) error {
	var words string
	if json.Unmarshal(text, &words) == nil && words != "" {
		t.said += len(words)
		if err := t.raw(map[string]any{"sessionUpdate": kind, "messageId": id, "content": map[string]any{"type": "text", "text": words}}); err != nil {
			return err
		}
	}
	if len(content) == 0 {
		return nil
	}
	return t.raw(map[string]any{"sessionUpdate": kind, "messageId": id, "content": content})
}

// toolAgain gives the fields their names in the protocol.
func (t *turn) toolAgain(kind string, data json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	update := map[string]any{"sessionUpdate": kind}
	for from, to := range map[string]string{
		"tool_call_id": "toolCallId", "title": "title", "kind": "kind", "status": "status", "content": "content",
		"locations": "locations", "raw_input": "rawInput", "raw_output": "rawOutput",
	} {
		if value, there := fields[from]; there {
			update[to] = value
		}
	}
	id := string(fields["tool_call_id"])
	var said event.ToolCallFields
	if err := json.Unmarshal(data, &said); err != nil {
		return err
	}
	call := t.grown[id]
	if call == nil {
		call = &event.ToolCallFields{}
		t.grown[id] = call
	}
	call.Upsert(said)
	if fields["content_added"] != nil || fields["content_cut"] != nil {
		update["content"] = call.Whole()
	}
	if fields["output_grown"] != nil {
		update["rawOutput"] = call.WholeOutput()
	}
	return t.raw(update)
}

// askAgain repeats a recorded request, and waits for any answer.
func (t *turn) askAgain(id string, call, data json.RawMessage) error {
	var asked struct {
		Title   string `json:"title"`
		Options []struct {
			OptionID string `json:"option_id"`
			Name     string `json:"name"`
			Kind     string `json:"kind"`
		} `json:"options"`
	}
	if err := json.Unmarshal(data, &asked); err != nil {
		return err
	}
	update := sdk.ToolCallUpdate{ToolCallId: sdk.ToolCallId(id), Title: &asked.Title}
	if len(call) > 0 {
		var whole sdk.ToolCallUpdate
		if json.Unmarshal(call, &whole) == nil && whole.ToolCallId != "" {
			update = whole
		}
	}
	options := make([]sdk.PermissionOption, 0, len(asked.Options))
	for _, o := range asked.Options {
		options = append(options, sdk.PermissionOption{OptionId: sdk.PermissionOptionId(o.OptionID), Name: o.Name, Kind: sdk.PermissionOptionKind(o.Kind)})
	}
	_, err := t.askIn(t.ctx, update, options)
	return err
}
