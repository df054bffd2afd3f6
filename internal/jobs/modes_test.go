package jobs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// asking is an agent that asks in the mode plan, and begins in the mode free, in which it does
// not.
func asking() settings.Agent {
	return settings.Agent{Asks: "plan", Unasked: []string{"free", "wild"}, Reports: []string{"tokens"}}
}

func TestAJobBeginsInAModeInWhichItsAgentAsks(t *testing.T) {
	order := func(mode string) jobs.Order {
		return jobs.Order{Job: event.Job{Task: "say x"}, Session: session.CreateRequest{Mode: mode, Actor: event.Actor{Name: "ann", ID: "1"}}}
	}
	for _, configured := range []string{"", "wild"} {
		agent := asking()
		agent.Begin.Mode = configured
		h := start(t, options{agent: agent})
		_, _, err := h.runner.Create(t.Context(), order("free"))
		require.ErrorIs(t, err, state.ErrInvalid)
		require.ErrorContains(t, err, "use plan")
		info, _, err := h.runner.Create(t.Context(), order(""))
		require.NoError(t, err)
		id := info.SessionID
		require.Equal(t, event.JobCompleted, h.ended(id).Status, h.log(id))
		require.Equal(t, 1, h.count(id, event.TypeMode, "mode_id", "plan"), h.log(id))
		require.Less(t, h.at(id, event.TypeMode, "mode_id", "plan"), h.at(id, event.TypeTurnStart, "", ""), "before the agent gets anything")
	}
}

func TestAModeInWhichAnAgentActsUnaskedIsSetBack(t *testing.T) {
	for name, task := range map[string]string{"at the start": "say x", "in the middle": "mode wild\nsay x"} {
		t.Run(name, func(t *testing.T) {
			h := start(t, options{agent: asking()})
			id := h.job(event.Job{Task: task}) // with no mode of its own, as an earlier build made it
			require.Equal(t, event.JobCompleted, h.ended(id).Status, h.log(id))
			require.Less(t, h.at(id, event.TypeMode, "mode_id", "plan"), h.at(id, event.TypeTurnStart, "", ""))
		})
	}
}

func TestAJobEndsWhoseAgentActsUnaskedForGood(t *testing.T) {
	for name, c := range map[string]struct {
		task   string
		locked bool
		told   int
		reason string
	}{
		"it does not take another": {"say x", true, 0, "mode free, in which it acts without asking, and it does not take plan"},
		"it goes back every time":  {"mode wild\nmode wild\nmode wild\nmode wild\nsay x", false, 1, "mode wild, in which it acts without asking, and it has been set back before"},
	} {
		t.Run(name, func(t *testing.T) {
			cast := newCast()
			cast.locked = c.locked
			h := start(t, options{agent: asking(), cast: cast})
			id := h.job(event.Job{Task: c.task})
			line := h.ended(id)
			require.Equal(t, event.JobCancelled, line.Status, h.log(id))
			require.Contains(t, line.Reason, c.reason)
			require.Len(t, cast.told, c.told)
		})
	}
}

func TestAPersonDoesNotTakeAJobOutOfItsPolicy(t *testing.T) {
	h := start(t, options{agent: asking()})
	id := h.job(event.Job{Task: "hold"})
	h.until(id, is(event.JobRunning))
	b, err := h.manager.Session(t.Context(), id)
	require.NoError(t, err)
	require.ErrorIs(t, b.SetMode(t.Context(), "wild", event.Actor{Name: "ann", ID: "1"}), state.ErrConflict)
}

