package blackbox_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

// recordedTraces holds recorded conversations with real agents.
const recordedTraces = "../../session/acp/testdata/agents"

// TestRecordedTracesReplayWithEveryLineKept replays the output of real agents into
// sessions. No line may be an error. Every value the agent sent must be in the log,
// mapped or raw, in order.
func TestRecordedTracesReplayWithEveryLineKept(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(recordedTraces, "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	self, err := os.Executable()
	require.NoError(t, err)
	agents := map[string]agent{}
	for _, path := range paths {
		absolute, err := filepath.Abs(path)
		require.NoError(t, err)
		agents[traceOf(path)] = agent{Command: []string{self}, Env: map[string]string{roleName: "replay", traceName: absolute}}
	}
	h := newHub(t, settings{agents: agents})
	for _, path := range paths {
		t.Run(traceOf(path), func(t *testing.T) { replay(t, h.in(t), path) })
	}
}

func traceOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".jsonl") }

func replay(t *testing.T, h *hub, path string) {
	trace, err := readTrace(path)
	require.NoError(t, err)
	session := h.create(traceOf(path))
	c := h.screen(traceOf(path), session, 0)
	if methods := requiredLogins(t, trace); methods != nil {
		c.prompt(session.SessionID, "p1", "hello")
		require.Equal(t, event.StopAgentExit, c.untilTurnEnds("p1").StopReason)
		c.until("the ways to log in", func(_ []event.Event, s *wire.State) bool {
			var offered []string
			if s != nil && s.Agent.Status == state.AgentFailed {
				for _, m := range s.Agent.AuthMethods {
					offered = append(offered, m.MethodID)
				}
			}
			return slices.Equal(methods, offered)
		})
		return
	}
	ended := 0
	c.hopeless = hopelessReplay(t, &ended)
	prompts := 0
	for i, l := range trace {
		m, ok := l.parsed()
		if !ok || l.Dir != "c>a" {
			continue
		}
		switch m.Method {
		case "session/set_mode":
			setModeAsTraced(t, c, session.SessionID, m)
		case "session/prompt":
			prompts++
			c.prompt(session.SessionID, fmt.Sprintf("p%d", prompts), promptText(t, m))
			// This answers the permission requests of the turn until it ends.
			answerAsTraced(t, c, session.SessionID, trace[i:])
			end := c.untilTurnEnds(fmt.Sprintf("p%d", prompts))
			ended++
			requireEndOf(t, trace, m, end)
		}
	}
	if prompts == 0 {
		// The trace has a handshake only. A prompt makes the agent start, and is
		// never answered.
		c.prompt(session.SessionID, "p1", "hello")
		c.until("the agent", hasType(event.TypeAgentStarted))
	}
	c.until("the end of the trace", func(events []event.Event, _ *wire.State) bool {
		return slices.ContainsFunc(payloads[event.Note](t, events), func(n event.Note) bool { return n.Method == traceEnd })
	})
	events := c.seen()
	require.Empty(t, lost(agentLines(trace), events), "lines of the agent that are not in the log")
	require.Empty(t, payloads[event.Error](t, events))
	requireSame(t, events, onDisk(t, h, session.SessionID)[:len(events)], "the screen")
}

// hopelessReplay returns the reason that a replay cannot go on: the agent has failed,
// or has ended more turns than were waited for.
func hopelessReplay(t *testing.T, ended *int) func([]event.Event) string {
	turns, next := 0, 0
	return func(events []event.Event) string {
		for ; next < len(events); next++ {
			switch events[next].Type {
			case event.TypeError, event.TypeAgentExit:
				return "the agent failed: " + string(events[next].Data)
			case event.TypeTurnEnd:
				turns++
			}
		}
		if turns > *ended {
			return "the turn ended"
		}
		return ""
	}
}

// requiredLogins returns the ids of the ways to log in, if the trace's agent began no
// session without one.
func requiredLogins(t *testing.T, trace []traceLine) (ids []string) {
	t.Helper()
	methods := map[string]string{}
	for _, l := range trace {
		m, ok := l.parsed()
		switch {
		case !ok:
		case l.Dir == "c>a":
			methods[string(m.ID)] = m.Method
		case m.isResponse() && methods[string(m.ID)] == "initialize":
			var r struct{ AuthMethods []struct{ ID string } }
			require.NoError(t, json.Unmarshal(m.Result, &r))
			for _, method := range r.AuthMethods {
				ids = append(ids, method.ID)
			}
		case m.isResponse() && methods[string(m.ID)] == "session/new" && len(m.Error) > 0:
			return ids
		}
	}
	return nil
}

func setModeAsTraced(t *testing.T, c *screen, session string, m message) {
	t.Helper()
	var p struct{ ModeID string }
	require.NoError(t, json.Unmarshal(m.Params, &p))
	require.NoError(t, c.socket().Send(t.Context(), &wire.SetMode{SessionID: session, ModeID: p.ModeID}))
	c.until("mode "+p.ModeID, func(events []event.Event, _ *wire.State) bool {
		return slices.ContainsFunc(payloads[event.Mode](t, events), func(mode event.Mode) bool { return mode.ModeID == p.ModeID && mode.By != "" })
	})
}

func hasType(kind event.Type) func([]event.Event, *wire.State) bool {
	return func(events []event.Event, _ *wire.State) bool {
		return slices.ContainsFunc(events, func(e event.Event) bool { return e.Type == kind })
	}
}

func promptText(t *testing.T, m message) string {
	var p struct{ Prompt []struct{ Text string } }
	require.NoError(t, json.Unmarshal(m.Params, &p))
	require.Len(t, p.Prompt, 1)
	return p.Prompt[0].Text
}

