package session

import (
	"cmp"
	"context"
	"encoding/json"
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

// agentSettings are an agent's settings, as recorded in the log.
type agentSettings struct {
	Name    string        `json:"name,omitempty"` // the agent's own name
	Version string        `json:"version,omitempty"`
	Mode    string        `json:"mode,omitempty"`
	Options []agentOption `json:"options,omitempty"`
	// MCPServers is nil if the log does not list them.
	MCPServers []string `json:"mcp_servers,omitempty"`
	MCPKnown   bool     `json:"mcp_known,omitempty"`
	// Command is a digest of the agent's configured command.
	Command string `json:"command,omitempty"`
}

// agentOption is one of an agent's options and its value.
type agentOption struct {
	ID       string          `json:"id"`
	Category string          `json:"category,omitempty"`
	Value    json.RawMessage `json:"currentValue,omitempty"`
}

// settings returns the agent's present settings.
func (f *fold) settings() agentSettings {
	s := f.agent
	if f.mode != nil {
		s.Mode = f.mode.ModeID
	}
	if f.config != nil {
		s.Options = optionsOf(f.config.Options)
	}
	return s
}

// optionsOf reads an agent's options. Unreadable ones are omitted.
func optionsOf(raw json.RawMessage) []agentOption {
	var all []json.RawMessage
	_ = json.Unmarshal(raw, &all) // then there are none
	var list []agentOption
	for _, one := range all {
		var o agentOption
		if json.Unmarshal(one, &o) == nil && o.ID != "" {
			list = append(list, o)
		}
	}
	return list
}

// startedWith handles the start of an agent. The settings of the previous agent are
// kept until the new one gets a prompt: by then the drift is decided.
func (f *fold) startedWith(p event.AgentStarted) {
	if f.before == nil && f.agent.Name+f.agent.Version != "" {
		before := f.settings()
		f.before = &before
	}
	f.agent = agentSettings{Name: p.Name, Version: p.Version}
	if s := p.Settings; s != nil {
		f.agent.MCPServers, f.agent.MCPKnown, f.agent.Command = s.MCPServers, true, s.Command
	}
}

// drift lists the differences between the agent's settings and the recorded ones,
// except those that people changed since the agent started.
func (a *agentSlot) drift() []Drift {
	before := a.fold.before
	if before == nil {
		return nil
	}
	rows := before.drift(a.fold.settings())
	return slices.DeleteFunc(rows, func(d Drift) bool {
		chosen, is := a.chosen[d.Field]
		return is && chosen == d.Current
	})
}

// drift lists the settings that differ in now. A setting that is absent in now is
// not compared, because it cannot allow more.
func (s agentSettings) drift(now agentSettings) []Drift {
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
		i := slices.IndexFunc(now.Options, func(n agentOption) bool { return n.ID == o.ID })
		if i < 0 {
			continue
		}
		recorded, current := o.text(), now.Options[i].text()
		differs(o.field(), recorded, current, o.allowsMore(current))
	}
	if s.MCPKnown && now.MCPKnown {
		recorded, current := slices.Sorted(slices.Values(s.MCPServers)), slices.Sorted(slices.Values(now.MCPServers))
		more := slices.ContainsFunc(current, func(name string) bool { return !slices.Contains(recorded, name) })
		differs("mcp_servers", names(recorded), names(current), more)
	}
	return rows
}

func names(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }

func (o agentOption) field() string {
	switch o.Category {
	case "mode", "model":
		return o.Category
	}
	return "options." + o.ID
}

// text returns the option's value as text.
func (o agentOption) text() string {
	var text string
	if json.Unmarshal(o.Value, &text) == nil {
		return text
	}
	return string(o.Value)
}

// value returns the option's value as SetConfigOption takes it.
func (o agentOption) value() any {
	var value any
	_ = json.Unmarshal(o.Value, &value) // the agent refuses an invalid value
	return value
}

// allowsMore reports whether another value of the option may let the agent do more.
// Changing the model or its effort never does.
func (o agentOption) allowsMore(current string) bool {
	switch o.Category {
	case "mode":
		return modeAllowsMore(o.text(), current)
	case "model", "model_config", "thought_level":
		return false
	}
	id := strings.ToLower(o.ID)
	for _, word := range []string{"mode", "perm", "appro", "sandbox", "auto", "yolo", "trust", "access"} {
		if strings.Contains(id, word) {
			return true
		}
	}
	return false
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
		list = append(list, fmt.Sprintf("%s %s (recorded: %s)", fieldWords(d.Field), cut(oneLine(d.Current), 200), cut(oneLine(d.Recorded), 200)))
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
		return g.keep(rows, theHub())
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
	if by != theHub() {
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
	before, now, proc, promptID, by := *g.fold.before, g.fold.settings(), g.agent.proc, g.fold.promptID, g.turn.drift.by
	g.turn.applying = true
	bound := g.hub.settings().Limits.AgentStart
	g.helpers.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		err := before.applyTo(ctx, proc, now, by)
		g.helpers.post(func() {
			if g.fold.promptID == promptID && g.agent.proc == proc && g.turn.applying {
				g.applied(err)
			}
		})
	})
}

// applyTo sets the recorded values of an agent whose present settings are now.
func (s agentSettings) applyTo(ctx context.Context, proc Agent, now agentSettings, by event.Actor) error {
	if s.Mode != "" && s.Mode != now.Mode {
		if err := proc.SetMode(ctx, s.Mode, by); err != nil {
			return fmt.Errorf("mode %s: %w", s.Mode, err)
		}
	}
	for _, o := range s.Options {
		same := slices.ContainsFunc(now.Options, func(n agentOption) bool { return n.ID == o.ID && n.text() == o.text() })
		if same {
			continue
		}
		if err := proc.SetConfigOption(ctx, o.ID, o.value(), by); err != nil {
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
	for _, o := range a.fold.settings().Options {
		if o.ID == id {
			a.chose(o.field(), o.text())
		}
	}
}

// usedToolsKept limits the names of MCP tools that are remembered.
const usedToolsKept = 100

// usedTool remembers an MCP tool that a call's title names.
func (f *fold) usedTool(title string) {
	title = cut(oneLine(title), lastLineRunes)
	if len(f.mcpTools) >= usedToolsKept || slices.Contains(f.mcpTools, title) {
		return
	}
	if slices.ContainsFunc(f.agent.MCPServers, func(server string) bool { return ofServer(title, server) }) {
		f.mcpTools = append(slices.Clone(f.mcpTools), title)
	}
}

// ofServer reports whether a tool call's title names a tool of an MCP server.
// Agents write mcp__server__tool, server_tool, server/tool and similar.
func ofServer(title, server string) bool {
	if strings.Contains(title, "mcp__"+server+"__") {
		return true
	}
	rest, is := strings.CutPrefix(title, server)
	return is && rest != "" && strings.ContainsAny(rest[:1], "_/.:")
}
