package session_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/space"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

const month = 30 * 24 * time.Hour

// aheadOf is an option whose clock is ahead of time.
func aheadOf(ahead *atomic.Int64) hubOption {
	return func(o *session.Options, _ *store.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}
}

// everyKind makes a session of each kind that a clean-up must leave, and ended ones.
func everyKind(h *hub, ended int) (goes []string, stays map[string]space.Why) {
	stays = map[string]space.Why{}
	for range ended {
		b := h.create()
		require.NoError(h.t, b.End(ctxOf(h.t), "done", person("ann")))
		goes = append(goes, b.ID())
	}
	keep := func(why space.Why, change func(b *session.BackgroundSession)) {
		b := h.create()
		if change != nil {
			change(b)
		}
		stays[b.ID()] = why
	}
	yes := true
	end := func(b *session.BackgroundSession) { require.NoError(h.t, b.End(ctxOf(h.t), "done", person("ann"))) }
	keep("", nil) // idle, so it is active
	keep(space.Pinned, func(b *session.BackgroundSession) {
		end(b)
		require.NoError(h.t, h.manager.Update(ctxOf(h.t), b.ID(), session.Patch{Pinned: &yes}))
	})
	keep(space.Commented, func(b *session.BackgroundSession) {
		end(b)
		_, err := b.Comments().Add(state.Comment{CommentID: "c1", FromSeq: 1, Text: "why?", By: "ann"}, false)
		require.NoError(h.t, err)
	})
	keep(space.Waiting, func(b *session.BackgroundSession) {
		later := time.Now().Add(100 * month)
		_, err := b.Prompt(ctxOf(h.t), session.PromptRequest{PromptID: "later", Text: "later", ScheduledAt: &later, Actor: person("ann")})
		require.NoError(h.t, err)
	})
	keep(space.Resumable, func(b *session.BackgroundSession) { pause(h.t, b); paused(h.t, b) })
	running, _ := h.busy()
	stays[running.ID()] = space.Running
	return goes, stays
}

func idsIn(c session.Cleaned) (ids []string) {
	for _, one := range c.Sessions {
		ids = append(ids, one.SessionID)
	}
	slices.Sort(ids)
	return ids
}

func TestACleanUpTakesWhatItsDryRunListsAndLeavesWhatPeopleNeed(t *testing.T) {
	var ahead atomic.Int64
	h := newHub(t, withTrash, holding, aheadOf(&ahead))
	goes, stays := everyKind(h, 3)
	slices.Sort(goes)
	clean := func(c space.Choice, dry bool) session.Cleaned {
		done, err := h.manager.Clean(ctxOf(t), c, dry, person("ann"))
		require.NoError(t, err)
		return done
	}
	all := []state.Lifecycle{state.LifecycleCompleted, state.LifecycleFailed, state.LifecycleExpired}
	require.Empty(t, clean(space.Choice{OlderThan: month, Lifecycles: all}, true).Sessions, "they are new")
	ahead.Store(int64(2 * month))
	require.Empty(t, clean(space.Choice{OlderThan: month, Lifecycles: []state.Lifecycle{state.LifecycleFailed}}, true).Sessions)
	require.Empty(t, clean(space.Choice{OlderThan: month, Lifecycles: all, Project: "/elsewhere"}, true).Sessions)
	// Of every lifecycle: nothing but its kind speaks for one.
	every := []state.Lifecycle{state.LifecycleActive, state.LifecyclePaused, state.LifecycleCompleted, state.LifecycleFailed, state.LifecycleExpired}
	dry := clean(space.Choice{OlderThan: month, Lifecycles: every}, true)
	for id, why := range stays {
		if why == "" {
			require.Contains(t, idsIn(dry), id)
		} else {
			require.NotContains(t, idsIn(dry), id, why)
		}
	}
	require.Equal(t, map[space.Why]int{space.Pinned: 1, space.Commented: 1, space.Waiting: 1, space.Resumable: 1, space.Running: 1}, dry.Stayed)

	c := space.Choice{OlderThan: month, Lifecycles: all}
	dry = clean(c, true)
	require.Equal(t, goes, idsIn(dry))
	require.Empty(t, inTrash(h), "a dry run puts nothing away")
	require.Equal(t, goes, idsIn(clean(c, false)))
	require.ElementsMatch(t, goes, inTrash(h))
	require.Empty(t, clean(c, false).Sessions, "again does nothing")
	for id := range stays {
		require.Contains(t, listedIDs(h), id)
	}
	require.NoError(t, h.manager.Restore(ctxOf(t), goes[0], person("ann")))
	restored := h.session(goes[0])
	require.Equal(t, "Restored from the trash by ann", string(payloads[event.Note](t, restored)[0].Text))

	// A session that is named goes. An id of no session stops the whole request.
	pinned := idOf(stays, space.Pinned)
	_, err := h.manager.Clean(ctxOf(t), space.Choice{IDs: []string{pinned, "20260221-140307-9f3a11c0"}}, false, person("ann"))
	require.ErrorIs(t, err, state.ErrNotFound)
	require.Contains(t, listedIDs(h), pinned)
	require.Equal(t, []string{pinned}, idsIn(clean(space.Choice{IDs: []string{pinned}}, false)))
	for _, wrong := range []space.Choice{{OlderThan: -1, Lifecycles: all}, {}, {Lifecycles: []state.Lifecycle{"gone"}}, {Lifecycles: []state.Lifecycle{""}}} {
		_, err := h.manager.Clean(ctxOf(t), wrong, true, person("ann"))
		require.ErrorIs(t, err, state.ErrInvalid)
		require.NotEmpty(t, state.FieldOf(err))
	}
}

