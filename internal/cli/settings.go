package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

// shell is what the commands of this file need of a Program.
type shell interface {
	onHub(*cobra.Command, func(context.Context, *client.Hub, []string) error) *cobra.Command
	onSession(*cobra.Command, func(context.Context, *client.Hub, wire.SessionInfo, []string) error) *cobra.Command
	JSONFlag(*cobra.Command)
	PrintJSON(any) error
	asJSON() bool
	table([][]string) error
	say(string)
}

// agentVerbs are the commands for the agent of a session: its settings, its login, and its
// end and beginning.
type agentVerbs struct {
	shell
	out io.Writer
}

func (v agentVerbs) commands() []*cobra.Command {
	return []*cobra.Command{v.mode(), v.model(), v.option(), v.restart(), v.reset(), v.login()}
}

// setting is one of an agent's settings, as --json prints it.
type setting struct {
	ID      string             `json:"id"`
	Value   any                `json:"value,omitempty"`
	Choices []event.ModeOption `json:"choices,omitempty"`
}

func (v agentVerbs) mode() *cobra.Command {
	return v.setting(&cobra.Command{
		Use: "mode ID [MODE]", Short: "Show the modes of a session's agent, or change the mode",
		Example: "abide mode -\nabide mode - plan", Args: cobra.RangeArgs(1, 2),
	}, modeIn, func(ctx context.Context, hub *client.Hub, id string, _ setting, value string) error {
		return hub.SetMode(ctx, id, value)
	})
}

func (v agentVerbs) model() *cobra.Command {
	return v.setting(&cobra.Command{
		Use: "model ID [MODEL]", Short: "Show the models of a session's agent, or change the model",
		Example: "abide model -\nabide model - big", Args: cobra.RangeArgs(1, 2),
	}, modelIn, func(ctx context.Context, hub *client.Hub, id string, s setting, value string) error {
		return hub.SetOption(ctx, id, s.ID, value)
	})
}

// modeIn is the mode as a setting.
func modeIn(s wire.State) setting {
	one := setting{ID: "mode"}
	if s.Mode != nil {
		one.Value = s.Mode.ModeID
		one.Choices = s.Mode.Modes
	}
	return one
}

// modelIn is the option for the model as a setting.
func modelIn(s wire.State) setting {
	for _, o := range optionsIn(s) {
		if o.Category == state.FieldModel {
			return settingOf(o)
		}
	}
	return setting{ID: "model"}
}

// setting makes a command that shows one setting, or changes it.
func (v agentVerbs) setting(cmd *cobra.Command, of func(wire.State) setting, set func(context.Context, *client.Hub, string, setting, string) error) *cobra.Command {
	cmd = v.onSession(cmd, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		now, err := hub.State(ctx, s.SessionID)
		if err != nil {
			return err
		}
		one := of(now)
		if len(args) == 0 {
			return v.show(one)
		}
		if err := set(ctx, hub, s.SessionID, one, args[0]); err != nil {
			return err
		}
		return v.changed(ctx, hub, s.SessionID, of)
	})
	v.JSONFlag(cmd)
	return cmd
}

// changed prints a setting that was changed.
func (v agentVerbs) changed(ctx context.Context, hub *client.Hub, id string, of func(wire.State) setting) error {
	now, err := hub.State(ctx, id)
	if err != nil {
		return err
	}
	one := of(now)
	if v.asJSON() {
		return v.PrintJSON(one)
	}
	v.say(fmt.Sprintf("%s is %s", one.ID, plain.Line(fmt.Sprint(one.Value))))
	return nil
}

func (v agentVerbs) show(one setting) error {
	if v.asJSON() {
		return v.PrintJSON(one)
	}
	if one.Value == nil {
		return withCode(ExitNotFound, "the agent has told no %s: it tells them when it starts (`abide restart ID`)", one.ID)
	}
	if len(one.Choices) == 0 {
		_, err := fmt.Fprintln(v.out, plain.Line(fmt.Sprint(one.Value)))
		return err
	}
	var rows [][]string
	for _, c := range one.Choices {
		mark := " "
		if c.ID == one.Value {
			mark = "*"
		}
		rows = append(rows, []string{mark + " " + plain.Line(c.ID), plain.Line(c.Name)})
	}
	return v.table(rows)
}