func TestAJobSaysWhatItsAgentDoesNotHold(t *testing.T) {
	h := start(t, options{agent: asking()})
	caps := event.JobCaps{Tokens: 1 << 30, Cost: 5}
	unheld := func(agent string) []string {
		id := h.job(event.Job{Task: "say x", Caps: caps}, func(r *session.CreateRequest) { r.Agent = agent })
		h.ended(id)
		job, err := h.runner.Info(t.Context(), id)
		require.NoError(t, err)
		return job.Unheld
	}
	require.Equal(t, []string{"The limit cost does not hold: its agent does not report it."}, unheld("player"))
	all := unheld("other")
	require.Len(t, all, 3)
	require.Contains(t, all[0], "only its file and terminal methods")
	require.Equal(t, "The limit tokens may not hold: it is not known whether its agent reports it.", all[1])
}

func TestAJobRecordsHowLongItIsKept(t *testing.T) {
	h := start(t, options{idle: true})
	order := jobs.Order{
		Session: session.CreateRequest{Actor: event.Actor{Name: "ann", ID: "1"}},
		Job:     event.Job{Task: "say x", Retention: "a while"},
	}
	_, _, err := h.runner.Create(t.Context(), order)
	require.ErrorContains(t, err, "retention is one of 24h, 168h, forever")
	order.Job.Retention = event.KeepWeek
	info, _, err := h.runner.Create(t.Context(), order)
	require.NoError(t, err)
	require.Equal(t, event.KeepWeek, jobs.Line(h.line(info.SessionID)).Retention)
}

// at is the seq of the first event of a type whose data has a member with this value.
func (h *hub) at(id string, typ event.Type, name, value string) event.Seq {
	h.Helper()
	for _, e := range h.events(id) {
		if e.Type == typ && (name == "" || jsonOf(h.T, e.Data)[name] == value) {
			return e.Seq
		}
	}
	require.FailNow(h, "no such event", "%s %s\n%s", typ, value, h.log(id))
	return 0
}

func TestAJobBeginsWithTheOptionsThatWereAskedFor(t *testing.T) {
	cast := newCast()
	cast.optional = true
	h := start(t, options{cast: cast, agent: asking()})
	order := func(options map[string]json.RawMessage) wire.NewJob {
		return wire.NewJob{Task: "say x", Agent: "player", Options: options}
	}
	high := map[string]json.RawMessage{"effort": json.RawMessage(`"high"`)}
	id := h.order(order(high), "k1")
	require.Equal(t, event.JobCompleted, h.ended(id).Status, h.log(id))
	var set event.Seq
	for _, e := range h.events(id) {
		if e.Type == event.TypeConfig && strings.Contains(string(e.Data), `"high"`) {
			set = e.Seq
		}
	}
	require.NotZero(t, set, h.log(id))
	require.Less(t, set, h.at(id, event.TypeTurnStart, "", ""), "before the agent gets anything")
	info, err := h.runner.Info(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, high, info.Input.Options)

	again, _, err := h.runner.Retry(t.Context(), id, "", event.Actor{Name: "ann", ID: "1"})
	require.NoError(t, err)
	require.Equal(t, event.JobCompleted, h.ended(again.SessionID).Status)
	require.Equal(t, 1, strings.Count(h.log(again.SessionID), `"currentValue":"high"`), h.log(again.SessionID))

	for name, c := range map[string]struct{ id, value, says string }{
		"an unknown option": {"speed", `"high"`, `player has no option "speed": it has effort, web`},
		"an unknown value":  {"effort", `"max"`, `the option effort of player has no value "max"`},
		"the mode":          {"mode", `"free"`, "given as mode"},
		"no value":          {"web", `{}`, "strings and booleans"},
	} {
		in := order(map[string]json.RawMessage{c.id: json.RawMessage(c.value)})
		_, _, err := h.runner.Create(t.Context(), jobs.OrderOf(in, event.Actor{Name: "ann", ID: "1"}, ""))
		require.ErrorIs(t, err, state.ErrInvalid, name)
		require.ErrorContains(t, err, c.says, name)
		require.ErrorContains(t, h.runner.CheckNew(t.Context(), in, event.Actor{Name: "ann", ID: "1"}), c.says, name)
	}
}
