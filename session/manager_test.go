package session_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

func TestAWorkspaceMustBeUnderOneOfTheRoots(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Workspaces = []string{root}; o.DefaultWorkspace = root })
	mk := func(name string) string {
		dir := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		return dir
	}
	good := mk("project/deep")
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "escape")))
	require.NoError(t, os.Symlink(good, filepath.Join(root, "inside")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "project", "AGENTS.md"), nil, 0o600))

	for dir, want := range map[string]error{
		"relative/path":                        state.ErrInvalid,
		filepath.Join(root, "missing"):         state.ErrInvalid,
		filepath.Join(root, "file"):            state.ErrInvalid,
		root + "\x00":                          state.ErrInvalid,
		outside:                                state.ErrForbidden,
		filepath.Join(root, "escape"):          state.ErrForbidden,
		root + "/../" + filepath.Base(outside): state.ErrForbidden,
		root + "-sibling":                      state.ErrForbidden,
		"/":                                    state.ErrForbidden,
	} {
		_, err := h.manager.Create(ctxOf(t), session.CreateRequest{Workspace: dir})
		require.ErrorIs(t, err, want, dir)
		if want == state.ErrForbidden {
			require.ErrorContains(t, err, root, "the error lacks the allowed root")
		}
	}
	for _, dir := range []string{good, filepath.Join(root, "inside")} {
		b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Workspace: dir, Actor: person("ann"), Name: "Mine"})
		require.NoError(t, err, dir)
		start := payloads[event.SessionStart](t, b)[0]
		require.Equal(t, good, start.Workspace, "the workspace must be resolved: a symlink can change later")
		require.Equal(t, filepath.Join(root, "project"), start.ProjectRoot)
		require.Equal(t, "ann", start.CreatedBy)
		require.Equal(t, "id-ann", start.CreatedByID)
		require.Equal(t, "Mine", b.Info().Name)
	}
	_, err := h.manager.Create(ctxOf(t), session.CreateRequest{Agent: "nobody"})
	require.ErrorIs(t, err, state.ErrInvalid)
	_, err = h.manager.Create(ctxOf(t), session.CreateRequest{Name: "a\x00b"})
	require.ErrorIs(t, err, state.ErrInvalid)
}

func TestTheListIsNewestFirstInPagesAndFilters(t *testing.T) {
	h := newHub(t)
	var ids []string
	names := []string{"alpha", "bravo", "charlie", "delta", "echo"}
	for n := range 5 {
		b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Name: names[n]})
		require.NoError(t, err)
		ids = append(ids, b.ID())
		time.Sleep(2 * time.Millisecond) // so that their times differ
	}
	yes := true
	require.NoError(t, h.manager.Update(ctxOf(t), ids[0], session.Patch{Archived: &yes}))
	require.NoError(t, h.manager.Update(ctxOf(t), ids[1], session.Patch{Pinned: &yes}))
	listed := func(o list.Options) []string {
		t.Helper()
		var names []string
		for {
			page, err := h.manager.List(o)
			require.NoError(t, err)
			for _, s := range page.Sessions {
				names = append(names, s.Name)
			}
			if o.Cursor = page.NextCursor; o.Cursor == "" {
				return names
			}
		}
	}
	all := []string{"echo", "delta", "charlie", "bravo"}
	require.Equal(t, all, listed(list.Options{}))
	require.Equal(t, all, listed(list.Options{Limit: 1}))
	require.Equal(t, all, listed(list.Options{Limit: 3, Status: "idle"}))
	require.Equal(t, append(all, "alpha"), listed(list.Options{Status: "all", Limit: 2}))
	require.Equal(t, []string{"alpha"}, listed(list.Options{Status: "archived"}))
	require.Equal(t, []string{"charlie"}, listed(list.Options{Query: "LIE char"}))
	require.Empty(t, listed(list.Options{Status: "running"}))
	require.Empty(t, listed(list.Options{Project: "/elsewhere"}))
	require.Len(t, listed(list.Options{Project: h.workspace}), 4)
	_, err := h.manager.List(list.Options{Cursor: "?"})
	require.ErrorIs(t, err, state.ErrInvalid)
}

