package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
)

// noteSettings is the method of the note about changed agent settings.
const noteSettings = "abide/settings"

// drift lists the differences between the agent's settings and the recorded ones,
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

// settingsRun is the part of the open turn about changed settings.
type settingsRun struct {
	// drift is a person's decision. applying means that the recorded settings are
	// being set.
	drift    resume.Decision
	applying bool
	// kept are the changed settings that a note has already reported as kept.
	kept []resume.Drift
}

// settingsGuard compares the settings of a restarted agent with the recorded ones
// before the agent gets a turn.
type settingsGuard struct {
	*foldedLog
	agent   *agentSlot
	turn    *turnRun
	helpers *helpers
	ends    turnEnder
}

// admits reports whether the open turn may be given to the agent: the agent has the
// recorded settings or those that a person accepted. Until then, an agent with more
// rights gets no prompt.
func (g *settingsGuard) admits() bool {
	t := g.turn
	rows := g.agent.drift()
	switch {
	case len(rows) == 0, slices.Equal(rows, t.kept):
		return true
	case t.applying:
		return false
	case t.drift.Choice == "" && !resume.AllowMore(rows):
		return g.keep(rows, state.TheHub())
	case t.drift.Covers(rows) != nil:
		g.pause("The agent came back with other settings: " + resume.Describe(rows) + ". It is given nothing until a person decides.")
		return false
	case t.drift.Choice == resume.DriftKeep:
		return g.keep(rows, t.drift.By)
	}
	g.apply()
	return false
}

// keep records the settings with which the agent continues.
func (g *settingsGuard) keep(rows []resume.Drift, by event.Actor) bool {
	text := "The agent continues with other settings: " + resume.Describe(rows) + "."
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

// apply sets the recorded mode and options again.
func (g *settingsGuard) apply() {
	before, now, proc, promptID, by := *g.fold.Before, g.fold.Settings(), g.agent.proc, g.fold.PromptID, g.turn.drift.By
	g.turn.applying = true
	bound := g.hub.settings().Limits.AgentStart
	g.helpers.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		err := applySettings(ctx, proc, before, now, by)
		g.helpers.post(func() {
			if g.fold.PromptID == promptID && g.agent.proc == proc && g.turn.applying {
				g.applied(err)
			}
		})
	})
}

// applySettings sets the recorded values s of an agent whose present settings are now.
func applySettings(ctx context.Context, proc Agent, s, now state.AgentSettings, by event.Actor) error {
	if s.Mode != "" && s.Mode != now.Mode {
		if err := proc.SetMode(ctx, s.Mode, by); err != nil {
			return fmt.Errorf("mode %s: %w", s.Mode, err)
		}
	}
	for _, o := range s.Options {
		same := slices.ContainsFunc(now.Options, func(n state.AgentOption) bool { return n.ID == o.ID && n.Text() == o.Text() })
		if same {
			continue
		}
		if err := proc.SetConfigOption(ctx, o.ID, o.Native(), by); err != nil {
			return fmt.Errorf("option %s: %w", o.ID, err)
		}
	}
	return nil
}

// applied continues once the agent has the recorded settings. With this choice a
// person also accepted differences that cannot be set, such as the version.
func (g *settingsGuard) applied(err error) {
	g.turn.applying = false
	rows := slices.DeleteFunc(g.agent.drift(), func(d resume.Drift) bool { return err == nil && !resume.Settable(d.Field) })
	if err != nil || len(rows) > 0 {
		why := "The recorded settings could not be applied"
		if err != nil {
			why += ": " + err.Error()
		}
		g.pause(why + ". The agent is given nothing until a person decides.")
		return
	}
	g.turn.drift.Choice = resume.DriftKeep // for the settings that cannot be set
	g.dirty = true
}

// chose remembers that a person changed a setting, so that it does not count as
// drift.
func (a *agentSlot) chose(field, value string) {
	if a.chosen == nil {
		a.chosen = map[string]string{}
	}
	a.chosen[field] = value
}

// choseOption is chose for an option.
func (a *agentSlot) choseOption(id string) {
	for _, o := range a.fold.Settings().Options {
		if o.ID == id {
			a.chose(o.Field(), o.Text())
		}
	}
}
