package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/transcript"
)

func TestAForkBeginsWithAnAccountAndLeavesTheOriginalAlone(t *testing.T) {
	h := newHub(t)
	b, _ := h.busy()
	before := exported(t, b, export.JSONL)
	at := b.Log().Marks().Visible
	request := session.ForkRequest{Seq: at, Actor: person("ann"), Key: "k1"}
	made, err := h.manager.Fork(ctxOf(t), b.ID(), request)
	require.NoError(t, err)
	again, err := h.manager.Fork(ctxOf(t), b.ID(), request)
	require.NoError(t, err)
	require.Equal(t, made.ID(), again.ID(), "the same request makes one fork")

	require.Equal(t, string(before), string(exported(t, b, export.JSONL)))
	require.Equal(t, []event.Forked{{SessionID: made.ID(), Seq: at}}, b.Info().Forks)
	require.Equal(t, &event.Forked{SessionID: b.ID(), Seq: at}, made.Info().ForkedFrom)
	require.Equal(t, b.Info().Workspace, made.Info().Workspace)

	batch, err := made.Log().ReadAfter(ctxOf(t), 0, 1<<20)
	require.NoError(t, err)
	events, err := batch.Events()
	require.NoError(t, err)
	require.Equal(t, 2, len(events))
	require.Equal(t, event.TypeNote, events[1].Type)
	var account transcript.Account
	for _, e := range events {
		account.Apply(e)
	}
	require.Contains(t, account.Text(), "You are continuing a session")

	require.Equal(t, "Fork of "+b.Info().Name, made.Info().Name)
	name := "Renamed since"
	require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Name: &name}))
	again, err = h.manager.Fork(ctxOf(t), b.ID(), request)
	require.NoError(t, err, "a resend, after the original was renamed")
	require.Equal(t, made.ID(), again.ID())

	_, err = h.manager.Fork(ctxOf(t), b.ID(), session.ForkRequest{Seq: at + 100})
	require.ErrorIs(t, err, state.ErrInvalid)
}

// A fork is on the device when it is answered: what its log says is enough to find it
// again from both sides.
func TestAForkThatWasAnsweredIsKnownFromItsLog(t *testing.T) {
	h := newDiskHub(t)
	b, _ := h.busy()
	at := b.Log().Marks().Visible
	made, err := h.manager.Fork(ctxOf(t), b.ID(), session.ForkRequest{Seq: at, Actor: person("ann"), Key: "k1"})
	require.NoError(t, err)
	require.Equal(t, made.Log().Marks().Written, made.Log().Marks().Synced, "its account may be lost")
	require.Equal(t, made.ID(), made.Info().SessionID)
	c := &hub{t: t, dir: t.TempDir(), workspace: h.workspace, agents: newAgents()}
	copyDir(t, h.dir, c.dir)
	for _, id := range []string{b.ID(), made.ID()} {
		require.NoError(t, os.Remove(filepath.Join(c.dir, "sessions", id, "metadata.json")))
	}
	c.open()
	t.Cleanup(c.close)
	require.Eventually(t, func() bool { return len(c.session(b.ID()).Info().Forks) > 0 }, patience, time.Millisecond)
	require.Equal(t, []event.Forked{{SessionID: made.ID(), Seq: at}}, c.session(b.ID()).Info().Forks)
	require.Equal(t, &event.Forked{SessionID: b.ID(), Seq: at}, c.session(made.ID()).Info().ForkedFrom)
	again, err := c.manager.Fork(ctxOf(t), b.ID(), session.ForkRequest{Seq: at, Actor: person("ann"), Key: "k1"})
	require.NoError(t, err)
	require.Equal(t, made.ID(), again.ID())

	require.NoError(t, c.manager.Delete(ctxOf(t), made.ID()))
	require.Empty(t, c.session(b.ID()).Info().Forks, "a deleted fork is still named")
}

