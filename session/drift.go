package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// noteSettings is the method of the note about changed agent settings.
const noteSettings = "abide/settings"

// Drift is a setting of a restarted agent that differs from the recorded one.
type Drift struct {
	// Field is agent, version, mode, model, mcp_servers, or options.ID.
	Field             string
	Recorded, Current string
	// AllowsMore means that the agent may do more, or that the hub cannot tell.
	AllowsMore bool
}

// DriftChoice is a person's choice about drift.
type DriftChoice string

const (
	// DriftApply sets the recorded settings again.
	DriftApply DriftChoice = "apply"
	// DriftKeep accepts the agent's present settings.
	DriftKeep DriftChoice = "keep"
)

// drift lists the differences between the agent's settings and the recorded ones,
// except those that people changed since the agent started.
func (a *agentSlot) drift() []Drift {
	before := a.fold.Before
	if before == nil {
		return nil
	}
	rows := driftBetween(*before, a.fold.Settings())
	return slices.DeleteFunc(rows, func(d Drift) bool {
		chosen, is := a.chosen[d.Field]
		return is && chosen == d.Current
	})
}

// driftBetween lists the settings that differ in now from the recorded s. A setting that is absent in now is
// not compared, because it cannot allow more.
func driftBetween(s, now state.AgentSettings) []Drift {
	var rows []Drift
	differs := func(field, recorded, current string, allowsMore bool) {
		if recorded != "" && current != "" && recorded != current {
			rows = append(rows, Drift{field, recorded, current, allowsMore})
		}
	}
	differs("agent", s.Name, now.Name, true)
	differs("version", s.Version, now.Version, false)
	differs("mode", s.Mode, now.Mode, modeAllowsMore(s.Mode, now.Mode))
	for _, o := range s.Options {
		i := slices.IndexFunc(now.Options, func(n state.AgentOption) bool { return n.ID == o.ID })
		if i < 0 {
			continue
		}
		recorded, current := o.Text(), now.Options[i].Text()
		differs(o.Field(), recorded, current, allowsMore(o, current))
	}
	if s.MCPKnown && now.MCPKnown {
		recorded, current := slices.Sorted(slices.Values(s.MCPServers)), slices.Sorted(slices.Values(now.MCPServers))
		more := slices.ContainsFunc(current, func(name string) bool { return !slices.Contains(recorded, name) })
		differs("mcp_servers", names(recorded), names(current), more)
	}
	return rows
}

func names(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }

// allowsMore reports whether another value of the option may let the agent do more.
// Changing the model or its effort never does.
func allowsMore(o state.AgentOption, current string) bool {
	switch o.Category {
	case "mode":
		return modeAllowsMore(o.Text(), current)
	case "model", "model_config", "thought_level":
		return false
	}
	return true // its category does not say
}

// modeRanks orders the modes of known agents by what they allow without asking.
var modeRanks = map[string]int{
	"plan": 1, "read-only": 1, "readonly": 1, "architect": 1,
	"ask": 2, "default": 2, "manual": 2,
	"acceptedits": 3, "auto_edit": 3, "autoedit": 3, "build": 3, "code": 3,
	"auto":              4,
	"bypasspermissions": 5, "yolo": 5, "full-access": 5, "agent-full-access": 5,
}

// modeAllowsMore reports whether a mode may allow more than the recorded one. It is
// true for an unknown mode.
func modeAllowsMore(recorded, current string) bool {
	was, known := modeRanks[strings.ToLower(recorded)]
	is, also := modeRanks[strings.ToLower(current)]
	return !known || !also || is > was
}

func allowMore(rows []Drift) bool {
	return slices.ContainsFunc(rows, func(d Drift) bool { return d.AllowsMore })
}

// driftWords lists the settings that differ, as text.
func driftWords(rows []Drift) string {
	list := make([]string, 0, len(rows))
	for _, d := range rows {
		list = append(list, fmt.Sprintf("%s %s (recorded: %s)", fieldWords(d.Field), state.Cut(state.OneLine(d.Current), 200), state.Cut(state.OneLine(d.Recorded), 200)))
	}
	return strings.Join(list, ", ")
}

func fieldWords(field string) string {
	if field == "mcp_servers" {
		return "MCP servers"
	}
	return strings.TrimPrefix(field, "options.")
}

// driftDecision is a person's decision about drift in a resume.
type driftDecision struct {
	choice    DriftChoice
	by        event.Actor
	mayManage bool
}

// mayDecide checks a decision about known drift.
func (d driftDecision) mayDecide(rows []Drift) error {
	switch d.choice {
	case "", DriftApply, DriftKeep:
	default:
		return fmt.Errorf("%w: drift is apply or keep", state.ErrInvalid)
	}
	switch {
	case len(rows) == 0:
		return nil
	case d.choice == "":
		return &NeedsConfirmation{Needs: []string{"drift"}}
	case allowMore(rows) && !d.mayManage:
		return fmt.Errorf("%w: the agent's settings allow more than the recorded ones; deciding that takes access to manage the session", state.ErrForbidden)
	}
	return nil
}

// settingsRun is the part of the open turn about changed settings.
type settingsRun struct {
	// drift is a person's decision. applying means that the recorded settings are
	// being set.
	drift    driftDecision
	applying bool
	// kept are the changed settings that a note has already reported as kept.
	kept []Drift
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
	case t.drift.choice == "" && !allowMore(rows):
		return g.keep(rows, state.TheHub())
	case t.drift.mayDecide(rows) != nil:
		g.pause("The agent came back with other settings: " + driftWords(rows) + ". It is given nothing until a person decides.")
		return false
	case t.drift.choice == DriftKeep:
		return g.keep(rows, t.drift.by)
	}
	g.apply()
	return false
}

// keep records the settings with which the agent continues.
func (g *settingsGuard) keep(rows []Drift, by event.Actor) bool {
	text := "The agent continues with other settings: " + driftWords(rows) + "."
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
	before, now, proc, promptID, by := *g.fold.Before, g.fold.Settings(), g.agent.proc, g.fold.PromptID, g.turn.drift.by
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
	rows := slices.DeleteFunc(g.agent.drift(), func(d Drift) bool { return err == nil && !settable(d.Field) })
	if err != nil || len(rows) > 0 {
		why := "The recorded settings could not be applied"
		if err != nil {
			why += ": " + err.Error()
		}
		g.pause(why + ". The agent is given nothing until a person decides.")
		return
	}
	g.turn.drift.choice = DriftKeep // for the settings that cannot be set
	g.dirty = true
}

// settable reports whether the hub can set this setting.
func settable(field string) bool {
	return field != "agent" && field != "version" && field != "mcp_servers"
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
