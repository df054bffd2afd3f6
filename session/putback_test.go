package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// looks is what an agent reports of itself when it starts.
type looks struct {
	mode    string // of ask, plan and auto
	options string
	version string
	servers []string
}

// appear makes the agents that start from now on look so.
func appear(h *hub, l looks) {
	h.agents.resumable = true
	h.agents.hello = func(p *event.AgentStarted) {
		p.Name, p.Version = "Fake", "1"+l.version
		p.Settings = &event.AgentSettings{Mode: l.mode, MCPServers: append([]string{}, l.servers...), Rules: []string{}}
	}
	h.agents.after = nil
	if l.mode != "" {
		h.agents.after = append(h.agents.after, event.Mode{ModeID: l.mode, Modes: []event.ModeOption{{ID: "ask"}, {ID: "plan"}, {ID: "auto"}}})
	}
	if l.options != "" {
		h.agents.after = append(h.agents.after, event.Config{Options: json.RawMessage(l.options)})
	}
}

const modelOption = `{"id":"model","category":"model","currentValue":"M","options":[{"value":"big"},{"value":"small"}]}`

func modelled(value string) string { return strings.Replace(modelOption, `"M"`, `"`+value+`"`, 1) }

// TestSettingsComeBackByThemselves covers agents that forget, after a restart, what a
// person chose: the hub sets it again before the prompt, and asks a person only where it
// cannot.
func TestSettingsComeBackByThemselves(t *testing.T) {
	const modeOption = `{"id":"how","category":"mode","currentValue":"M","options":[{"value":"ask"},{"value":"auto"}]}`
	for name, c := range map[string]struct {
		before, after looks
		refuses, deaf string
		already       string
		told          []string       // what the second agent was told before the prompt
		said          string         // in a note
		drift         []resume.Drift // why it waits for a choice
	}{
		"nothing differs": {before: looks{mode: "ask", options: "[" + modelled("big") + "]"}, after: looks{mode: "ask", options: "[" + modelled("big") + "]"}},
		"it forgets the mode": {
			before: looks{mode: "plan"}, after: looks{mode: "auto"},
			told: []string{"mode plan"}, said: "Settings put back: mode plan (it was auto).",
		},
		"it forgets a mode that allows more": {
			before: looks{mode: "auto"}, after: looks{mode: "ask"},
			told: []string{"mode auto"}, said: "Settings put back: mode auto (it was ask).",
		},
		"it forgets the model": {
			before: looks{options: "[" + modelled("big") + "]"}, after: looks{options: "[" + modelled("small") + "]"},
			told: []string{"model big"}, said: "Settings put back: model big (it was small).",
		},
		"it forgets everything: the model comes first": {
			before: looks{mode: "ask", options: `[{"id":"loud","currentValue":true},` + modelled("big") + `]`},
			after:  looks{mode: "auto", options: `[{"id":"loud","currentValue":false},` + modelled("small") + `]`},
			told:   []string{"model big", "mode ask", "loud true"},
			said:   "model big (it was small), mode ask (it was auto), loud true (it was false)",
		},
		"its modes are an option": {
			before: looks{options: "[" + strings.Replace(modeOption, `"M"`, `"ask"`, 1) + "]"},
			after:  looks{options: "[" + strings.Replace(modeOption, `"M"`, `"auto"`, 1) + "]"},
			told:   []string{"how ask"}, said: "Settings put back: mode ask (it was auto).",
		},
		"its modes are an option, too": {
			before: looks{mode: "ask", options: "[" + strings.Replace(modeOption, `"M"`, `"ask"`, 1) + "]"},
			after:  looks{mode: "auto", options: "[" + strings.Replace(modeOption, `"M"`, `"auto"`, 1) + "]"},
			told:   []string{"mode ask"}, said: "Settings put back: mode ask (it was auto).",
		},
		"an option whose category says nothing": {
			before: looks{options: `[{"id":"boldness","currentValue":"low"}]`}, after: looks{options: `[{"id":"boldness","currentValue":"high"}]`},
			told: []string{"boldness low"}, said: "Settings put back: boldness low (it was high).",
		},
		"it is in the mode already, and reports another": {
			before: looks{mode: "plan"}, after: looks{mode: "ask"}, already: "plan",
			told: []string{"mode ask", "mode plan"}, said: "Settings put back: mode plan (it was ask).",
		},
		"it refuses the mode": {
			before: looks{mode: "ask"}, after: looks{mode: "auto"}, refuses: "mode",
			said:  "Waiting for your choice: the agent has other settings: mode auto (recorded: ask). They could not be put back (mode ask: unknown mode).",
			drift: []resume.Drift{{Field: "mode", Recorded: "ask", Current: "auto", AllowsMore: true}},
		},
		"it refuses the model": {
			before: looks{options: "[" + modelled("big") + "]"}, after: looks{options: "[" + modelled("small") + "]"}, refuses: "model",
			said: "model big: it is locked", drift: []resume.Drift{{Field: "model", Recorded: "big", Current: "small"}},
		},
		"the model is not offered any more": {
			before: looks{options: `[{"id":"model","category":"model","currentValue":"old"}]`}, after: looks{options: "[" + modelled("small") + "]"},
			said: "model old: it is not offered now", drift: []resume.Drift{{Field: "model", Recorded: "old", Current: "small"}},
		},
		"the mode is not offered any more": {
			before: looks{mode: "careful"}, after: looks{mode: "ask"},
			said: "mode careful: it is not offered now", drift: []resume.Drift{{Field: "mode", Recorded: "careful", Current: "ask", AllowsMore: true}},
		},
		"it takes the mode and does not change": {
			before: looks{mode: "ask"}, after: looks{mode: "auto"}, deaf: "mode", told: []string{"mode ask"},
			drift: []resume.Drift{{Field: "mode", Recorded: "ask", Current: "auto", AllowsMore: true}},
		},
		"it takes the model and calls it otherwise": {
			before: looks{options: "[" + modelled("big") + "]"}, after: looks{options: "[" + modelled("small") + "]"}, deaf: "model",
			told: []string{"model big"}, said: "The agent continues with other settings: model small (recorded: big).",
		},
		"what cannot be set allows more": {
			before: looks{mode: "ask", servers: []string{"files"}}, after: looks{mode: "auto", servers: []string{"files", "shell"}}, told: []string{"mode ask"},
			drift: []resume.Drift{{Field: "mcp_servers", Recorded: "files", Current: "files, shell", AllowsMore: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, clean)
			appear(h, c.before)
			b, a := h.busy()
			require.NoError(t, a.end(promptID(0), event.StopEndTurn))
			appear(h, c.after)
			h.agents.refuses, h.agents.deaf = map[string]bool{c.refuses: true}, map[string]bool{c.deaf: true}
			h.agents.already = c.already
			require.NoError(t, b.Restart(ctxOf(t), person("ann")))
			prompt(t, b, "next")
			a = h.agents.next(t)
			var text strings.Builder
			if c.drift == nil {
				require.Equal(t, "next", receive(t, a.prompts, "no prompt").PromptID)
			} else {
				open := interruptionOf(t, b)
				require.Equal(t, event.CutPaused, open.Reason)
				offer, err := b.Interruption(ctxOf(t))
				require.NoError(t, err)
				require.Equal(t, c.drift, offer.Drift)
				require.Empty(t, a.prompts)
				_, err = b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: open.InterruptionID, Drift: resume.DriftKeep, MayManage: true, Actor: person("ann")})
				require.NoError(t, err)
				require.Equal(t, "resume-"+open.InterruptionID, receive(t, a.prompts, "no prompt").PromptID)
			}
			for _, n := range noted(t, b, "abide/settings") {
				text.WriteString(string(n.Text))
			}
			require.Equal(t, c.told, a.wasTold())
			require.Contains(t, text.String(), c.said)
			if c.said == "" && c.drift == nil {
				require.Empty(t, text.String())
			}
		})
	}
}

