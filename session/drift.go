package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
)

// noteSettings is the method of the notes about changed agent settings.
const noteSettings = "abide/settings"

// drift lists the differences between the agent's settings and those that it is to have,
// except those that people changed since the agent started.
func (a *agentSlot) drift() []resume.Drift {
	before := a.fold.Before
	if before == nil {
		return nil
	}
	rows := resume.Differences(*before, a.fold.Settings())
	return slices.DeleteFunc(rows, func(d resume.Drift) bool {
		chosen, is := a.chosen[d.Field]
		return is && chosen == d.Current
	})
}

// undecided is drift if a person must decide about it: what the hub may yet put back does
// not count.
func (a *agentSlot) undecided() []resume.Drift {
	rows := a.drift()
	if len(rows) == 0 || a.up() && !a.settings.over || !a.settings.putBack.NeedChoice(rows) {
		return nil
	}
	return rows
}

// agentSettings is how far the settings of the current process are put back.
type agentSettings struct {
	putBack resume.PutBack
	asking  bool // a setting is being set
	over    bool // all that can be put back is
}

// settingsRun is the part of the open turn about changed settings.
type settingsRun struct {
	drift resume.Decision // a person's
	// again means that the recorded settings were tried again on that decision.
	again bool
	// kept are the changed settings that a note has already reported as kept.
	kept []resume.Drift
	// told means that a note says that the agent asks for nothing.
	told bool
}

// resumedByPerson reports whether a person's decision to resume began the turn.
func (r *settingsRun) resumedByPerson() bool {
	return r.drift.By != event.Actor{} && r.drift.By != state.TheHub()
}

// settingsGuard gives a restarted agent the settings that were recorded, or a new one
// those that the session begins with, before the agent gets a turn.
type settingsGuard struct {
	*foldedLog
	agent   *agentSlot
	turn    *turnRun
	helpers *helpers
	ends    turnEnder
}

// watch puts the recorded settings back, one at a time, once the agent is ready.
func (g *settingsGuard) watch() {
	p := &g.agent.settings
	if !g.agent.up() || p.asking || p.over || g.fold.Open && g.turn.given() {
		return
	}
	before := g.fold.Before
	if before == nil || g.fold.Open && g.turn.drift.Choice == resume.DriftKeep {
		p.over = true
		return
	}
	rows := g.agent.drift()
	next, more := p.putBack.Next(*before, g.fold.Settings(), rows)
	if !more {
		g.putBackOver(before.Wanted, rows)
		return
	}
	row := rows[slices.IndexFunc(rows, func(d resume.Drift) bool { return d.Field == next.Field })]
	if g.unknownMode(next) {
		p.putBack.Gone(row)
		g.dirty = true
		return
	}
	g.set(next, row)
}

// unknownMode reports whether a setting is a mode that is no option and is not offered.
func (g *settingsGuard) unknownMode(s state.Setting) bool {
	m := g.fold.Mode
	return s.Field == state.FieldMode && m != nil && len(m.Modes) > 0 &&
		!slices.ContainsFunc(m.Modes, func(o event.ModeOption) bool { return o.ID == s.Value })
}

// set asks the agent to take a setting.
func (g *settingsGuard) set(s state.Setting, row resume.Drift) {
	p, proc, bound := &g.agent.settings, g.agent.proc, g.hub.settings().Limits.AgentStart
	value := s.Value
	before := *g.fold.Before
	now := g.fold.Settings().Mode
	byMode := s.Field == state.FieldMode && (s.Option == nil || g.agent.offers.modes)
	p.asking = true
	g.helpers.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		var err error
		if byMode {
			err = setMode(ctx, proc, value, now)
		} else {
			err = proc.SetConfigOption(ctx, s.Option.ID, native(before, s), state.TheHub())
		}
		g.helpers.post(func() {
			if g.agent.proc != proc {
				return
			}
			p.asking, g.dirty = false, true
			if err != nil {
				p.putBack.Refused(row, err.Error())
				return
			}
			p.putBack.Took(row)
		})
	})
}

// setMode gives an agent a mode. One that came back may be in that mode already and report
// another (Kimi: "Already in plan mode"): it takes the mode after the one that it reports.
func setMode(ctx context.Context, proc Agent, mode, reported string) error {
	err := proc.SetMode(ctx, mode, state.TheHub())
	if err != nil && reported != "" && proc.SetMode(ctx, reported, state.TheHub()) == nil {
		err = proc.SetMode(ctx, mode, state.TheHub())
	}
	return err
}

// native returns a recorded value as SetConfigOption takes it.
func native(before state.AgentSettings, s state.Setting) any {
	for _, recorded := range before.List() {
		if recorded.Field == s.Field && recorded.Option != nil {
			return recorded.Option.Native()
		}
	}
	return s.Value
}

