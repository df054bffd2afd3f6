package jobs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

var ann = event.Actor{Name: "ann", ID: "1"}

// attempts makes a job with attempts and returns the ids of all, the first one first.
func (h *hub) attempts(in wire.NewJob, key string) []string {
	h.Helper()
	in.Workspace = h.folder
	in.Policy = anything()
	info, _, err := h.runner.Create(h.Context(), jobs.OrderOf(in, ann, key))
	require.NoError(h, err)
	page, err := h.runner.List("", list.Options{AttemptsOf: info.SessionID})
	require.NoError(h, err)
	ids := []string{}
	for _, one := range page.Sessions {
		if one.SessionID == info.SessionID {
			require.Empty(h, one.Job.AttemptOf)
		} else {
			require.Equal(h, info.SessionID, one.Job.AttemptOf)
			ids = append(ids, one.SessionID)
		}
		require.Equal(h, in.Attempts, one.Job.Attempts)
	}
	slices.Sort(ids)
	return append([]string{info.SessionID}, ids...)
}

func (h *hub) copies() (sessions []string) {
	h.Helper()
	copies, err := h.manager.Worktrees(h.Context())
	require.NoError(h, err)
	for _, c := range copies {
		for _, u := range c.Sessions {
			sessions = append(sessions, u.SessionID)
		}
	}
	slices.Sort(sessions)
	return sessions
}

func TestAttemptsWorkInCopiesOfTheirOwnAndOneIsKept(t *testing.T) {
	o := options{Settings: jobs.Settings{AtOnce: 4}}
	o.inRepository(t)
	h := start(t, o)
	ids := h.attempts(wire.NewJob{Task: "edit a.txt\nsay done", Attempts: 3, Agents: []string{"player", "other"}}, "")
	require.Len(t, ids, 3)
	var agents, branches []string
	for _, id := range ids {
		require.Equal(t, event.JobCompleted, h.ended(id).Status, h.log(id))
		info, err := h.runner.Info(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, []string{"a.txt"}, info.ChangedFiles)
		agents, branches = append(agents, info.Agent), append(branches, info.Branch)
	}
	slices.Sort(agents)
	slices.Sort(branches)
	require.Equal(t, []string{"other", "player", "player"}, agents)
	require.Len(t, slices.Compact(branches), 3)
	require.ElementsMatch(t, ids, h.copies())

	kept := ids[1]
	for range 2 { // a repeated call finds it done
		ending, err := h.runner.DiscardOthers(t.Context(), kept, ann)
		require.NoError(t, err)
		require.Empty(t, ending)
		require.Equal(t, []string{kept}, h.copies())
	}
}

// TestAttemptsThatAreAtWorkAreCancelledFirst discards the others of one of three, of which
// one is at work and one was discarded before the call was cut off.
func TestAttemptsThatAreAtWorkAreCancelledFirst(t *testing.T) {
	o := options{Settings: jobs.Settings{AtOnce: 4}}
	o.inRepository(t)
	h := start(t, o)
	ids := h.attempts(wire.NewJob{Task: "hold", Attempts: 4}, "")
	for _, id := range ids {
		h.given(id)
	}
	for _, id := range ids[:2] {
		require.NoError(t, h.runner.Cancel(t.Context(), id, ann))
		h.ended(id)
	}
	require.NoError(t, h.manager.DiscardCopy(t.Context(), ids[1], []string{"sessions", "uncommitted", "commits"}, ann))
	for {
		ending, err := h.runner.DiscardOthers(t.Context(), ids[0], ann)
		require.NoError(t, err)
		if len(ending) == 0 {
			break
		}
		for _, one := range ending {
			require.Contains(t, ids[2:], one.SessionID)
			h.ended(one.SessionID)
		}
	}
	require.Equal(t, ids[:1], h.copies())
	for _, id := range ids {
		require.Equal(t, event.JobCancelled, h.line(id).Job.Status)
	}
}

