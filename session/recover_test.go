package session_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// Fault 41 without processes: the turn is closed, no prompt is sent again, and the
// next prompt starts an agent. A note says that the agent lost the context.
func TestFault41HubKill9MidTurn(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("done", event.ToolCompleted), toolCall("t1", event.ToolInProgress), question("q1")))
	after := h.copyOf(t)
	b = after.session(b.ID())
	requireLawful(t, b, true)
	got := shape(t, b)
	require.Equal(t, []string{
		"tool_call_update:failed/1", "tool_call_update:failed/1", "permission_outcome:cancelled/1", "turn_interrupted/1", "turn_end:hub_restart/1",
	}, got[len(got)-5:])
	for _, u := range payloads[event.ToolCallUpdate](t, b) {
		require.True(t, u.Synthetic)
		require.NotEqual(t, "done", u.ToolCallID)
	}
	s := b.State()
	require.Equal(t, session.TurnIdle, s.Turn.State)
	require.Empty(t, s.PendingPermissions)
	require.Equal(t, queue.Interrupted, prompt(t, b, promptID(0)).Outcome)

	prompt(t, b, "next")
	second := after.agents.next(t)
	require.Equal(t, "fake-"+b.ID(), second.spec.AgentSessionID)
	require.True(t, second.spec.ContextLost)
	require.Equal(t, "next", receive(t, second.prompts, "no prompt").PromptID)
	notes := payloads[event.Note](t, b)
	require.Len(t, notes, 1, "no note about the lost context")
	require.Equal(t, "abide/context_lost", notes[0].Method)
	require.NoError(t, second.end("next", event.StopEndTurn))
	awaitIdle(t, b)
	require.Zero(t, after.agents.givenTimes(promptID(0)))
}

func TestRecoveryIsIdempotent(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("t1", event.ToolInProgress), question("q1")))
	once := h.copyOf(t)
	first := shape(t, once.session(b.ID()))
	twice := once.copyOf(t)
	require.Equal(t, first, shape(t, twice.session(b.ID())))
	once.close()
	once.open()
	require.Equal(t, first, shape(t, once.session(b.ID())))
}

func TestRecoveryNeedsNoMetadataAndNoQueueFile(t *testing.T) {
	h := newDiskHub(t)
	b, a := h.busy()
	prompt(t, b, promptID(1))
	require.NoError(t, b.QueueEdit(ctxOf(t), promptID(1), "edited", person("ann")))
	require.NoError(t, a.say(event.Title{Title: "Named by the agent"}, event.Mode{ModeID: "plan"}))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	require.Equal(t, promptID(1), receive(t, a.prompts, "not taken").PromptID)
	require.NoError(t, a.say(toolCall("t1", event.ToolInProgress), question("q1")))

	for name, spoil := range map[string]func(dir string){
		"without metadata": func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "metadata.json"))) },
		"without a queue":  func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "queue.json"))) },
		"garbage for a queue": func(dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "queue.json"), []byte("\x00\x00"), 0o600))
		},
		"an old queue": func(dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "queue.json"), []byte(`{"format":1,"log_seq":1,"items":[
				{"prompt_id":"prompt-001","text":"edited","hash":"`+queue.Hash("do prompt-001", nil)+`"}]}`), 0o600))
		},
		"a queue of another history": func(dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "queue.json"), []byte(`{"format":1,"log_seq":999999}`), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &hub{t: t, dir: t.TempDir(), workspace: h.workspace, agents: newAgents()}
			copyDir(t, h.dir, c.dir)
			spoil(filepath.Join(c.dir, "sessions", b.ID()))
			c.open()
			t.Cleanup(c.close)
			b := c.session(b.ID())
			requireLawful(t, b, true)
			require.Equal(t, queue.Received, prompt(t, b, promptID(0)).Outcome)
			require.Equal(t, queue.Interrupted, prompt(t, b, promptID(1)).Outcome)
			_, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: promptID(0), Text: "other"})
			require.ErrorIs(t, err, state.ErrConflict)
			for _, text := range []string{"other", "edited"} { // both differ from the first text
				_, err = b.Prompt(ctxOf(t), session.PromptRequest{PromptID: promptID(1), Text: text})
				require.ErrorIs(t, err, state.ErrConflict)
			}
			require.Empty(t, b.Queue())
			require.Equal(t, "plan", b.State().Mode.ModeID)
			require.Eventually(t, func() bool { return b.Info().Name == "Named by the agent" }, patience, tick)
			if strings.Contains(name, "queue") && name != "an old queue" && name != "a queue of another history" {
				errs := payloads[event.Error](t, b)
				require.Len(t, errs, 1, "the loss was not reported")
				require.Equal(t, "queue_lost", errs[0].Code)
			}
			require.Len(t, payloads[event.UserPrompt](t, b), 2)
		})
	}
}

