package session_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/transcript"
)

// answered marks in a copyOf that the hub has answered the request.
const answered = "answered"

// killedBetweenSteps prepares a hub, makes a request to it, and opens a hub on the
// files that a kill -9 before each disk step of the request would leave, and on those
// after the answer. Then it calls after, with whether the request was answered. A soak
// repeats it, because steps of different goroutines come in any order.
func killedBetweenSteps(t *testing.T, prepare func(h *hub), request func(h *hub), steps []string, after func(h *hub, wasAnswered bool)) {
	for range min(rounds(1), 20) {
		killedOnce(t, prepare, request, steps, after)
	}
}

func killedOnce(t *testing.T, prepare func(h *hub), request func(h *hub), steps []string, after func(h *hub, wasAnswered bool)) {
	k := &killer{t: t}
	h := newDiskHub(t, holding, withTrash, func(_ *session.Options, s *store.Options) {
		s.FS = steppedFS{store.OS(), k.step}
	})
	k.hub = h
	prepare(h)
	k.on()
	request(h)
	k.acked(answered, 0)
	require.NoError(t, k.step("the end"))
	k.off()
	for _, step := range steps {
		require.Contains(t, k.at(), step, "no kill came before it")
	}
	for i, c := range k.copies {
		t.Run(fmt.Sprint(i, " ", c.at), func(t *testing.T) {
			next := &hub{t: t, dir: c.dir, workspace: h.workspace, agents: newAgents()}
			next.open(holding, withTrash)
			t.Cleanup(next.close)
			_, was := c.acked[answered]
			after(next, was)
		})
	}
}

func TestAForkThatWasAnsweredIsThereWhereverTheHubIsKilled(t *testing.T) {
	var from string
	var at event.Seq
	fork := func(h *hub) *session.BackgroundSession {
		made, err := h.manager.Fork(ctxOf(h.t), from, session.ForkRequest{Seq: at, Actor: person("ann"), Key: "k1"})
		require.NoError(h.t, err)
		return made
	}
	killedBetweenSteps(t,
		func(h *hub) {
			b, a := h.busy()
			require.NoError(t, a.end(promptID(0), event.StopEndTurn))
			awaitIdle(t, b)
			from, at = b.ID(), b.Log().Marks().Visible
		},
		func(h *hub) { fork(h) },
		[]string{"create events.jsonl", "sync events.jsonl", "write events.jsonl", "rename to metadata.json", "the end"},
		func(h *hub, was bool) {
			listed := func() []event.Forked { return h.session(from).Info().Forks }
			if was {
				require.Len(h.t, listed(), 1, "the fork that was answered is lost")
			}
			made := fork(h) // the client asks again
			require.Equal(h.t, []event.Forked{{SessionID: made.ID(), Seq: at}}, listed())
			require.Equal(h.t, &event.Forked{SessionID: from, Seq: at}, made.Info().ForkedFrom)
			notes := payloads[event.Note](h.t, made)
			require.Len(h.t, notes, 1, "the agent is given one account")
			require.Equal(h.t, transcript.NoteForked, notes[0].Method)
			require.Len(h.t, all(h), 2)
		})
}

func TestAnImportThatWasAnsweredIsThereWhereverTheHubIsKilled(t *testing.T) {
	source := newHub(t)
	b, a := source.busy()
	blob, err := b.Log().PutBlobFrom(ctxOf(t), "text/plain", bytes.NewReader([]byte("a large value")))
	require.NoError(t, err)
	_, err = b.Comments().Add(commentOf("c1", "why?"), false)
	require.NoError(t, err)
	require.NoError(t, source.manager.Update(ctxOf(t), b.ID(), session.Patch{Name: ptr("Given")}))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	file, lines := exported(t, b, export.Zip), string(exported(t, b, export.JSONL))
	killedBetweenSteps(t, func(*hub) {},
		func(h *hub) {
			_, made, err := h.manager.Import(ctxOf(t), bytes.NewReader(file))
			require.NoError(t, err)
			require.True(t, made)
		},
		[]string{"create events.jsonl", "sync events.jsonl", "rename to metadata.json", "rename to " + b.ID(), "the end"},
		func(h *hub, was bool) {
			found := all(h)
			if was {
				require.Len(h.t, found, 1, "the import that was answered is lost")
			}
			came, made, err := h.manager.Import(ctxOf(h.t), bytes.NewReader(file))
			require.NoError(h.t, err)
			require.Equal(h.t, len(found) == 0, made)
			require.Equal(h.t, lines, string(exported(h.t, came, export.JSONL)))
			require.Equal(h.t, state.StatusImported, came.Info().Status)
			require.Equal(h.t, "Given", came.Info().Name)
			said, _, err := came.Comments().List()
			require.NoError(h.t, err)
			require.Len(h.t, said, 1)
			there, err := came.OpenBlob(blob.SHA256)
			require.NoError(h.t, err)
			require.NoError(h.t, there.Close())
			require.Len(h.t, all(h), 1)
		})
}

func TestAnEndThatWasAnsweredIsThereWhereverTheHubIsKilled(t *testing.T) {
	var id string
	killedBetweenSteps(t,
		func(h *hub) {
			b, a := h.busy()
			require.Equal(t, queue.Queued, prompt(t, b, "q1").Outcome)
			a.die(crash)
			interruptionOf(t, b)
			id = b.ID()
		},
		func(h *hub) {
			require.NoError(t, h.session(id).EndWith(ctxOf(t), session.Ending{Reason: "done", DropQueue: true}, person("ann")))
		},
		[]string{"write events.jsonl", "sync events.jsonl", "rename to queue.json", "the end"},
		func(h *hub, was bool) {
			b := h.session(id)
			if was {
				require.Equal(h.t, state.StatusEnded, b.Info().Status, "the end that was answered is lost")
				require.Empty(h.t, b.Queue())
			}
			// A prompt is in the queue or removed, never taken.
			require.NoError(h.t, b.EndWith(ctxOf(h.t), session.Ending{Reason: "again", DropQueue: true}, person("ann")))
			require.Empty(h.t, b.Queue())
			require.Len(h.t, payloads[event.UserPrompt](h.t, b), 1)
			require.Len(h.t, payloads[event.SessionEnd](h.t, b), 1)
			settled := payloads[event.InterruptionSettled](h.t, b)
			require.Len(h.t, settled, 1)
			require.Equal(h.t, event.SettledDismissed, settled[0].Outcome)
			require.Equal(h.t, queue.Removed, prompt(h.t, b, "q1").Outcome)
			require.Empty(h.t, h.agents.started)
		})
}

// all lists the sessions of a hub.
func all(h *hub) []list.Info {
	page, err := h.manager.List(list.Options{})
	require.NoError(h.t, err)
	return page.Sessions
}

// at are the steps before which a kill came.
func (k *killer) at() []string {
	var steps []string
	for _, c := range k.copies {
		steps = append(steps, c.at)
	}
	return steps
}
