package schedule_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/schedule"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// world is what outlives a hub: its disk, its jobs, and the clock on the wall.
type world struct {
	disk    []byte
	made    map[string]string // key to job
	order   []string          // keys
	status  map[string]event.JobStatus
	now     time.Time
	revoked bool
	refuse  error
	kill    int // the step before which the hub is killed; 0 is never
}

type killed struct{}

func (w *world) step() {
	if w.kill > 0 {
		if w.kill--; w.kill == 0 {
			panic(killed{})
		}
	}
}

func (w *world) Read(string) ([]byte, error) {
	if w.disk == nil {
		return nil, fs.ErrNotExist
	}
	return w.disk, nil
}

func (w *world) Replace(_ string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return err
	}
	w.step()
	w.disk = b.Bytes()
	w.step()
	return nil
}

func (w *world) SetAside(string, string) (bool, error) { panic("it is left as it is") }

func (w *world) CheckNew(context.Context, wire.NewJob, event.Actor) error { return w.refuse }

func (w *world) MadeBy(by event.Actor, key string) (string, bool) {
	id, made := w.made[by.ID+" "+key]
	return id, made
}

func (w *world) MakeOnce(_ context.Context, _ wire.NewJob, by event.Actor, key, _ string) (string, error) {
	if w.refuse != nil {
		return "", w.refuse
	}
	if id, made := w.MadeBy(by, key); made {
		return id, nil
	}
	w.step()
	id := fmt.Sprint("job", len(w.order))
	w.made[by.ID+" "+key], w.status[id] = id, event.JobCompleted
	w.order = append(w.order, key)
	w.step()
	return id, nil
}

func (w *world) StatusOf(id string) event.JobStatus { return w.status[id] }
func (w *world) Changed() <-chan struct{}           { return nil }

func (w *world) open() *schedule.Schedules {
	return schedule.Open(schedule.Options{Files: w, Jobs: w, Now: func() time.Time { return w.now }, MayRun: func(event.Actor) bool { return !w.revoked }})
}

func newWorld(now time.Time) *world {
	return &world{made: map[string]string{}, status: map[string]event.JobStatus{}, now: now}
}

func owner() event.Actor { return event.Actor{Name: "laptop", ID: "d1"} }

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func add(t *testing.T, s *schedule.Schedules, in wire.NewSchedule) string {
	t.Helper()
	in.Job.Task = "look"
	made, fresh, err := s.Add(t.Context(), in, owner(), "")
	require.NoError(t, err)
	require.True(t, fresh)
	return made.ScheduleID
}

// survive runs f on a hub, and opens the next one if it was killed.
func (w *world) survive(s *schedule.Schedules, f func(*schedule.Schedules)) (next *schedule.Schedules) {
	next = s
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(killed); !is {
				panic(r)
			}
			w.kill = 0
			next = w.open()
		}
	}()
	f(s)
	return next
}

// TestADueTimeMakesOneJobWhateverHappens kills the hub between any two steps, pauses and
// resumes, lets the machine sleep and puts the clock back.
func TestADueTimeMakesOneJobWhateverHappens(t *testing.T) {
	total := 0
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			draw, w := rand.New(rand.NewPCG(seed, 31)), newWorld(noon())
			s := w.open()
			ids := []string{add(t, s, wire.NewSchedule{Every: "10s"}), add(t, s, wire.NewSchedule{Cron: "*/2 * * * *", Zone: "Europe/Berlin", Overlap: wire.OverlapQueue})}
			noted := map[string]string{} // what each due time became, by schedule and due time
			look := func() {
				all, err := s.List()
				require.NoError(t, err)
				for _, one := range all {
					for _, o := range one.Outcomes {
						due := one.ScheduleID + "/" + o.Due.Format(time.RFC3339)
						is := string(o.Outcome) + o.JobID
						if was, before := noted[due]; before {
							require.Equal(t, was, is, "one due time, two outcomes")
						}
						noted[due] = is
					}
				}
			}
			for range 150 {
				switch n := draw.IntN(20); n {
				case 0:
					w.now = w.now.Add(-time.Duration(draw.IntN(600)) * time.Second)
				case 1:
					w.now = w.now.Add(time.Duration(draw.IntN(7200)) * time.Second)
				case 2, 3:
					id := ids[draw.IntN(2)]
					s = w.survive(s, func(s *schedule.Schedules) { s.Pause(id) })
				case 4, 5, 6, 7:
					id := ids[draw.IntN(2)]
					s = w.survive(s, func(s *schedule.Schedules) { s.Resume(id) })
				case 8:
					if n := len(w.order); n > 0 { // the newest jobs run on, or end
						w.status[fmt.Sprint("job", n-1)] = []event.JobStatus{event.JobRunning, event.JobFailed}[draw.IntN(2)]
					}
				default:
					w.now = w.now.Add(time.Duration(draw.IntN(30)) * time.Second)
				}
				if draw.IntN(3) == 0 {
					w.kill = 1 + draw.IntN(8)
				}
				s = w.survive(s, func(s *schedule.Schedules) { s.Turn(t.Context()) })
				look()
			}
			w.kill = 0
			for range 3 {
				s.Turn(t.Context())
				look()
			}
			seen := map[string]bool{}
			for i, key := range w.order {
				require.False(t, seen[key], "%s made two jobs", key)
				seen[key] = true
				require.Equal(t, "started"+fmt.Sprint("job", i), noted[key[len("schedule/"):]], key)
			}
			total += len(w.order)
		})
	}
	require.Greater(t, total, 500)
}

