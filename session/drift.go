package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// noteSettings is the note on the decision about settings that differ from the
// recorded ones.
const noteSettings = "abide/settings"

// Drift is a setting with which an agent came back that differs from the
// recorded one.
type Drift struct {
	// Field is agent, version, mode, model, mcp_servers, or options.ID.
	Field             string
	Recorded, Current string
	// AllowsMore says that the agent may do more, or that the hub cannot tell.
	AllowsMore bool
}

// DriftChoice is a person's choice about drift.
type DriftChoice string

const (
	// DriftApply gives the agent the recorded settings again.
	DriftApply DriftChoice = "apply"
	// DriftKeep accepts the settings with which the agent came back.
	DriftKeep DriftChoice = "keep"
)

// agentSettings are an agent's settings, as the log has them.
type agentSettings struct {
	Name    string        `json:"name,omitempty"` // the agent's own name
	Version string        `json:"version,omitempty"`
	Mode    string        `json:"mode,omitempty"`
	Options []agentOption `json:"options,omitempty"`
	// MCPServers is nil where the log does not say.
	MCPServers []string `json:"mcp_servers,omitempty"`
	MCPKnown   bool     `json:"mcp_known,omitempty"`
	// Command is a digest of the configured command that started it.
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

// optionsOf reads an agent's options; unreadable ones are left out.
func optionsOf(raw json.RawMessage) []agentOption {
	var all []json.RawMessage
	_ = json.Unmarshal(raw, &all) // then there is none
	var list []agentOption
	for _, one := range all {
		var o agentOption
		if json.Unmarshal(one, &o) == nil && o.ID != "" {
			list = append(list, o)
		}
	}
	return list
}

// startedWith takes the start of an agent. The settings of the agent before are
// kept until this one is given a prompt: by then the drift is decided.
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

// drift is how the settings of the agent differ from the recorded ones, but for
// those a person chose since the agent started.
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

// drift lists the settings that differ in now. A setting that now lacks is not
// compared: an absent setting allows nothing.
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

// text is the option's value in words.
func (o agentOption) text() string {
	var text string
	if json.Unmarshal(o.Value, &text) == nil {
		return text
	}
	return string(o.Value)
}

// value is the option's value as SetConfigOption takes it.
func (o agentOption) value() any {
	var value any
	_ = json.Unmarshal(o.Value, &value) // the agent refuses an invalid value
	return value
}

// allowsMore reports whether another value of the option may let the agent do
// more. Which model thinks, and how hard, changes no right.
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

// modeRanks orders the modes of known agents by the actions they allow without
// asking.
var modeRanks = map[string]int{
	"plan": 1, "read-only": 1, "readonly": 1, "architect": 1,
	"ask": 2, "default": 2, "manual": 2,
	"acceptedits": 3, "auto_edit": 3, "autoedit": 3, "build": 3, "code": 3,
	"auto":              4,
	"bypasspermissions": 5, "yolo": 5, "full-access": 5, "agent-full-access": 5,
}

// modeAllowsMore reports whether a mode may allow more than the recorded one. Of
// a mode that is not known it says yes.
func modeAllowsMore(recorded, current string) bool {
	was, known := modeRanks[strings.ToLower(recorded)]
	is, also := modeRanks[strings.ToLower(current)]
	return !known || !also || is > was
}

func allowMore(rows []Drift) bool {
	return slices.ContainsFunc(rows, func(d Drift) bool { return d.AllowsMore })
}

// driftWords names settings that differ.
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

// driftDecision is a person's decision about drift when they resumed a turn.
type driftDecision struct {
	choice    DriftChoice
	by        event.Actor
	mayManage bool
}

// mayDecide checks a decision about the drift that is known.
func (d driftDecision) mayDecide(rows []Drift) error {
	switch d.choice {
	case "", DriftApply, DriftKeep:
	default:
		return fmt.Errorf("%w: drift is apply or keep", ErrInvalid)
	}
	switch {
	case len(rows) == 0:
		return nil
	case d.choice == "":
		return &NeedsConfirmation{Needs: []string{"drift"}}
	case allowMore(rows) && !d.mayManage:
		return fmt.Errorf("%w: the agent's settings allow more than the recorded ones; deciding that takes access to manage the session", ErrForbidden)
	}
	return nil
}

// settingsRun is the open turn's part about settings that differ.
type settingsRun struct {
	// drift is a person's decision about an agent that comes back with other settings;
	// applying says that it is being given the recorded ones.
	drift    driftDecision
	applying bool
	// kept are the settings that differ and were said to be kept.
	kept []Drift
}

// settingsGuard compares the settings of an agent that starts again with the recorded
// ones, before it is given a turn.
type settingsGuard struct {
	*journal
	agent   *agentSlot
	turn    *turnRun
	helpers *helpers
	ends    turnEnder
}

// admits reports whether the open turn may be given to the agent: the agent has the
// recorded settings, or those that a person chose. An agent that came back with
// more rights is given nothing until then.
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

// keep says with which settings the agent goes on.
func (g *settingsGuard) keep(rows []Drift, by event.Actor) bool {
	text := "The agent goes on with other settings: " + driftWords(rows) + "."
	if by != theHub() {
		text += " " + by.Name + " kept them."
	}
	if _, err := g.write(g.entries(event.Note{Method: noteSettings, Text: event.Text(text), By: by.Name, ByID: by.ID})...); err != nil {
		return false // the log is blocked, and proceed comes back here
	}
	g.turn.kept = rows
	return true
}

// pause ends a turn before the agent is given it, so that a person decides.
func (g *settingsGuard) pause(why string) {
	g.turn.cut = event.CutPaused
	g.ends.endOrLater(g.entries(event.Note{Method: noteSettings, Text: event.Text(why)}), event.StopInterrupted, nil)
}

// apply gives the agent the recorded mode and options again.
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

// applyTo changes the settings that differ in an agent whose settings are now.
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

// applied goes on once the agent has the recorded settings. By this choice
// a person also accepted differences that cannot be set, such as the version.
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

// settable reports whether the hub can ask an agent to change a setting.
func settable(field string) bool {
	return field != "agent" && field != "version" && field != "mcp_servers"
}

// chose remembers that a person gave the agent a setting: that is no drift.
func (a *agentSlot) chose(field, value string) {
	if a.chosen == nil {
		a.chosen = map[string]string{}
	}
	a.chosen[field] = value
}

// choseOption is chose for an option that was set just now.
func (a *agentSlot) choseOption(id string) {
	for _, o := range a.fold.settings().Options {
		if o.ID == id {
			a.chose(o.field(), o.text())
		}
	}
}

// usedToolsKept bounds the tools of MCP servers that are remembered by name.
const usedToolsKept = 100

// usedTool remembers a tool of an MCP server, as its call's title names it.
func (f *fold) usedTool(title string) {
	title = cut(oneLine(title), lastLineRunes)
	if len(f.mcpTools) >= usedToolsKept || slices.Contains(f.mcpTools, title) {
		return
	}
	if slices.ContainsFunc(f.agent.MCPServers, func(server string) bool { return ofServer(title, server) }) {
		f.mcpTools = append(slices.Clone(f.mcpTools), title)
	}
}

// ofServer reports whether a tool call's title names a tool of an MCP server:
// agents write mcp__server__tool, server_tool, server/tool and the like.
func ofServer(title, server string) bool {
	if strings.Contains(title, "mcp__"+server+"__") {
		return true
	}
	rest, is := strings.CutPrefix(title, server)
	return is && rest != "" && strings.ContainsAny(rest[:1], "_/.:")
}