func idOf(all map[string]space.Why, why space.Why) string {
	for id, w := range all {
		if w == why {
			return id
		}
	}
	return ""
}

func TestACleanUpThatIsKilledLeavesEachSessionWholeInOnePlace(t *testing.T) {
	var goes []string
	var stays map[string]space.Why
	begin := func(h *hub) {
		pinned, yes := h.create(), true
		require.NoError(h.t, pinned.End(ctxOf(h.t), "done", person("ann")))
		require.NoError(h.t, h.manager.Update(ctxOf(h.t), pinned.ID(), session.Patch{Pinned: &yes}))
		ended := h.create()
		require.NoError(h.t, ended.End(ctxOf(h.t), "done", person("ann")))
		goes, stays = []string{ended.ID()}, map[string]space.Why{pinned.ID(): space.Pinned}
	}
	request := func(h *hub) {
		done, err := h.manager.Clean(ctxOf(h.t), space.Choice{Lifecycles: []state.Lifecycle{state.LifecycleCompleted}}, false, person("ann"))
		require.NoError(h.t, err)
		require.Len(h.t, done.Sessions, len(goes))
	}
	killedBetweenSteps(t, begin, request, []string{"mkdir trash", "the end"}, func(h *hub, was bool) {
		deleted := inTrash(h)
		if was {
			require.ElementsMatch(h.t, goes, deleted)
		}
		for id := range stays {
			require.NotContains(h.t, deleted, id)
		}
		for _, id := range deleted {
			require.Contains(h.t, goes, id)
			require.NoError(h.t, h.manager.Restore(ctxOf(h.t), id, person("ann")))
		}
		for _, id := range goes {
			require.Len(h.t, payloads[event.SessionEnd](h.t, h.session(id)), 1)
		}
	})
}

// The hub cleans by itself where the owner says so, once in an interval.
func TestTheHubCleansByItselfOnlyWhereTheOwnerSaysSo(t *testing.T) {
	var ahead atomic.Int64
	clean := settings.Clean{Every: 7 * 24 * time.Hour, After: month, Lifecycles: []state.Lifecycle{state.LifecycleCompleted}}
	set := func(o *session.Options, _ *store.Options) { o.Space.Clean, o.SweepEvery = clean, time.Millisecond }
	h := newHub(t, withTrash, holding, aheadOf(&ahead), set)
	goes, stays := everyKind(h, 1)
	ahead.Store(int64(2 * month))
	saved := func() string {
		data, _ := h.journal.Derived().Read("sizes.json")
		return string(data)
	}
	for range 2 { // the second look is whole
		b := h.create()
		require.Eventually(t, func() bool { return strings.Contains(saved(), b.ID()) }, patience, time.Millisecond)
	}
	require.Contains(t, listedIDs(h), goes[0])
	clean.Enabled = true
	h.close()
	h.open(withTrash, holding, aheadOf(&ahead), set)
	require.Eventually(t, func() bool { return !slices.Contains(listedIDs(h), goes[0]) }, patience, time.Millisecond)
	for id := range stays {
		require.Contains(t, listedIDs(h), id)
	}
}

func TestTheStorageReportAddsUpWhatSessionsTakeAndWarnsOfTheQuota(t *testing.T) {
	h := newHub(t, withTrash, holding, func(o *session.Options, _ *store.Options) { o.Space.Quota, o.Space.WarnAt = 1, 0.8 })
	b, a := h.busy()
	require.NoError(t, a.say(message("An answer.")))
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	awaitIdle(t, b)
	gone := h.create()
	require.NoError(t, h.manager.Trash(ctxOf(t), gone.ID(), person("ann")))
	r, err := h.manager.Storage(ctxOf(t))
	require.NoError(t, err)
	require.Equal(t, 1, r.Sessions)
	require.Equal(t, 1, r.Active)
	require.Zero(t, r.Unmeasured)
	require.Equal(t, 1, r.Trash)
	require.Positive(t, r.TrashBytes)
	sizes, err := h.journal.Sizes(b.ID())
	require.NoError(t, err)
	require.Equal(t, sizes, r.Bytes)
	require.Equal(t, sizes.Total(), r.Average)
	require.Equal(t, sizes.Total(), r.Weeks[len(r.Weeks)-1].Bytes)
	require.Equal(t, sizes.Total(), r.Projects[0].Bytes)
	require.Equal(t, b.ID(), r.Largest[0].SessionID)
	require.Equal(t, r.Used(), r.Bytes.Total()+r.TrashBytes)
	require.Contains(t, r.Warning(), "storage.quota_mib")
	require.Equal(t, r.Warning(), h.manager.SpaceWarning())
	require.False(t, r.Full.IsZero(), "it is reached now")
}