func due(t *testing.T, in wire.NewSchedule, from time.Time, n int) (all []string) {
	t.Helper()
	w := newWorld(from)
	s := w.open()
	id := add(t, s, in)
	for range n {
		got, err := s.Get(id)
		require.NoError(t, err)
		w.now = *got.NextAt
		all = append(all, got.NextAt.In(berlin(t)).Format("02 15:04 -07"))
		s.Turn(t.Context())
	}
	return all
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	return zone
}

// TestBothDaysOfSummerTime has what docs/jobs.md says of them.
func TestBothDaysOfSummerTime(t *testing.T) {
	spring, autumn := time.Date(2026, 3, 29, 0, 59, 0, 0, berlin(t)), time.Date(2026, 10, 25, 0, 59, 0, 0, berlin(t))
	in := func(cron string) wire.NewSchedule { return wire.NewSchedule{Cron: cron, Zone: "Europe/Berlin"} }
	require.Equal(t, []string{"29 03:30 +02", "30 02:30 +02"}, due(t, in("30 2 * * *"), spring, 2), "the time that is left out comes an hour later")
	require.Equal(t, []string{"29 01:30 +01", "29 03:30 +02", "29 04:30 +02"}, due(t, in("30 * * * *"), spring, 3))
	require.Equal(t, []string{"25 02:30 +02", "26 02:30 +01"}, due(t, in("30 2 * * *"), autumn, 2), "the time that comes twice runs once")
	require.Equal(t, []string{"25 01:30 +02", "25 02:30 +02", "25 02:30 +01", "25 03:30 +01"}, due(t, in("30 * * * *"), autumn, 4), "every hour is every hour")
	require.Equal(t, []string{"25 12:59 +01", "26 01:59 +01"}, due(t, wire.NewSchedule{Every: "13h"}, autumn, 2), "every is not a time of day")
}

// TestASleepRunsOnceAndNeverLater lets the machine sleep past many due times and the end.
func TestASleepRunsOnceAndNeverLater(t *testing.T) {
	w := newWorld(noon())
	s := w.open()
	until := noon().Add(time.Hour)
	id := add(t, s, wire.NewSchedule{Every: "10m", Until: &until})
	w.now = noon().Add(5 * time.Hour)
	for range 3 {
		s.Turn(t.Context())
	}
	require.Len(t, w.order, 1)
	got, err := s.Get(id)
	require.NoError(t, err)
	require.Equal(t, wire.ScheduleEnded, got.Status)
	_, err = s.Resume(id)
	require.ErrorIs(t, err, state.ErrConflict)
}

// TestOverlap has a job that does not end for longer than outcomes are kept.
func TestOverlap(t *testing.T) {
	for overlap, made := range map[wire.ScheduleOverlap]int{"": 2, wire.OverlapSkip: 2, wire.OverlapQueue: 3} {
		w := newWorld(noon())
		s := w.open()
		id := add(t, s, wire.NewSchedule{Every: "10s", Overlap: overlap})
		tick := func() {
			w.now = w.now.Add(10 * time.Second)
			s.Turn(t.Context())
		}
		tick()
		w.status["job0"] = event.JobRunning
		for range 12 {
			tick()
		}
		require.Len(t, w.order, 1)
		got, err := s.Get(id)
		require.NoError(t, err)
		if overlap == wire.OverlapQueue {
			require.Len(t, got.Outcomes, 1)
		} else {
			require.Len(t, got.Outcomes, 10)
			require.Equal(t, wire.RunSkipped, got.Outcomes[0].Outcome)
		}
		w.status["job0"] = event.JobCompleted
		s.Turn(t.Context()) // the one that waited
		tick()
		require.Len(t, w.order, made, overlap)
	}
}