// TestModeAndItsOptionAreOneTruth changes either and expects both to say the same.
func TestModeAndItsOptionAreOneTruth(t *testing.T) {
	h := newHub(t)
	appear(h, looks{mode: "ask", options: `[{"id":"how","category":"mode","currentValue":"ask","options":[{"options":[{"value":"ask"},{"value":"auto"}]}]}]`})
	b, a := h.busy()
	agrees := func(mode string) {
		t.Helper()
		s := await(t, b, mode, func(s session.State) bool { return s.Mode != nil && s.Mode.ModeID == mode })
		require.Contains(t, string(s.Config.Options), `"currentValue":"`+mode+`"`)
		require.Len(t, s.Mode.Modes, 3)
		// The metadata follows the state.
		require.Eventually(t, func() bool { return b.Log().Metadata().Mode == mode }, patience, time.Millisecond)
	}
	agrees("ask")
	require.NoError(t, a.say(event.Config{Options: json.RawMessage(`[{"id":"how","category":"mode","currentValue":"auto"}]`)}))
	agrees("auto")
	require.NoError(t, a.say(event.Mode{ModeID: "plan"}))
	agrees("plan")
	require.NoError(t, b.SetMode(ctxOf(t), "ask", person("ann")))
	agrees("ask")
	require.NoError(t, b.SetConfigOption(ctxOf(t), "how", "auto", person("ann")))
	agrees("auto")
}