func TestAttemptsThatWaitAreCancelledAndLeaveNothing(t *testing.T) {
	var o options
	o.inRepository(t)
	o.idle = true
	h := start(t, o)
	ids := h.attempts(wire.NewJob{Task: "say it", Attempts: 4}, "")
	for range 2 {
		ending, err := h.runner.DiscardOthers(t.Context(), ids[3], ann)
		require.NoError(t, err)
		require.Empty(t, ending)
	}
	for _, id := range ids[:3] {
		require.Equal(t, event.JobCancelled, h.line(id).Job.Status)
	}
	require.Equal(t, event.JobQueued, h.line(ids[3]).Job.Status)
	require.Empty(t, h.copies())
}

func TestARequestForAttemptsThatWasCutOffIsCompletedByTheNext(t *testing.T) {
	var o options
	o.inRepository(t)
	o.idle = true
	h := start(t, o)
	in := wire.NewJob{Task: "say once", Attempts: 3, Agents: []string{"player", "other", "third"}, Models: []string{"one", "two"}}
	ids := h.attempts(in, "key")
	require.Len(t, ids, 3)
	require.Equal(t, ids, h.attempts(in, "key"), "nothing is made twice")
	models := map[string]string{}
	for _, id := range ids {
		info, err := h.runner.Info(t.Context(), id)
		require.NoError(t, err)
		models[info.Agent] = info.Input.Model
	}
	require.Equal(t, map[string]string{"player": "one", "other": "two", "third": "one"}, models)
	for _, id := range ids[1:] { // as if the hub had been killed before it made them
		require.NoError(t, h.manager.Delete(t.Context(), id))
	}
	again := h.attempts(in, "key")
	require.Len(t, again, 3)
	require.Equal(t, ids[0], again[0])
	in.Attempts = 4
	_, _, err := h.runner.Create(t.Context(), jobs.OrderOf(wire.NewJob{Task: in.Task, Attempts: 4, Workspace: h.folder, Policy: anything(), Agents: in.Agents, Models: in.Models}, ann, "key"))
	require.ErrorIs(t, err, state.ErrConflict)
	require.Len(t, h.manager.Jobs(), 3)
}

func TestAttemptsThatCannotBeMadeAreRefusedAndNothingIsMade(t *testing.T) {
	var o options
	o.inRepository(t)
	o.idle = true
	h := start(t, o)
	for words, in := range map[string]wire.NewJob{
		"attempts is from 1 to 4":   {Attempts: 5},
		"attempts is from 1 to":     {Attempts: -1},
		"at most as many entries":   {Attempts: 2, Agents: []string{"player", "other", "third"}},
		"as there are attempts":     {Models: []string{"a", "b"}},
		"not both":                  {Attempts: 2, Agent: "player", Agents: []string{"other"}},
		"leave worktree: false out": {Attempts: 2, Worktree: &wire.JobPlace{Here: true}},
		"leave worktree.branch and": {Attempts: 2, Worktree: &wire.JobPlace{Branch: "b"}},
		`no agent "nobody"`:         {Attempts: 2, Agents: []string{"player", "nobody"}},
		"say what is to be done":    {Attempts: 2, Task: " "},
	} {
		in.Workspace = h.folder
		if in.Task == "" {
			in.Task = "say it"
		}
		_, _, err := h.runner.Create(t.Context(), jobs.OrderOf(in, ann, ""))
		require.ErrorIs(t, err, state.ErrInvalid, words)
		require.ErrorContains(t, err, words)
	}
	_, _, err := h.runner.Create(t.Context(), jobs.OrderOf(wire.NewJob{Task: "say", Attempts: 2, Workspace: h.folder}, ann, strings.Repeat("k", 128)))
	require.ErrorIs(t, err, state.ErrInvalid, "the keys of the others are longer")
	require.Empty(t, h.manager.Jobs())

	_, err = h.runner.List("", list.Options{AttemptsOf: "nothing"})
	require.ErrorIs(t, err, state.ErrInvalid)
	_, err = h.runner.DiscardOthers(t.Context(), h.job(event.Job{Task: "say it"}), ann)
	require.ErrorIs(t, err, state.ErrConflict)

	plain := start(t, options{idle: true})
	_, _, err = plain.runner.Create(t.Context(), jobs.OrderOf(wire.NewJob{Task: "say", Attempts: 2, Workspace: plain.folder}, ann, ""))
	require.ErrorIs(t, err, state.ErrInvalid)
	require.ErrorContains(t, err, "is in no repository: leave attempts out")
}