func (v agentVerbs) option() *cobra.Command {
	cmd := v.onSession(&cobra.Command{
		Use: "option ID [NAME VALUE]", Short: "List the options of a session's agent, or change one",
		Long:    "List the options of a session's agent with their values, or change one: VALUE is true, false or one of its values.",
		Example: "abide option -\nabide option - verbose true",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 3 {
				return nil
			}
			return fmt.Errorf("option takes ID, or ID, NAME and VALUE")
		},
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		now, err := hub.State(ctx, s.SessionID)
		if err != nil {
			return err
		}
		if len(args) > 0 {
			value := any(args[1])
			if on, err := strconv.ParseBool(args[1]); err == nil && slices.ContainsFunc(optionsIn(now), func(o state.AgentOption) bool { return o.ID == args[0] && isBool(o) }) {
				value = on
			}
			if err := hub.SetOption(ctx, s.SessionID, args[0], value); err != nil {
				return err
			}
			return v.changed(ctx, hub, s.SessionID, func(s wire.State) setting {
				for _, o := range optionsIn(s) {
					if o.ID == args[0] {
						return settingOf(o)
					}
				}
				return setting{ID: args[0], Value: value}
			})
		}
		all := []setting{}
		var rows [][]string
		for _, o := range optionsIn(now) {
			one := settingOf(o)
			all = append(all, one)
			var values []string
			for _, c := range one.Choices {
				values = append(values, plain.Line(c.ID))
			}
			rows = append(rows, []string{plain.Line(one.ID), plain.Line(fmt.Sprint(one.Value)), strings.Join(values, ", ")})
		}
		if v.asJSON() {
			return v.PrintJSON(struct {
				Options []setting `json:"options"`
			}{all})
		}
		return v.table(rows)
	})
	v.JSONFlag(cmd)
	return cmd
}

func optionsIn(s wire.State) []state.AgentOption {
	if s.Config == nil {
		return nil
	}
	return state.OptionsOf(s.Config.Options)
}

func isBool(o state.AgentOption) bool {
	on := false
	return json.Unmarshal(o.Value, &on) == nil
}

func settingOf(o state.AgentOption) setting {
	one := setting{ID: o.ID}
	_ = json.Unmarshal(o.Value, &one.Value) // an option without a value has none
	one.Choices = transcript.Choices(o.Choices)
	return one
}

func (v agentVerbs) restart() *cobra.Command {
	return v.act(&cobra.Command{
		Use: "restart ID", Short: "Stop a session's agent and start it again",
		Long:    "Stop a session's agent and start it again. A turn that it was given is closed as interrupted.",
		Example: "abide restart -", Args: cobra.ExactArgs(1),
	}, "the agent starts again", (*client.Hub).Restart)
}

func (v agentVerbs) reset() *cobra.Command {
	return v.act(&cobra.Command{
		Use: "reset ID", Short: "End a turn whose agent does not answer to cancel",
		Long:    "End a turn whose agent does not answer to `abide cancel`: the agent is stopped, and the next prompt starts it again.",
		Example: "abide reset -", Args: cobra.ExactArgs(1),
	}, "the turn was ended, and the agent stopped", (*client.Hub).ForceReset)
}

func (v agentVerbs) act(cmd *cobra.Command, done string, do func(*client.Hub, context.Context, string) error) *cobra.Command {
	cmd = v.onSession(cmd, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		if err := do(hub, ctx, s.SessionID); err != nil {
			return err
		}
		if !v.asJSON() {
			v.say(done)
			return nil
		}
		changed, err := hub.Session(ctx, s.SessionID)
		if err != nil {
			return err
		}
		return v.PrintJSON(changed)
	})
	v.JSONFlag(cmd)
	return cmd
}

func (v agentVerbs) login() *cobra.Command {
	cmd := v.onSession(&cobra.Command{
		Use: "login ID [METHOD]", Short: "Log the agent of a session in, or list its methods",
		Long: "Log the agent of a session in by one of its methods, or list them. A method that needs a terminal is run by\n" +
			"`abide agents login NAME METHOD`.",
		Example: "abide login -\nabide login - api-key", Args: cobra.RangeArgs(1, 2),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		now, err := hub.State(ctx, s.SessionID)
		if err != nil {
			return err
		}
		methods := append([]state.AuthMethod{}, now.Agent.AuthMethods...)
		if len(args) == 0 && v.asJSON() {
			return v.PrintJSON(struct {
				Methods []state.AuthMethod `json:"methods"`
			}{methods})
		}
		if len(args) == 0 {
			if len(methods) == 0 {
				return withCode(ExitNotFound, "the agent asks for no login")
			}
			var rows [][]string
			for _, m := range methods {
				rows = append(rows, []string{plain.Line(m.MethodID), plain.Line(m.Name), plain.Line(m.Description)})
			}
			return v.table(rows)
		}
		for _, m := range methods {
			if m.MethodID == args[0] && len(m.Command) > 0 {
				return withCode(ExitRefused, "this login needs a terminal: abide agents login %s %s", plain.Line(s.Agent), plain.Line(m.MethodID))
			}
		}
		if err := hub.Authenticate(ctx, s.SessionID, args[0]); err != nil {
			return err
		}
		v.say("the agent is logged in")
		return nil
	})
	v.JSONFlag(cmd)
	return cmd
}