func TestAPlannedEndClosesTheTurnAndStopsTheAgent(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("t1", event.ToolInProgress)))
	h.close()
	<-a.over
	h.open()
	b = h.session(b.ID())
	got := shape(t, b)
	require.Equal(t, []string{
		"agent_exit/1", "tool_call_update:failed/1", "turn_interrupted/1", "turn_end:hub_restart/1",
	}, got[len(got)-4:])
	require.Equal(t, queue.Interrupted, prompt(t, b, promptID(0)).Outcome)
}

// takeSteps are the disk steps of taking a prompt: into the log, and from the queue
// to its ledger.
var takeSteps = []string{
	"write events.jsonl", "sync events.jsonl",
	"create queue.json.tmp", "write queue.json.tmp", "sync queue.json.tmp", "rename to queue.json", "sync directory",
}

// TestAKillBetweenAnyTwoSteps sends, queues, takes and answers prompts. Before each
// disk step it copies the files that a kill -9 would leave, and checks a hub on
// each copy.
func TestAKillBetweenAnyTwoSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("opens a hub for each of many steps")
	}
	k := &killer{t: t}
	h := newDiskHub(t, func(_ *session.Options, s *store.Options) {
		s.FS = steppedFS{store.OS(), k.step}
	})
	k.hub = h
	b, a := h.busy()
	k.on()
	k.acked(promptID(0), event.Seq(prompt(t, b, promptID(0)).Seq))
	require.Equal(t, queue.Queued, prompt(t, b, promptID(1)).Outcome)
	k.acked(promptID(1), 0)
	require.NoError(t, b.QueueEdit(ctxOf(t), promptID(1), "edited", person("ann")))
	require.NoError(t, a.say(toolCall("t1", event.ToolInProgress), question("q1")))
	_, err := answer(b, "q1", "yes", "tab")
	require.NoError(t, err)
	k.settled("q1", "yes")
	require.NoError(t, a.say(toolUpdate("t1", event.ToolCompleted)))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	require.Equal(t, promptID(1), receive(t, a.prompts, "not taken").PromptID)
	require.Equal(t, queue.Received, prompt(t, b, promptID(1)).Outcome)
	require.NoError(t, a.end(promptID(1), event.StopEndTurn))
	awaitIdle(t, b)
	result := prompt(t, b, promptID(2)) // on an idle agent
	k.acked(promptID(2), result.Seq)
	k.off()
	for _, step := range takeSteps {
		require.True(t, slices.ContainsFunc(k.copies, func(c copyOf) bool { return c.at == step }), "no kill came before %q", step)
	}

	for _, c := range k.copies {
		after := &hub{t: t, dir: c.dir, workspace: h.workspace, agents: newAgents()}
		after.agents.onPrompt = func(a *fakeAgent, p event.UserPrompt) { _ = a.end(p.PromptID, event.StopEndTurn) }
		after.open()
		b := after.session(b.ID())
		await(t, b, "queue empty after "+c.at, func(s session.State) bool { return idle(s) && len(s.Queue) == 0 })
		requireLawful(t, b, true)
		logged := map[string]event.Seq{}
		for _, e := range events(t, b) {
			if p, err := e.Payload(); err == nil {
				if p, ok := p.(event.UserPrompt); ok {
					logged[p.PromptID] = e.Seq
				}
			}
		}
		for id, seq := range c.acked {
			require.Contains(t, logged, id, "killed at %s: an acknowledged prompt is lost", c.at)
			if seq != 0 {
				require.Equal(t, seq, logged[id], "killed at %s", c.at)
			}
		}
		for id, option := range c.settled {
			found := ""
			for _, o := range payloads[event.PermissionOutcome](t, b) {
				if o.PermissionID == id {
					found = o.OptionID
				}
			}
			require.Equal(t, option, found, "killed at %s: an acknowledged answer is lost", c.at)
		}
		for n := range 3 {
			id := promptID(n)
			total := c.given[id] + after.agents.givenTimes(id)
			require.LessOrEqual(t, total, 1, "killed at %s: %s was sent to two agents", c.at, id)
			if _, known := logged[id]; !known {
				continue
			}
			require.Contains(t, []queue.Outcome{queue.Received, queue.Interrupted}, prompt(t, b, id).Outcome)
		}
		after.close()
	}
}

// killer copies a hub's directory before each disk step.
type killer struct {
	t      *testing.T
	hub    *hub
	mu     sync.Mutex
	armed  bool
	now    copyOf
	copies []copyOf
}

type copyOf struct {
	at      string
	dir     string
	acked   map[string]event.Seq
	settled map[string]string
	given   map[string]int
}

func (k *killer) on() {
	k.do(func() {
		k.now = copyOf{acked: map[string]event.Seq{}, settled: map[string]string{}}
		k.armed = true
	})
}

func (k *killer) off() { k.do(func() { k.armed = false }) }

func (k *killer) acked(id string, seq event.Seq) { k.do(func() { k.now.acked[id] = seq }) }