// A comment that was acknowledged while a clean-up ran keeps its session, also where the
// clean-up deletes at once.
func TestACleanUpLeavesWhatWasCommentedMeanwhile(t *testing.T) {
	for _, kept := range []time.Duration{0, 7 * 24 * time.Hour} {
		h := newDiskHub(t, func(o *session.Options, _ *store.Options) { o.TrashFor = kept })
		var ids []string
		for range 40 {
			b := h.create()
			require.NoError(t, b.End(ctxOf(t), "done", person("ann")))
			ids = append(ids, b.ID())
		}
		commented := make(chan []string)
		go func() { // ends with the loop
			var done []string
			for _, id := range slices.Backward(ids) {
				b, err := h.manager.Session(ctxOf(t), id)
				if err != nil {
					continue // it was put away before
				}
				if _, err := b.Comments().Add(state.Comment{CommentID: "c", FromSeq: 1, Text: "keep this", By: "ann"}, false); err == nil {
					done = append(done, id)
				}
			}
			commented <- done
		}()
		cleaned, err := h.manager.Clean(ctxOf(t), space.Choice{OlderThan: 0, Lifecycles: []state.Lifecycle{state.LifecycleCompleted}}, false, person("ann"))
		require.NoError(t, err)
		stayed := <-commented
		for _, id := range stayed {
			_, err := h.manager.Session(ctxOf(t), id)
			require.NoError(t, err, "%s was commented, and is gone", id)
		}
		require.Len(t, cleaned.Sessions, len(ids)-len(stayed))
		require.Equal(t, len(stayed), cleaned.Stayed[space.Commented], "also those that its second look left")
	}
}

// A dry run says how much it is about, also of sessions that nobody measured.
func TestADryRunMeasures(t *testing.T) {
	h := newDiskHub(t, withTrash)
	b := h.create()
	require.NoError(t, b.End(ctxOf(t), "done", person("ann")))
	c, err := h.manager.Clean(ctxOf(t), space.Choice{IDs: []string{b.ID()}}, true, person("ann"))
	require.NoError(t, err)
	require.Len(t, c.Sessions, 1)
	require.Positive(t, c.Sessions[0].Total())
}

func TestACleanUpMeasuresFirstWhatItIsAbout(t *testing.T) {
	for n := range 4 {
		var order, ids []string
		h := newDiskHub(t, withTrash, func(o *session.Options, _ *store.Options) {
			o.Store = &wrappedStore{
				around:  func(replace func() error) error { return replace() },
				measure: func(id string) { order = append(order, id) },
			}
		})
		for range 4 {
			ids = append(ids, h.create().ID())
		}
		_, err := h.manager.Clean(ctxOf(t), space.Choice{IDs: ids[n : n+1]}, true, person("ann"))
		require.NoError(t, err)
		require.ElementsMatch(t, ids, order)
		require.Equal(t, ids[n], order[0])
	}
}

// A list by size measures the sessions without a size.
func TestTheListBySizeMeasures(t *testing.T) {
	h := newDiskHub(t, withTrash)
	var largest []string
	for n := range 6 {
		b := h.create()
		require.NoError(t, b.End(ctxOf(t), strings.Repeat("done ", 1+30*n), person("ann")))
		largest = slices.Insert(largest, 0, b.ID())
	}
	page, err := h.manager.List(list.Options{Sort: list.BySize})
	require.NoError(t, err)
	var got []string
	for _, info := range page.Sessions {
		got = append(got, info.SessionID)
	}
	require.Equal(t, largest, got)
}

// A restore that fails shields no session from a clean-up.
func TestAFailedRestoreShieldsNothing(t *testing.T) {
	h := newDiskHub(t, withTrash)
	b := h.create()
	require.NoError(t, b.End(ctxOf(t), "done", person("ann")))
	require.Error(t, h.manager.Restore(ctxOf(t), b.ID(), person("ann")))
	c, err := h.manager.Clean(ctxOf(t), space.Choice{Lifecycles: []state.Lifecycle{state.LifecycleCompleted}}, true, person("ann"))
	require.NoError(t, err)
	require.Len(t, c.Sessions, 1)
}