// putBackOver ends putting settings back with a note, if there were any.
func (g *settingsGuard) putBackOver(wanted bool, rows []resume.Drift) {
	if done := g.agent.settings.putBack.Done(rows); done != "" {
		text := "Settings put back: " + done + "."
		if wanted {
			text = "The session begins with: " + done + "."
		}
		if _, err := g.write(g.entries(event.Note{Method: noteSettings, Text: event.Text(text)})...); err != nil {
			return // the log is blocked; proceed tries again
		}
	}
	g.agent.settings.over, g.dirty = true, true
}

// admits reports whether the open turn may be given to the agent: the agent has the
// recorded settings, no more rights than they gave, or those that a person accepted.
func (g *settingsGuard) admits() bool {
	t, p := g.turn, &g.agent.settings
	if !p.over || g.agent.unasked() != "" { // which ends with a job's runner
		return false
	}
	rows := g.agent.drift()
	switch {
	case len(rows) == 0:
		return g.sayNoQuestions()
	case slices.Equal(rows, t.kept):
		return true
	case t.drift.Choice == "" && !p.putBack.NeedChoice(rows):
		return g.keep(rows, state.TheHub())
	case t.drift.Choice == "" && t.resumedByPerson() && !p.putBack.NeedAnother(rows):
		return g.keep(rows, state.TheHub())
	case t.drift.Covers(rows) != nil:
		g.pause(waitingText(p.putBack.Why(rows), rows))
		return false
	case t.drift.Choice == resume.DriftKeep, t.again && !slices.ContainsFunc(rows, settable):
		return g.keep(rows, t.drift.By) // with apply, a person accepted what cannot be set
	case t.again:
		g.pause(waitingText(p.putBack.Why(rows), rows))
		return false
	}
	t.again, *p = true, agentSettings{}
	g.dirty = true
	return false
}

func settable(d resume.Drift) bool { return resume.Settable(d.Field) }

// waitingText says which settings a turn waits for.
func waitingText(why string, rows []resume.Drift) string {
	text := "Waiting for your choice: the agent has other settings: " + resume.Describe(rows) + "." + notPutBack(why)
	return text + " It is given nothing until a person decides."
}

func notPutBack(why string) string {
	if why == "" {
		return ""
	}
	return " They could not be put back (" + why + ")."
}

// sayNoQuestions says once, when a session begins, that its agent asks for nothing.
func (g *settingsGuard) sayNoQuestions() bool {
	mode := g.fold.Settings().Mode
	if g.fold.Given > 0 || g.turn.told || !resume.AsksNothing(mode) {
		return true
	}
	text := fmt.Sprintf("The session begins in mode %s, in which the agent asks for no permission.", state.Cut(state.OneLine(mode), 200))
	if _, err := g.write(g.entries(event.Note{Method: "abide/asks_nothing", Text: event.Text(text)})...); err != nil {
		return false // the log is blocked; proceed tries again
	}
	g.turn.told = true
	return true
}

// keep records the settings with which the agent continues.
func (g *settingsGuard) keep(rows []resume.Drift, by event.Actor) bool {
	text := "The agent continues with other settings: " + resume.Describe(rows) + "." + notPutBack(g.agent.settings.putBack.Why(rows))
	if by != state.TheHub() {
		text += " " + by.Name + " kept them."
	}
	if _, err := g.write(g.entries(event.Note{Method: noteSettings, Text: event.Text(text), By: by.Name, ByID: by.ID})...); err != nil {
		return false // the log is blocked; proceed tries again
	}
	g.turn.kept = rows
	return true
}

// pause ends a turn before the agent gets it, so that a person decides.
func (g *settingsGuard) pause(why string) {
	g.turn.cut = event.CutPaused
	g.ends.endOrLater(g.entries(event.Note{Method: noteSettings, Text: event.Text(why)}), event.StopInterrupted, nil)
}

// chose remembers that a person changed a setting, so that it does not count as drift.
func (a *agentSlot) chose(field, value string) {
	if a.chosen == nil {
		a.chosen = map[string]string{}
	}
	a.chosen[field] = value
}

// choseOption is chose for an option.
func (a *agentSlot) choseOption(id string) {
	for _, s := range a.fold.Settings().List() {
		if s.Option != nil && s.Option.ID == id {
			a.chose(s.Field, s.Value)
		}
	}
}

// unasked is the mode of a job's agent if it is known to act in it without asking, so that
// the job's policy does not hold, and has the settings that are put back; else it is empty.
func (a *agentSlot) unasked() string {
	if a.fold.Job == nil || !a.up() || !a.settings.over {
		return ""
	}
	if mode := a.fold.Settings().Mode; a.hub.settings().Agent(a.agentName).ActsUnasked(mode) {
		return mode
	}
	return ""
}

// modeOption is the id of the option that sets the mode of an agent without modes of its
// own; empty for other agents.
func (a *agentSlot) modeOption() string {
	if a.offers.modes {
		return ""
	}
	for _, s := range a.fold.Settings().List() {
		if s.Field == state.FieldMode && s.Option != nil {
			return s.Option.ID
		}
	}
	return ""
}