// TestAChoiceMadeBeforeTheFirstPromptOutlivesAnotherRestart sets a mode while no turn is
// open: the next agent gets that one, not the one before.
func TestAChoiceMadeBeforeTheFirstPromptOutlivesAnotherRestart(t *testing.T) {
	h := newHub(t)
	appear(h, looks{mode: "ask", options: "[" + modelled("big") + "]"})
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	require.NoError(t, b.Restart(ctxOf(t), person("ann")))
	require.NoError(t, b.SetMode(ctxOf(t), "plan", person("ann")))
	require.NoError(t, b.SetConfigOption(ctxOf(t), "model", "small", person("ann")))
	h.agents.next(t)
	require.NoError(t, b.Restart(ctxOf(t), person("ann")))
	prompt(t, b, "next")
	a = h.agents.next(t)
	require.Equal(t, "next", receive(t, a.prompts, "no prompt").PromptID)
	require.Equal(t, []string{"model small", "mode plan"}, a.wasTold())
}

// TestAResumeIsOneDecision resumes after a restart of the hub with an agent that forgets.
func TestAResumeIsOneDecision(t *testing.T) {
	h := newHub(t, clean)
	appear(h, looks{mode: "ask"})
	b, a := h.busy()
	appear(h, looks{mode: "auto"})
	a.die(crash)
	interruptionOf(t, b)
	after := h.copyOf(t, clean)
	appear(after, looks{mode: "auto"})
	b = after.session(b.ID())
	_, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: interruptionOf(t, b).InterruptionID, Actor: person("ann")})
	require.NoError(t, err)
	a = after.agents.next(t)
	receive(t, a.prompts, "no prompt")
	require.Equal(t, "ask", b.State().Mode.ModeID)
	require.Nil(t, b.State().Interruption)
}

// TestAResumeCoversWhatTheAgentRefuses resumes after a restart of the hub with an agent that
// does not take what the hub puts back: a person is asked again only if it may do more than
// before, or a value is gone.
func TestAResumeCoversWhatTheAgentRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		before, after looks
		refuses       string
		by            event.Actor
		said          string
		again         []resume.Drift // what a person is asked about again
	}{
		"it refuses the model": {
			before: looks{options: "[" + modelled("big") + "]"}, after: looks{options: "[" + modelled("small") + "]"}, refuses: "model",
			said: "The agent continues with other settings: model small (recorded: big). They could not be put back (model big: it is locked).",
		},
		"it refuses a mode that allows more": {
			before: looks{mode: "auto"}, after: looks{mode: "ask"}, refuses: "mode",
			said: "The agent continues with other settings: mode ask (recorded: auto). They could not be put back (mode auto: unknown mode).",
		},
		"it has no longer a mode that allows more": {
			before: looks{mode: "yolo"}, after: looks{mode: "ask"},
			said: "(mode yolo: it is not offered now)",
		},
		"it stays in a mode that allows more": {
			before: looks{mode: "ask"}, after: looks{mode: "auto"}, refuses: "mode",
			said:  "Waiting for your choice: the agent has other settings: mode auto (recorded: ask). They could not be put back (mode ask: unknown mode).",
			again: []resume.Drift{{Field: "mode", Recorded: "ask", Current: "auto", AllowsMore: true}},
		},
		"the model is not offered any more": {
			before: looks{options: `[{"id":"model","category":"model","currentValue":"old"}]`}, after: looks{options: "[" + modelled("small") + "]"},
			said:  "They could not be put back (model old: it is not offered now).",
			again: []resume.Drift{{Field: "model", Recorded: "old", Current: "small"}},
		},
		"the hub resumes by itself": {
			before: looks{options: "[" + modelled("big") + "]"}, after: looks{options: "[" + modelled("small") + "]"}, refuses: "model",
			by:    state.TheHub(),
			said:  "Waiting for your choice",
			again: []resume.Drift{{Field: "model", Recorded: "big", Current: "small"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, clean)
			appear(h, c.before)
			b, a := h.busy()
			a.die(crash)
			interruptionOf(t, b)
			after := h.copyOf(t, clean)
			appear(after, c.after)
			after.agents.refuses = map[string]bool{c.refuses: true}
			b = after.session(b.ID())
			first := interruptionOf(t, b)
			by := c.by
			if by.Name == "" {
				by = person("ann")
			}
			_, err := b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: first.InterruptionID, Actor: by})
			require.NoError(t, err)
			a = after.agents.next(t)
			if c.again == nil {
				require.Equal(t, "resume-"+first.InterruptionID, receive(t, a.prompts, "no prompt").PromptID)
				require.Nil(t, b.State().Interruption)
			} else {
				await(t, b, "another choice", func(s session.State) bool {
					return s.Interruption != nil && s.Interruption.InterruptionID != first.InterruptionID
				})
				offer, err := b.Interruption(ctxOf(t))
				require.NoError(t, err)
				require.Equal(t, c.again, offer.Drift)
				require.Empty(t, a.prompts)
			}
			notes := noted(t, b, "abide/settings")
			require.Len(t, notes, 1)
			require.Contains(t, string(notes[0].Text), c.said)
		})
	}
}