func TestListNewsTellsTheLatestOfEachSession(t *testing.T) {
	h := newHub(t)
	_, _, v := h.manager.ChangesSince(0)
	b, a := h.busy()
	other := h.create()
	follow := func(ok func(changed []list.Info, gone []string) bool) {
		t.Helper()
		deadline := time.After(patience)
		for {
			bell := h.manager.Changed()
			changed, gone, now := h.manager.ChangesSince(v)
			if ok(changed, gone) {
				v = now
				return
			}
			select {
			case <-bell:
			case <-deadline:
				require.FailNow(t, "the news never came", "%v %v", changed, gone)
			}
		}
	}
	statusOf := func(want state.Status) func([]list.Info, []string) bool {
		return func(changed []list.Info, _ []string) bool {
			return slices.ContainsFunc(changed, func(i list.Info) bool { return i.SessionID == b.ID() && i.Status == want })
		}
	}
	follow(statusOf(state.StatusRunning))
	require.NoError(t, a.say(question("q1")))
	follow(statusOf(state.StatusNeedsYou))
	_, err := answer(b, "q1", "yes", "tab")
	require.NoError(t, err)
	require.NoError(t, a.say(message("All done")))
	follow(func(changed []list.Info, _ []string) bool {
		return slices.ContainsFunc(changed, func(i list.Info) bool { return i.LastLine == "All done" })
	})
	require.NoError(t, h.manager.Delete(ctxOf(t), other.ID()))
	follow(func(_ []list.Info, gone []string) bool { return slices.Contains(gone, other.ID()) })
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	follow(statusOf(state.StatusIdle))
}

func TestADeletedSessionIsGoneWithItsAgent(t *testing.T) {
	h := newDiskHub(t)
	b, a := h.busy()
	dir, err := h.store.SessionDir(b.ID())
	require.NoError(t, err)
	require.NoError(t, h.manager.Delete(ctxOf(t), b.ID()))
	<-a.over
	require.NoDirExists(t, dir)
	_, err = h.manager.Session(ctxOf(t), b.ID())
	require.ErrorIs(t, err, state.ErrNotFound)
	_, err = b.Prompt(ctxOf(t), ask("p"))
	require.ErrorIs(t, err, state.ErrUnavailable)
	select {
	case <-b.StateChanged():
	default:
		require.Fail(t, "the state's bell never rang")
	}
}

func TestASessionIsOpenedOnceForAllWhoAsk(t *testing.T) {
	h := newHub(t)
	id := h.create().ID()
	h.close()
	h.open()
	var group sync.WaitGroup
	got := make([]*session.BackgroundSession, 20)
	for n := range got {
		group.Go(func() { got[n], _ = h.manager.Session(context.Background(), id) })
	}
	group.Wait()
	for _, b := range got {
		require.NotNil(t, b)
		require.Same(t, got[0], b)
	}
}

func TestUnusedSessionsMakeRoomForNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, func(o *session.Options, _ *store.Options) { o.Limits.Sessions = 3 })
		busy, a := h.busy()
		idle := h.create()
		watched := h.create()
		watched.SetPresence("tab", state.Presence{Activity: state.Viewing})
		_, err := h.manager.Create(t.Context(), session.CreateRequest{})
		require.ErrorIs(t, err, state.ErrBusy, "a session in use was closed")
		time.Sleep(2 * time.Minute)
		h.create()
		_, err = idle.Prompt(t.Context(), ask("p"))
		require.ErrorIs(t, err, state.ErrUnavailable)
		require.NotNil(t, h.session(idle.ID()), "a session that made room cannot be opened again")
		require.NoError(t, a.say(message("still at work")))
		require.Equal(t, session.TurnPrompting, busy.State().Turn.State)
		require.Len(t, watched.State().Observers, 1)
	})
}

func TestPresenceIsPartOfTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		b := h.create()
		b.SetPresence("tab", state.Presence{Actor: "ann", Activity: state.Viewing, Seq: 1})
		b.SetPresence("phone", state.Presence{Actor: "ann", Activity: state.Typing})
		s := await(t, b, "both", func(s session.State) bool { return len(s.Observers) == 2 })
		require.Equal(t, []state.Observer{
			{ClientID: "phone", Presence: state.Presence{Actor: "ann", Activity: state.Typing}},
			{ClientID: "tab", Presence: state.Presence{Actor: "ann", Activity: state.Viewing, Seq: 1}},
		}, s.Observers)

		// Progress of a tool must not publish a state each time.
		rings, began := 0, time.Now()
		for n := range 1000 {
			changed := b.StateChanged()
			b.SetPresence("tab", state.Presence{Actor: "ann", Activity: state.Viewing, Seq: event.Seq(n + 2)})
			time.Sleep(10 * time.Millisecond)
			select {
			case <-changed:
				rings++
			default:
			}
		}
		require.LessOrEqual(t, rings, int(time.Since(began)/time.Second)+1)
		require.GreaterOrEqual(t, rings, 5, "progress was never published")
		b.RemovePresence("phone")
		await(t, b, "one", func(s session.State) bool { return len(s.Observers) == 1 && s.Observers[0].Seq == 1001 })
	})
}

func TestMetadataFollowsTheTurn(t *testing.T) {
	h := newDiskHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(toolCall("t1", event.ToolInProgress), question("q1"), event.Mode{ModeID: "plan"}))
	require.Eventually(t, func() bool { return b.Log().Metadata().Status == "needs_you" }, patience, tick)
	m := b.Log().Metadata()
	require.Equal(t, "plan", m.Mode)
	require.Equal(t, "fake-"+b.ID(), m.AgentSessionID)
	require.NoError(t, a.say(toolUpdate("t1", event.ToolCompleted), toolUpdate("call-q1", event.ToolCompleted)))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)

	dir, err := h.store.SessionDir(b.ID())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(filepath.Join(dir, "metadata.json"))
		var onDisk journal.Metadata
		return err == nil && json.Unmarshal(data, &onDisk) == nil && onDisk.Status == "idle"
	}, patience, tick, "metadata on the device does not follow the end of the turn")
}

// TestMetadataIsOnTheDeviceWithTheEndOfATurn checks before time passes: the log's
// periodic sync would come too late.
func TestMetadataIsOnTheDeviceWithTheEndOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDiskHub(t)
		b, a := h.busy()
		require.NoError(t, a.say(message("Done.")))
		dir, err := h.store.SessionDir(b.ID())
		require.NoError(t, err)
		ended := time.Now()
		require.NoError(t, a.end(promptID(0), event.StopEndTurn))
		synctest.Wait()
		require.Equal(t, ended, time.Now())
		data, err := os.ReadFile(filepath.Join(dir, "metadata.json"))
		require.NoError(t, err)
		var onDisk journal.Metadata
		require.NoError(t, json.Unmarshal(data, &onDisk))
		require.Equal(t, "idle", onDisk.Status)
		require.Equal(t, b.Log().Marks().Written, onDisk.MaxSeq)
		require.Equal(t, b.Log().Marks().Written, b.Log().Marks().Synced)
	})
}

func TestAManagerNeedsWhatItNeeds(t *testing.T) {
	_, err := session.NewManager(session.Options{})
	require.Error(t, err)
	h := newHub(t)
	require.Error(t, h.manager.Configure(settings.Hub{}))
	require.Equal(t, "fake", h.manager.Settings().Agents[0].Name)
	require.NoError(t, h.manager.Close(ctxOf(t)))
	_, err = h.manager.Create(ctxOf(t), session.CreateRequest{})
	require.Error(t, err)
	_, err = h.manager.Session(ctxOf(t), "20260101-000000-abcdefgh")
	require.ErrorIs(t, err, state.ErrUnavailable)
}

func TestTypingEndsWhenItIsNotSaidAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		b := h.create()
		typing := state.Presence{Actor: "ann", Activity: state.Typing, Seq: 1}
		activity := func() state.Activity {
			synctest.Wait()
			return b.State().Observers[0].Activity
		}
		b.SetPresence("tab", typing)
		time.Sleep(9 * time.Second)
		b.SetPresence("tab", typing)
		time.Sleep(9 * time.Second)
		require.Equal(t, state.Typing, activity(), "another typing must extend it")
		typing.Seq++ // an ack
		b.SetPresence("tab", typing)
		time.Sleep(2 * time.Second)
		require.Equal(t, state.Viewing, activity(), "an ack must not extend typing")
		b.SetPresence("tab", state.Presence{Actor: "ann", Activity: state.Typing, Seq: 2})
		require.Equal(t, state.Typing, activity())
	})
}