// answerAsTraced answers each permission request of the next turn like the trace's
// client, and cancels where it did.
func answerAsTraced(t *testing.T, c *screen, session string, trace []traceLine) {
	asked := 0
	requests := map[string]bool{}
	for i, l := range trace {
		m, ok := l.parsed()
		if i > 0 && m.Method == "session/prompt" {
			return
		}
		switch {
		case !ok:
		case l.Dir == "a>c" && (m.Method == "session/request_permission" || m.Method == "elicitation/create"):
			requests[string(m.ID)] = true
		case l.Dir == "c>a" && m.Method == "session/cancel":
			c.until("the tool at work", func(events []event.Event, _ *wire.State) bool {
				return len(payloads[event.ToolCallUpdate](t, events)) >= 2
			})
			c.cancel(session)
		case l.Dir == "c>a" && m.isResponse() && requests[string(m.ID)]:
			var r struct {
				Outcome struct{ Outcome, OptionID string }
			}
			require.NoError(t, json.Unmarshal(m.Result, &r))
			asked++
			request := c.untilAsked(asked)
			option := r.Outcome.OptionID
			switch r.Outcome.Outcome {
			case "cancelled":
				c.cancel(session)
				continue
			case "": // an elicitation form
				option = request.Options[0].OptionID
			}
			_, err := c.socket().Answer(t.Context(), wire.PermissionAnswer{SessionID: session, PermissionID: request.PermissionID, OptionID: option})
			require.NoError(t, err)
		}
	}
}

// requireEndOf requires the stop reason of the trace's agent. After a person's Stop the
// turn is cancelled, and keeps the agent's own reason.
func requireEndOf(t *testing.T, trace []traceLine, prompt message, end event.TurnEnd) {
	for _, l := range trace {
		m, ok := l.parsed()
		if !ok || l.Dir != "a>c" || !m.isResponse() || string(m.ID) != string(prompt.ID) {
			continue
		}
		if len(m.Error) > 0 {
			require.NotNil(t, end.Error)
			return
		}
		var r struct{ StopReason event.StopReason }
		require.NoError(t, json.Unmarshal(m.Result, &r))
		if end.By != "" && r.StopReason != event.StopCancelled {
			require.Contains(t, string(end.Raw), r.StopReason)
			r.StopReason = event.StopCancelled
		}
		require.Equal(t, r.StopReason, end.StopReason)
	}
}

// agentLine holds the values of one line of the agent that the log must have.
type agentLine struct {
	values []string
	// settles marks a response. Its values are in the event that it settles, which
	// may precede the events of the agent's lines in between.
	settles bool
}

func agentLines(trace []traceLine) []agentLine {
	var out []agentLine
	for _, l := range replayed(trace) {
		m, ok := l.parsed()
		if !ok || l.Dir != "a>c" {
			continue
		}
		var whole map[string]any
		if json.Unmarshal(l.Msg, &whole) != nil {
			continue
		}
		// Remove the fields that every line has and those implied by the event
		// type.
		delete(whole, "jsonrpc")
		delete(whole, "id")
		delete(whole, "method")
		if p, ok := whole["params"].(map[string]any); ok {
			delete(p, "sessionId")
			if u, ok := p["update"].(map[string]any); ok {
				delete(u, "sessionUpdate")
				if c, ok := u["content"].(map[string]any); ok && c["type"] == "text" {
					delete(c, "type")
				}
			}
		}
		out = append(out, agentLine{values: leaves(whole, nil), settles: m.isResponse()})
	}
	return out
}

// leaves are the scalars of a JSON value, sorted.
func leaves(v any, into []string) []string {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			into = leaves(inner, into)
		}
	case []any:
		for _, inner := range v {
			into = leaves(inner, into)
		}
	case nil:
	default:
		into = append(into, fmt.Sprintf("%T %v", v, v))
	}
	slices.Sort(into)
	return into
}

// sent are the data of the events, each of a tool call with the call's whole content
// and status: an update that repeats them is recorded as what is new in it.
func sent(events []event.Event) []json.RawMessage {
	out := make([]json.RawMessage, len(events))
	calls := map[string]*event.ToolCallFields{}
	for i, e := range events {
		out[i] = e.Data
		var f event.ToolCallFields
		if e.Type != event.TypeToolCall && e.Type != event.TypeToolCallUpdate || json.Unmarshal(e.Data, &f) != nil {
			continue
		}
		if calls[f.ToolCallID] == nil {
			calls[f.ToolCallID] = &event.ToolCallFields{}
		}
		call := calls[f.ToolCallID]
		call.Upsert(f)
		f.Content, f.ContentAdded, f.Status = call.Whole(), "", call.Status
		out[i], _ = json.Marshal(f) // strings and JSON that was just read
	}
	return out
}

// lost returns the lines whose values are in no event, or only in an event before
// that of the previous line. Several lines may share an event.
func lost(lines []agentLine, events []event.Event) []string {
	held := make([]map[string]int, len(events))
	for i, said := range sent(events) {
		var data any
		if json.Unmarshal(said, &data) != nil {
			continue
		}
		held[i] = map[string]int{}
		for _, leaf := range leaves(data, nil) {
			held[i][leaf]++
		}
	}
	var missing []string
	at := 0
	for _, line := range lines {
		found, from := -1, at
		if line.settles {
			from = 0
		}
		for i := from; i < len(events) && found < 0; i++ {
			if holds(held[i], line.values) {
				found = i
			}
		}
		switch {
		case found < 0:
			missing = append(missing, strings.Join(line.values, " | "))
		case !line.settles:
			at = found
		}
	}
	return missing
}

func holds(event map[string]int, line []string) bool {
	need := map[string]int{}
	for _, leaf := range line {
		need[leaf]++
		if event[leaf] < need[leaf] {
			return false
		}
	}
	return true
}
