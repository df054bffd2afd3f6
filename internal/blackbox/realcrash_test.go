package blackbox_test

import (
	"encoding/json"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// oldWords occur in the agent's first turn only.
const oldWords = "zanzibar-in-the-first-turn"

// liveThrough runs a turn with one of each part of a history: a prompt, thoughts, a
// message, and a tool call that a person allowed.
func (r *rig) liveThrough(c *screen, session wire.SessionInfo) {
	r.t.Helper()
	// The script stands after the first line, because a summary of the turn quotes
	// the first line and must not run it again.
	c.prompt(session.SessionID, "p0", oldWords+"\n[[think]] [[say:"+oldWords+"]] "+r.agent.write(filepath.Join(r.workspace, "first.txt"), "first"))
	c.answer(session.SessionID, c.untilAsked(1), r.agent.allow)
	require.Equal(r.t, event.StopEndTurn, c.untilTurnEnds("p0").StopReason)
	require.FileExists(r.t, filepath.Join(r.workspace, "first.txt"))
}

// killInMidTurn kills the agent's process during an answer. It returns the log up
// to the end of that turn.
func (r *rig) killInMidTurn(c *screen, session wire.SessionInfo, promptID string) []event.Event {
	r.t.Helper()
	before := len(c.seen())
	c.prompt(session.SessionID, promptID, "a long story\n[[delay:20]] [[big:64]]")
	c.until("some of the answer", func(events []event.Event, _ *wire.State) bool {
		return hasType(event.TypeAgentMessage)(events[before:], nil)
	})
	children := readRecord(r.t, r.record).children
	remember(r.t, r.record)
	require.NoError(r.t, syscall.Kill(children[len(children)-1], syscall.SIGKILL))
	require.Equal(r.t, event.StopAgentExit, c.untilTurnEnds(promptID).StopReason)
	return c.seen()
}

// goesOn runs one more turn. It requires that the turn is ordinary, that the agent
// continued by the given method, and that all processes of its predecessor were
// gone.
func (r *rig) goesOn(c *screen, session wire.SessionInfo, resumed string) {
	r.t.Helper()
	c.prompt(session.SessionID, "again", "[[say:back again]]")
	require.Equal(r.t, event.StopEndTurn, c.untilTurnEnds("again").StopReason)
	record := readRecord(r.t, r.record)
	require.Len(r.t, record.children, 2)
	require.Empty(r.t, record.rivals, "a process of the earlier agent was alive when the next one started")
	for text, given := range record.prompts {
		require.Equal(r.t, 1, given, text)
	}
	started := payloads[event.AgentStarted](r.t, c.seen())
	require.Len(r.t, started, 2)
	require.Equal(r.t, resumed, string(started[1].Resumed))
	require.Equal(r.t, resumed == "", started[1].ContextLost)
}

// requireNoneTwice requires that after repeats no words, message or tool call of
// before.
func requireNoneTwice(t *testing.T, before, after []event.Event) {
	t.Helper()
	type item struct{ MessageID, ToolCallID, PermissionID, PromptID string }
	of := func(e event.Event) item {
		var i struct {
			MessageID    string `json:"message_id"`
			ToolCallID   string `json:"tool_call_id"`
			PermissionID string `json:"permission_id"`
			PromptID     string `json:"prompt_id"`
		}
		require.NoError(t, json.Unmarshal(e.Data, &i))
		return item(i)
	}
	known := map[item]bool{}
	for _, e := range before {
		known[of(e)] = true
	}
	delete(known, item{})
	require.Greater(t, len(known), 4, "the history is too short to repeat")
	require.NotEmpty(t, payloads[event.AgentMessage](t, after))
	for _, e := range after {
		require.False(t, known[of(e)], "%s was logged again: %s", e.Type, e.Data)
		switch e.Type {
		case event.TypeAgentStarted, event.TypeTitle:
			// An agent may name its session by its first words each time.
		default:
			require.NotContains(t, string(e.Data), oldWords, "%s", e.Type)
		}
	}
	for _, n := range payloads[event.Note](t, after) {
		require.NotEqual(t, "abide/replay", n.Method, "the agent's memory differs: %s %s", n.Text, n.Raw)
	}
}

func TestTheNextPromptWorksAfterARealAgentWasKilled(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		session := r.create(r.agent.name)
		c := r.screen("desk", session, 0)
		r.liveThrough(c, session)
		before := r.killInMidTurn(c, session, "p1")
		r.goesOn(c, session, "resume")
		requireNoneTwice(t, before, c.seen()[len(before):])
		requireTrueScreens(t, r.hub, session.SessionID, c)
	})
}

