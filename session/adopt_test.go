package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/transcript"
)

// hadBefore is a hub whose demo agent has a session from before, with two prompts.
func hadBefore(t *testing.T) (h *hub, demo hubOption, of session.PastSession) {
	t.Helper()
	demo = withDemoAgent(t)
	before := newHub(t, demo)
	b := before.create()
	say(t, b, "one", "/plan")
	awaitIdle(t, b)
	say(t, b, "two", "/markdown")
	awaitIdle(t, b)
	before.close()
	h = newDiskHub(t, demo, func(o *session.Options, _ *store.Options) {
		o.DefaultWorkspace = before.workspace
	})
	page, err := h.manager.PastSessions(ctxOf(t), "demo", "", "")
	require.NoError(t, err)
	require.Empty(t, page.Next)
	require.Len(t, page.Sessions, 1)
	return h, demo, page.Sessions[0]
}

func adopt(t *testing.T, h *hub, id string) (b *session.BackgroundSession, made bool) {
	t.Helper()
	b, made, err := h.manager.Adopt(ctxOf(t), session.AdoptRequest{Agent: "demo", AgentSessionID: id, Actor: person("ann")})
	require.NoError(t, err)
	return b, made
}

func TestASessionThatAnAgentHasIsContinued(t *testing.T) {
	h, _, past := hadBefore(t)
	require.Equal(t, "/plan", past.Title)
	require.Empty(t, past.SessionID)
	require.Empty(t, past.Refused)
	b, made := adopt(t, h, past.AgentSessionID)
	require.True(t, made)
	require.Equal(t, &event.Adopted{AgentSessionID: past.AgentSessionID}, b.Info().Adopted)
	require.Equal(t, past.Folder, b.Info().Workspace)
	require.False(t, b.Info().Imported)
	require.Equal(t, state.StatusIdle, b.Info().Status)
	require.Equal(t, past.Title, b.Info().Name)

	requireLawful(t, b, true)
	prompts := payloads[event.UserPrompt](t, b)
	require.Equal(t, []event.Text{"/plan", "/markdown"}, []event.Text{prompts[0].Text, prompts[1].Text})
	require.Len(t, prompts, 2)
	require.Len(t, payloads[event.TurnEnd](t, b), 2)
	require.Empty(t, payloads[event.Error](t, b))
	require.NotEmpty(t, payloads[event.Plan](t, b))
	require.Empty(t, payloads[event.Usage](t, b), "usage is of another time")
	notes := payloads[event.Note](t, b)
	require.Equal(t, session.NoteAdopted, notes[len(notes)-1].Statement(), "the note ends the past")
	require.Contains(t, string(exported(t, b, export.Markdown)), "/markdown")

	// It is a session like any other: its agent resumes, and knows its past.
	before := len(events(t, b))
	say(t, b, "three", "/plan")
	awaitIdle(t, b)
	started := payloads[event.AgentStarted](t, b)
	require.Len(t, started, 2)
	require.Equal(t, event.ResumedByResume, started[1].Resumed)
	require.Equal(t, past.AgentSessionID, started[1].AgentSessionID)
	require.Len(t, payloads[event.UserPrompt](t, b), 3)
	require.Empty(t, b.State().Interruption)
	var account transcript.Account
	for _, e := range events(t, b)[:before] {
		account.Apply(e)
	}
	require.Equal(t, []transcript.AccountPrompt{{Text: "/plan"}, {Text: "/markdown"}}, account.Prompts, "what a replay is held against")
	page, err := h.manager.PastSessions(ctxOf(t), "demo", past.Folder, "")
	require.NoError(t, err)
	require.Equal(t, b.ID(), page.Sessions[0].SessionID)
}

func TestAnAgentsSessionIsContinuedOnceHoweverOftenItIsAsked(t *testing.T) {
	h, demo, past := hadBefore(t)
	var made sync.Map
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			b, _, err := h.manager.Adopt(context.Background(), session.AdoptRequest{Agent: "demo", AgentSessionID: past.AgentSessionID, Actor: person("ann")})
			if err != nil {
				t.Errorf("adopt: %v", err)
				return
			}
			made.Store(b.ID(), b)
		})
	}
	group.Wait()
	require.Len(t, h.journal.List(), 1)
	id := h.journal.List()[0].SessionID

	// After a crash, and although its agent has another session by now.
	require.NoError(t, os.Remove(filepath.Join(h.dir, "sessions", id, "metadata.json")))
	c := h.copyOf(t, demo, func(o *session.Options, _ *store.Options) { o.DefaultWorkspace = past.Folder })
	b, again := adopt(t, c, past.AgentSessionID)
	require.False(t, again)
	require.Equal(t, id, b.ID())
}

// cutJournal fails an import after some events, as a crash would.
type cutJournal struct {
	journal.Store
	after int
}

func (c *cutJournal) Import(ctx context.Context, in journal.Imported) (string, error) {
	next, n := in.Next, 0
	in.Next = func() (event.Event, error) {
		if n++; n > c.after {
			return event.Event{}, errors.New("cut")
		}
		return next()
	}
	return c.Store.Import(ctx, in)
}