func (v agentVerbs) rules() *cobra.Command {
	var scope string
	cmd := v.onSession(&cobra.Command{
		Use: "rules ID [add allow|reject KIND [SUBJECT] | rm RULE]", Short: "List the permission rules that answer in a session, or change them",
		Long: "List the permission rules that answer in a session, add one, or take one back. KIND is a kind of action, such as read,\n" +
			"edit or execute; with SUBJECT the rule is about one command, or a file and a folder and all below it. With --scope\n" +
			"agent it answers in every session of the agent.",
		Example: "abide rules -\nabide rules - add allow read\nabide rules - rm r1", Args: ruleArgs,
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		if len(args) > 0 {
			return v.rule(ctx, hub, s.SessionID, args, scope)
		}
		rules, err := hub.Rules(ctx, s.SessionID)
		if err != nil {
			return err
		}
		if v.asJSON() {
			return v.PrintJSON(wire.Rules{Rules: append([]wire.Rule{}, rules...)})
		}
		var rows [][]string
		for _, r := range rules {
			about := r.Title
			if about == "" {
				about = string(r.Kind)
			}
			if r.Suspended {
				about += " (suspended)"
			}
			rows = append(rows, []string{plain.Line(r.ID), plain.Line(string(r.Effect)), plain.Line(string(r.Scope)), plain.Line(r.CreatedBy), plain.Line(about)})
		}
		return v.table(rows)
	})
	cmd.Flags().StringVar(&scope, "scope", "session", "with add, `S` is session or agent")
	v.JSONFlag(cmd)
	return cmd
}

// rule makes or revokes a permission rule.
func (v agentVerbs) rule(ctx context.Context, hub *client.Hub, id string, args []string, scope string) error {
	if args[0] == "rm" {
		if err := hub.RevokeRule(ctx, id, args[1]); err != nil {
			return err
		}
		v.say("the rule was revoked")
		return nil
	}
	r := wire.NewRule{Scope: wire.RuleScope(scope), Effect: wire.RuleEffect(args[1]), Kind: event.ToolKind(args[2])}
	if len(args) > 3 {
		r.Subject = args[3]
	}
	rule, err := hub.AddRule(ctx, id, r)
	if err != nil {
		return err
	}
	if v.asJSON() {
		return v.PrintJSON(rule)
	}
	_, err = fmt.Fprintln(v.out, rule.ID)
	return err
}

func ruleArgs(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 1, len(args) == 3 && args[1] == "rm":
		return nil
	case (len(args) == 4 || len(args) == 5) && args[1] == "add" && (args[2] == "allow" || args[2] == "reject"):
		if kinds := event.ToolKind("").Values(); !slices.Contains(kinds, args[3]) {
			return fmt.Errorf("KIND is one of %s", strings.Join(kinds, ", "))
		}
		return nil
	}
	return fmt.Errorf("rules takes ID, then nothing, add allow|reject KIND [SUBJECT], or rm RULE")
}

func (v agentVerbs) audit() *cobra.Command {
	var after int64
	cmd := v.onHub(&cobra.Command{
		Use: "audit", Short: "Print the audit trail: grants, answers, deletions and refusals",
		Long:    "Print the audit trail, oldest first: grants, answers, deletions and refusals. The oldest records may have been removed.",
		Example: "abide audit\nabide audit --after 120 --json", Args: cobra.NoArgs,
	}, func(ctx context.Context, hub *client.Hub, _ []string) error {
		var rows [][]string
		for at := after; ; {
			page, err := hub.Audit(ctx, at)
			if err != nil {
				return err
			}
			if len(page.Records) == 0 {
				return v.table(rows)
			}
			for _, r := range page.Records {
				at = r.Seq
				if v.asJSON() {
					if err := v.PrintJSON(r); err != nil {
						return err
					}
					continue
				}
				rows = append(rows, []string{strconv.FormatInt(r.Seq, 10), r.Time.Local().Format(time.DateTime), r.Verb, plain.Line(r.By), r.SessionID, plain.Line(r.Detail)})
			}
		}
	})
	cmd.Flags().Int64Var(&after, "after", 0, "only records behind the one with `SEQ`")
	v.JSONFlag(cmd)
	return cmd
}