// TestARealAgentThatCanOnlyLoadRepeatsNothing: the hub compares the history that a
// load repeats with the log, finds it the same, and drops it.
func TestARealAgentThatCanOnlyLoadRepeatsNothing(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		session := r.create(r.agent.name)
		c := r.screen("desk", session, 0)
		r.liveThrough(c, session)
		before := r.killInMidTurn(c, session, "p1")
		r.goesOn(c, session, "load")
		requireNoneTwice(t, before, c.seen()[len(before):])
		requireTrueScreens(t, r.hub, session.SessionID, c)
	}, "resume")
}

// TestARealAgentThatCannotComeBackIsToldWhatWas: the agent starts a new ACP
// session, and its first prompt includes a summary.
func TestARealAgentThatCannotComeBackIsToldWhatWas(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		session := r.create(r.agent.name)
		c := r.screen("desk", session, 0)
		r.liveThrough(c, session)
		r.killInMidTurn(c, session, "p1")
		r.goesOn(c, session, "")
		account := readRecord(t, r.record).accounts["[[say:back again]]"]
		require.Contains(t, account, "- "+oldWords+"\n- a long story\n")
		require.NotContains(t, account, "back again", "the current prompt is in the summary")
		requireTrueScreens(t, r.hub, session.SessionID, c)
	}, "resume", "load")
}

// TestARealAgentDiesWithItsHubAndTheNextPromptWorks kills the hub while a tool of
// the agent waits for a permission.
func TestARealAgentDiesWithItsHubAndTheNextPromptWorks(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		session := r.create(r.agent.name)
		c := r.screen("desk", session, 0)
		r.liveThrough(c, session)
		first := len(c.seen())
		touched := filepath.Join(r.workspace, "touched")
		c.prompt(session.SessionID, "p1", r.agent.shell("touch "+touched))
		request := c.untilAsked(2)
		remember(t, r.record)
		r.kill()
		r.start()
		require.Equal(t, event.StopHubRestart, c.untilTurnEnds("p1").StopReason)
		before := c.seen()
		requireAborted(t, before[first:], request)
		r.goesOn(c, session, "resume")
		requireNoneTwice(t, before, c.seen()[len(before):])
		require.NoFileExists(t, touched)
		requireTrueScreens(t, r.hub, session.SessionID, c)
	})
}

// TestARealAgentThatTalksDiesWithItsHub kills the hub in the middle of an answer.
// The next agent loads the session.
func TestARealAgentThatTalksDiesWithItsHub(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		session := r.create(r.agent.name)
		c := r.screen("desk", session, 0)
		r.liveThrough(c, session)
		first := len(c.seen())
		c.prompt(session.SessionID, "p1", "[[delay:20]] [[big:64]]")
		c.until("some of the answer", func(events []event.Event, _ *wire.State) bool {
			return hasType(event.TypeAgentMessage)(events[first:], nil)
		})
		remember(t, r.record)
		r.kill()
		r.start()
		require.Equal(t, event.StopHubRestart, c.untilTurnEnds("p1").StopReason)
		before := c.seen()
		r.goesOn(c, session, "load")
		requireNoneTwice(t, before, c.seen()[len(before):])
		requireTrueScreens(t, r.hub, session.SessionID, c)
	}, "resume")
}