func (k *killer) settled(id, option string) { k.do(func() { k.now.settled[id] = option }) }

func (k *killer) do(fn func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fn()
}

func (k *killer) step(name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.armed {
		return nil
	}
	c := copyOf{at: name, dir: k.t.TempDir(), acked: clone(k.now.acked), settled: clone(k.now.settled)}
	k.hub.agents.mu.Lock()
	c.given = clone(k.hub.agents.given)
	k.hub.agents.mu.Unlock()
	copyDir(k.t, k.hub.dir, c.dir)
	k.copies = append(k.copies, c)
	return nil
}

func clone[K comparable, V any](m map[K]V) map[K]V {
	c := make(map[K]V, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

func TestASessionThatIsNotThereIsNotFound(t *testing.T) {
	h := newHub(t)
	for _, id := range []string{"20260101-000000-abcdefgh", "../etc", "", "UPPER-CASE"} {
		_, err := h.manager.Session(context.Background(), id)
		require.ErrorIs(t, err, state.ErrNotFound, id)
	}
}

func TestRecoveryPassesOverWhatRetentionRemoved(t *testing.T) {
	h := newDiskHub(t, func(_ *session.Options, o *store.Options) { o.SegmentBytes = 2000 })
	b, a := h.busy()
	for range 60 {
		require.NoError(t, a.say(event.AgentMessage{Text: event.Text(strings.Repeat("x", 50))}))
	}
	require.NoError(t, a.say(toolCall("t1", event.ToolInProgress)))
	h.store.SetKeep(4000)
	require.Eventually(t, func() bool { return b.Log().Marks().Min > 10 }, patience, time.Millisecond)
	first := b.Log().Marks().Min
	require.Eventually(t, func() bool { // the files follow
		files, err := filepath.Glob(filepath.Join(h.dir, "sessions", b.ID(), "events-*.jsonl"))
		require.NoError(t, err)
		oldest := int64(first)
		for _, file := range files {
			var from int64
			_, err := fmt.Sscanf(filepath.Base(file), "events-%d-", &from)
			require.NoError(t, err)
			oldest = min(oldest, from)
		}
		return oldest == int64(first)
	}, patience, time.Millisecond)
	for name, gone := range map[string][]string{
		"all there": nil, "without a queue": {"queue.json"}, "without metadata": {"metadata.json"}, "without both": {"queue.json", "metadata.json"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &hub{t: t, dir: t.TempDir(), workspace: h.workspace, agents: newAgents()}
			copyDir(t, h.dir, c.dir)
			for _, file := range gone {
				require.NoError(t, os.Remove(filepath.Join(c.dir, "sessions", b.ID(), file)))
			}
			c.open()
			t.Cleanup(c.close)
			b := c.session(b.ID())
			require.Equal(t, first, b.Log().Marks().Min)
			require.Equal(t, session.TurnIdle, b.State().Turn.State)
			last, err := b.Log().ReadBefore(ctxOf(t), 0, 2)
			require.NoError(t, err)
			events, err := last.Events()
			require.NoError(t, err)
			require.NotEmpty(t, events)
			prompt(t, b, "goes on")
			c.agents.next(t)
		})
	}
}

func TestASessionKilledRightAfterAPromptIsClosedWithoutBeingAskedFor(t *testing.T) {
	h := newDiskHub(t)
	b, _ := h.busy()
	left := t.TempDir()
	copyDir(t, h.dir, left)
	// The hub writes the status "working" to the metadata a moment later.
	name := filepath.Join(left, "sessions", b.ID(), "metadata.json")
	metadata, err := os.ReadFile(name)
	require.NoError(t, err)
	metadata = bytes.ReplaceAll(metadata, []byte(`"running"`), []byte(`"idle"`))
	require.NoError(t, os.WriteFile(name, metadata, 0o600))

	next := &hub{t: t, dir: left, workspace: h.workspace, agents: newAgents()}
	next.open()
	t.Cleanup(next.close)
	log := filepath.Join(left, "sessions", b.ID(), "events.jsonl")
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(log)
		return err == nil && bytes.Contains(data, []byte(`"hub_restart"`))
	}, patience, 5*time.Millisecond)
}

func TestASessionThatWasCutOffIsListedSoFromItsOpeningOn(t *testing.T) {
	h := newHub(t)
	b, _ := h.busy()
	for range 20 {
		next := h.copyOf(t)
		for version, open := uint64(0), false; !open; { // the bell of the open sessions rings for it
			changed := next.manager.Changed()
			var infos []list.Info
			infos, _, version = next.manager.ChangesSince(version)
			for _, info := range infos {
				open = open || next.manager.Opened(info.SessionID) != nil
			}
			if !open {
				receive(t, changed, "the opening did not ring the bell")
			}
		}
		require.Equal(t, state.StatusInterrupted, next.session(b.ID()).Info().Status)
		next.close()
	}
}