func TestAPastThatIsCutOffLeavesNothing(t *testing.T) {
	h, demo, past := hadBefore(t)
	h.close()
	cut := &cutJournal{after: 5}
	st, err := store.Open(h.dir, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	cut.Store = st.Journal()
	options := session.Options{Store: cut, DefaultWorkspace: past.Folder}
	demo(&options, nil)
	m, err := session.NewManager(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close(context.Background())) })
	request := session.AdoptRequest{Agent: "demo", AgentSessionID: past.AgentSessionID, Actor: person("ann")}
	_, _, err = m.Adopt(ctxOf(t), request)
	require.ErrorContains(t, err, "cut")
	require.Empty(t, cut.List())
	cut.after = 1 << 30
	b, made, err := m.Adopt(ctxOf(t), request)
	require.NoError(t, err)
	require.True(t, made)
	require.Len(t, payloads[event.UserPrompt](t, b), 2)
}

func TestAPastTakesAtMostHalfOfTheFreeDisk(t *testing.T) {
	h, demo, past := hadBefore(t)
	c := h.copyOf(t, demo, func(o *session.Options, _ *store.Options) {
		o.DefaultWorkspace = past.Folder
		o.FreeDisk = func(string) (int64, error) { return 3000, nil }
	})
	_, _, err := c.manager.Adopt(ctxOf(t), session.AdoptRequest{Agent: "demo", AgentSessionID: past.AgentSessionID, Actor: person("ann")})
	require.ErrorIs(t, err, state.ErrTooLarge)
	require.ErrorContains(t, err, "1500 bytes, half of the free disk: free some disk first")
	require.Empty(t, c.journal.List())
}

func TestWhatAnAgentSaysOfItsSessionsIsCleanedAndCounted(t *testing.T) {
	workspace := t.TempDir()
	h := newHub(t, func(o *session.Options, _ *store.Options) {
		o.DefaultWorkspace = workspace
		o.ListPast = func(context.Context, string, string, string, string) (session.PastPage, error) {
			return session.PastPage{LeftOut: 2, Sessions: []session.PastSession{
				{AgentSessionID: "a", Folder: workspace, Title: "\x1b[31mred\r\nand \u202eback " + strings.Repeat("x", 1000)},
				{AgentSessionID: "b", Folder: "/odd\nfolder\x1b[0m"},
				{AgentSessionID: "c\n", Folder: workspace},
				{AgentSessionID: strings.Repeat("d", 501), Folder: workspace},
			}}, nil
		}
	})
	page, err := h.manager.PastSessions(ctxOf(t), h.manager.Settings().Agents[0].Name, "", "")
	require.NoError(t, err)
	require.Equal(t, 4, page.LeftOut)
	require.Len(t, page.Sessions, 2)
	for _, s := range page.Sessions {
		for _, text := range []string{s.AgentSessionID, s.Folder, s.Title, s.Refused} {
			require.True(t, state.Printable(text), "%q", text)
			require.Less(t, len(text), 1000)
		}
	}
}

// TestAnAgentThatIsAskedForItsSessionsCountsAmongTheRunning has one slot, which an agent
// at work holds.
func TestAnAgentThatIsAskedForItsSessionsCountsAmongTheRunning(t *testing.T) {
	asked := make(chan struct{}, 1)
	h := newHub(t, func(o *session.Options, _ *store.Options) {
		o.Limits.Agents = 1
		o.ListPast = func(context.Context, string, string, string, string) (session.PastPage, error) {
			asked <- struct{}{}
			return session.PastPage{}, nil
		}
	})
	agent := h.manager.Settings().Agents[0].Name
	release, err := h.manager.AgentSlot(ctxOf(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(ctxOf(t))
	cancel()
	_, err = h.manager.PastSessions(ctx, agent, "", "")
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = h.manager.Adopt(ctx, session.AdoptRequest{Agent: agent, AgentSessionID: "a", Workspace: h.workspace, Actor: person("ann")})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, asked)
	_, err = h.manager.AgentSlot(ctxOf(t))
	require.ErrorIs(t, err, state.ErrBusy)
	require.ErrorContains(t, err, "1 agents are running and at work")
	release()
	_, err = h.manager.PastSessions(ctxOf(t), agent, "", "")
	require.NoError(t, err)
	require.Len(t, asked, 1)
}

// copying is an agent that copies its own session.
type copying struct{ *acp.Agent }

func (copying) Fork(context.Context, string) (string, error) { return "copy", nil }

func TestAForkOfAContinuedSessionBeginsFromTheAgentsOwnCopy(t *testing.T) {
	_, demo, past := hadBefore(t)
	h := newDiskHub(t, demo, func(o *session.Options, _ *store.Options) {
		o.DefaultWorkspace = past.Folder
		start := o.StartAgent
		o.StartAgent = func(ctx context.Context, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
			a, err := start(ctx, spec, sink)
			if err != nil {
				return nil, err
			}
			return copying{a.(*acp.Agent)}, nil
		}
	})
	b, _ := adopt(t, h, past.AgentSessionID)
	native := func() string {
		made, err := h.manager.Fork(ctxOf(t), b.ID(), session.ForkRequest{Seq: b.Log().Marks().Visible, Actor: person("ann")})
		require.NoError(t, err)
		for _, n := range payloads[event.Note](t, made) {
			if n.Statement() == transcript.NoteForked {
				var note state.ForkNote
				require.NoError(t, json.Unmarshal(n.Raw, &note))
				return note.AgentSessionID
			}
		}
		t.Fatal("no note of the fork")
		return ""
	}
	require.Empty(t, native(), "its agent is asleep")
	say(t, b, "three", "/plan")
	awaitIdle(t, b)
	require.Equal(t, "copy", native())
}