// TestAPersonsChoiceWaitsForTheSettingsThatComeBack sets the mode while the agent is
// started again: the person's choice is the last one.
func TestAPersonsChoiceWaitsForTheSettingsThatComeBack(t *testing.T) {
	h := newHub(t)
	appear(h, looks{mode: "ask"})
	b, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	appear(h, looks{mode: "auto"})
	require.NoError(t, b.Restart(ctxOf(t), person("ann")))
	require.NoError(t, b.SetMode(ctxOf(t), "plan", person("ann")))
	a = h.agents.next(t)
	require.Equal(t, []string{"mode ask", "mode plan"}, a.wasTold())
	prompt(t, b, "next")
	require.Equal(t, "next", receive(t, a.prompts, "no prompt").PromptID)
	require.Equal(t, "plan", b.State().Mode.ModeID)
}

// TestASessionBeginsAsConfigured covers agents.NAME of the configuration and what a
// person asked for.
func TestASessionBeginsAsConfigured(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) {
		o.Agents[0].Begin = settings.Begin{Mode: "plan", Model: "small", Options: map[string]any{"loud": true}}
	})
	appear(h, looks{mode: "ask", options: `[{"id":"loud","currentValue":false},` + modelled("big") + `]`})
	b, a := h.busy()
	require.Equal(t, []string{"model small", "mode plan", "loud true"}, a.wasTold())
	require.Contains(t, string(noted(t, b, "abide/settings")[0].Text), "The session begins with: model small")

	asked, err := h.manager.Create(ctxOf(t), session.CreateRequest{Mode: "auto", Model: "big", Prompt: "go", Actor: person("ann")})
	require.NoError(t, err)
	a = h.agents.next(t)
	receive(t, a.prompts, "no prompt")
	require.Equal(t, []string{"mode auto", "loud true"}, a.wasTold())
	require.Len(t, noted(t, asked, "abide/asks_nothing"), 1)
}

// TestASessionThatCannotBeginAsAskedWaits covers a mode that the agent does not have.
func TestASessionThatCannotBeginAsAskedWaits(t *testing.T) {
	h := newHub(t, clean)
	appear(h, looks{})
	b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Mode: "plan", Prompt: "go", Actor: person("ann")})
	require.NoError(t, err)
	open := interruptionOf(t, b)
	require.Equal(t, event.CutPaused, open.Reason)
	offer, err := b.Interruption(context.Background())
	require.NoError(t, err)
	require.Equal(t, []resume.Drift{{Field: "mode", Recorded: "plan"}}, offer.Drift)
	require.Equal(t, "go", offer.Prompt)
	listed(t, b, state.StatusNeedsYou, "Waiting for your choice: the turn has not begun.")
}

// TestWhatAnAgentOffersIsKnownAfterARestartOfTheHub asks for the modes and models before any
// session is open: the newest of the agent that began knows them.
func TestWhatAnAgentOffersIsKnownAfterARestartOfTheHub(t *testing.T) {
	h := newHub(t, clean)
	appear(h, looks{mode: "ask", options: "[" + modelled("big") + "]"})
	_, a := h.busy()
	require.NoError(t, a.end(promptID(0), event.StopEndTurn))
	h.close()
	h.open(clean)
	modes, models := h.manager.Offered(ctxOf(t), "fake")
	require.Len(t, modes, 3)
	require.Len(t, models, 2)
	modes, models = h.manager.Offered(ctxOf(t), "another")
	require.Empty(t, modes)
	require.Empty(t, models)
}