// TestARefusedJobIsAnOutcome keeps the schedule, which tries again.
func TestARefusedJobIsAnOutcome(t *testing.T) {
	w := newWorld(noon())
	s := w.open()
	id := add(t, s, wire.NewSchedule{Every: "10s"})
	w.refuse, w.now = fmt.Errorf("%w: there is no agent x", state.ErrInvalid), noon().Add(10*time.Second)
	s.Turn(t.Context())
	w.refuse, w.now = fmt.Errorf("%w: the disk is full", state.ErrUnavailable), noon().Add(20*time.Second)
	s.Turn(t.Context())
	got, err := s.Get(id)
	require.NoError(t, err)
	require.Len(t, got.Outcomes, 1, "what fails for now is tried again")
	require.Equal(t, "there is no agent x", got.Outcomes[0].Error)
	w.refuse = nil
	s.Turn(t.Context())
	got, err = s.Get(id)
	require.NoError(t, err)
	require.Equal(t, wire.RunStarted, got.Outcomes[0].Outcome)
	require.Equal(t, noon().Add(20*time.Second), got.Outcomes[0].Due.UTC())
}

// TestTheScheduleOfARevokedCredentialDoesNotRun pauses it with a sentence.
func TestTheScheduleOfARevokedCredentialDoesNotRun(t *testing.T) {
	w := newWorld(noon())
	s := w.open()
	id := add(t, s, wire.NewSchedule{Every: "10s"})
	w.now, w.revoked = noon().Add(time.Minute), true
	s.Turn(t.Context())
	require.Empty(t, w.order)
	got, err := w.open().Get(id)
	require.NoError(t, err)
	require.Equal(t, wire.SchedulePaused, got.Status)
	require.Contains(t, got.Reason, "the credential of laptop")
	_, err = s.Resume(id)
	require.ErrorIs(t, err, state.ErrConflict)
}

// TestADamagedFileIsLeftAsItIs refuses every verb with what to do.
func TestADamagedFileIsLeftAsItIs(t *testing.T) {
	for _, text := range []string{"{", `{"format":9}`, `{"format":1,"schedules":[{"id":"a","new":{"cron":"x"}}]}`} {
		w := newWorld(noon())
		w.disk = []byte(text)
		s := w.open()
		require.Contains(t, s.Problem(), "none of them runs")
		_, _, err := s.Add(t.Context(), wire.NewSchedule{Every: "10s"}, owner(), "")
		require.ErrorIs(t, err, state.ErrUnavailable)
		_, err = s.List()
		require.ErrorIs(t, err, state.ErrUnavailable)
		require.ErrorIs(t, s.Delete("a"), state.ErrUnavailable)
		s.Run(t.Context())
		require.Equal(t, text, string(w.disk))
	}
}

// TestAWrongScheduleIsRefused says what to do.
func TestAWrongScheduleIsRefused(t *testing.T) {
	w := newWorld(noon())
	s := w.open()
	past := noon()
	for words, in := range map[string]wire.NewSchedule{
		"either cron or every": {}, "either cron": {Cron: "* * * * *", Every: "1h"}, "at least 10s": {Every: "9s"}, "duration like": {Every: "often"},
		"at most a year": {Every: "100000h"}, "five fields": {Cron: "@daily"}, "cannot be read": {Cron: "61 * * * *"}, "TZ": {Cron: "TZ=UTC 1 * * * *"},
		"would never run": {Cron: "0 0 30 2 *"}, "after now": {Every: "1h", Until: &past}, "no time zone": {Cron: "* * * * *", Zone: "Moon"},
		"belongs to cron": {Every: "1h", Zone: "Europe/Berlin"}, "skip or queue": {Every: "1h", Overlap: "both"},
	} {
		_, _, err := s.Add(t.Context(), in, owner(), "")
		require.ErrorIs(t, err, state.ErrInvalid, words)
		if words != "TZ" {
			require.ErrorContains(t, err, words)
		}
	}
	require.Nil(t, w.disk)
	for range schedule.Most {
		add(t, s, wire.NewSchedule{Every: "1h"})
	}
	_, _, err := s.Add(t.Context(), wire.NewSchedule{Every: "1h"}, owner(), "")
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "delete one first")
}

// TestAKeyMakesOneSchedule repeats a request.
func TestAKeyMakesOneSchedule(t *testing.T) {
	w := newWorld(noon())
	in := wire.NewSchedule{Every: "1h", Job: wire.NewJob{Task: "look"}}
	first, fresh, err := w.open().Add(t.Context(), in, owner(), "k")
	require.NoError(t, err)
	require.True(t, fresh)
	again, fresh, err := w.open().Add(t.Context(), in, owner(), "k")
	require.NoError(t, err)
	require.False(t, fresh)
	require.Equal(t, first.ScheduleID, again.ScheduleID)
	in.Every = "2h"
	_, _, err = w.open().Add(t.Context(), in, owner(), "k")
	require.ErrorIs(t, err, state.ErrConflict)
}