func TestAForkIntoAnotherFolderSaysSo(t *testing.T) {
	other := t.TempDir()
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Workspaces = []string{o.DefaultWorkspace, other} })
	b, a := h.busy()
	a.die(crash)
	interruptionOf(t, b)
	require.NoError(t, os.RemoveAll(h.workspace))
	made, err := h.manager.Fork(ctxOf(t), b.ID(), session.ForkRequest{Seq: b.Info().MaxSeq, Workspace: other, Actor: person("ann")})
	require.NoError(t, err)
	require.Contains(t, string(noted(t, made, transcript.NoteForked)[0].Text), "The work continues in another folder: it was "+b.Info().Workspace)
}

// TestAForkBeginsFromTheAgentsOwnCopy forks sessions of an agent that copies its own: it
// is asked where it knows just what the fork is to know.
func TestAForkBeginsFromTheAgentsOwnCopy(t *testing.T) {
	for name, c := range map[string]struct {
		before func(t *testing.T, h *hub, b *session.BackgroundSession, a *fakeAgent, r *session.ForkRequest)
		during func(t *testing.T, b *session.BackgroundSession) // while the agent copies
		err    error
		want   string
	}{
		"at the end": {want: "copy"},
		"it cannot":  {err: errors.New("no")},
		"before a turn": {before: func(_ *testing.T, _ *hub, _ *session.BackgroundSession, _ *fakeAgent, r *session.ForkRequest) {
			r.Seq = 2
		}},
		"in a turn": {before: func(t *testing.T, _ *hub, b *session.BackgroundSession, a *fakeAgent, r *session.ForkRequest) {
			prompt(t, b, promptID(1))
			receive(t, a.prompts, "not given")
		}},
		"by another agent": {before: func(_ *testing.T, _ *hub, _ *session.BackgroundSession, _ *fakeAgent, r *session.ForkRequest) {
			r.Agent = "other"
		}},
		"in another folder": {before: func(t *testing.T, h *hub, _ *session.BackgroundSession, _ *fakeAgent, r *session.ForkRequest) {
			r.Workspace = filepath.Join(h.workspace, "below")
			require.NoError(t, os.Mkdir(r.Workspace, 0o755))
		}},
		"its agent is gone": {before: func(t *testing.T, _ *hub, b *session.BackgroundSession, a *fakeAgent, _ *session.ForkRequest) {
			a.die(event.AgentExit{Reason: "exited"})
			await(t, b, "gone", func(s session.State) bool { return s.Agent.Status == session.AgentAbsent })
		}},
		"a turn begins meanwhile": {during: func(t *testing.T, b *session.BackgroundSession) { prompt(t, b, promptID(1)) }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, func(o *session.Options, _ *store.Options) {
				o.Agents = []settings.Agent{{Name: "fake"}, {Name: "other"}}
			})
			h.agents.resumable = true
			b, a := h.busy()
			require.NoError(t, a.end(promptID(0), event.StopEndTurn))
			awaitIdle(t, b)
			h.agents.onFork = func(_ *fakeAgent, folder string) (string, error) {
				require.Equal(t, h.workspace, folder)
				if c.during != nil {
					c.during(t, b)
				}
				return "copy", c.err
			}
			r := session.ForkRequest{Seq: b.Log().Marks().Visible, Actor: person("ann"), Key: "k"}
			if c.before != nil {
				c.before(t, h, b, a, &r)
			}
			made, err := h.manager.Fork(ctxOf(t), b.ID(), r)
			require.NoError(t, err)
			h.agents.onFork = func(*fakeAgent, string) (string, error) { t.Error("asked again"); return "", nil }
			_, err = h.manager.Fork(ctxOf(t), b.ID(), r)
			require.NoError(t, err, "a resend")
			prompt(t, made, promptID(7))
			for {
				if forked := receive(t, h.agents.started, "not started"); forked.spec.SessionID == made.ID() {
					require.Equal(t, c.want, forked.spec.AgentSessionID)
					require.True(t, forked.spec.ContextLost, "an agent that cannot resume it gets the summary")
					break
				}
			}
		})
	}
}
