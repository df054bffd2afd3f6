package blackbox_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestARealAgentKeepsItsSettings changes mode and model, kills the hub and then the
// agent, and requires that prompts go on with the same settings and no decision.
func TestARealAgentKeepsItsSettings(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		session := r.create(r.agent.name)
		id := session.SessionID
		c := r.screen("desk", session, 0)
		r.liveThrough(c, session)
		var chosen settingsOf
		c.until("its settings", func(_ []event.Event, s *wire.State) bool { chosen = settingsIn(s); return chosen.model != "" })
		if mode := other(chosen.mode, chosen.modes); mode != "" {
			r.choose(c, id, mode)
		}
		if model := other(chosen.model, chosen.models); model != "" && !r.agent.oneModel {
			require.NoError(t, c.socket().Send(t.Context(), &wire.SetConfigOption{SessionID: id, ConfigID: chosen.modelID, Value: model}))
			c.until("model "+model, func(_ []event.Event, s *wire.State) bool { return settingsIn(s).model == model })
		}
		c.until("what was chosen", func(_ []event.Event, s *wire.State) bool { chosen = settingsIn(s); return true })
		goesOn := func(promptID string) {
			c.prompt(id, promptID, "[[say:back again]]")
			end := c.untilTurnEnds(promptID)
			require.Equal(t, event.StopEndTurn, end.StopReason, "%+v", end.Error)
			c.until("the same settings", func(_ []event.Event, s *wire.State) bool {
				now := settingsIn(s)
				return s.Interruption == nil && now.mode == chosen.mode && now.model == chosen.model
			})
		}
		remember(t, r.record)
		r.kill()
		r.start()
		goesOn("after the hub")
		children := readRecord(t, r.record).children
		require.Len(t, children, 2)
		remember(t, r.record)
		exits := len(payloads[event.AgentExit](t, c.seen()))
		require.NoError(t, syscall.Kill(children[1], syscall.SIGKILL))
		c.until("the end of the agent", func(events []event.Event, _ *wire.State) bool {
			return len(payloads[event.AgentExit](t, events)) > exits
		})
		goesOn("after the agent")
		require.Empty(t, readRecord(t, r.record).rivals)
		requireTrueScreens(t, r.hub, id, c)
	})
}

// settingsOf are an agent's mode and model, and those that it offers.
type settingsOf struct {
	mode, modelID, model string
	modes, models        []string
}

func settingsIn(s *wire.State) (out settingsOf) {
	if s == nil || s.Config == nil {
		return out
	}
	if s.Mode != nil {
		out.mode = s.Mode.ModeID
		for _, m := range s.Mode.Modes {
			out.modes = append(out.modes, m.ID)
		}
	}
	var options []struct {
		ID, Category string
		CurrentValue any
		Options      []struct {
			Value   string
			Options []struct{ Value string } // of a group
		}
	}
	if json.Unmarshal(s.Config.Options, &options) != nil {
		return out
	}
	for _, o := range options {
		if current, is := o.CurrentValue.(string); is && o.Category == "model" {
			out.modelID, out.model = o.ID, current
			for _, offered := range o.Options {
				out.models = append(out.models, offered.Value)
				for _, inner := range offered.Options {
					out.models = append(out.models, inner.Value)
				}
			}
		}
	}
	return out
}

// other returns a value that is not the current one.
func other(current string, offered []string) string {
	for _, v := range offered {
		if v != current && v != "" {
			return v
		}
	}
	return ""
}

// requireNothingNew requires that no note of the agent in the hub's logs is of a kind
// that a person would see as unknown.
func (h *hub) requireNothingNew() {
	h.t.Helper()
	logs, err := filepath.Glob(filepath.Join(h.data, "sessions", "2*", "events.jsonl"))
	require.NoError(h.t, err)
	require.NotEmpty(h.t, logs)
	for _, path := range logs {
		for _, n := range payloads[event.Note](h.t, onDisk(h.t, h, filepath.Base(filepath.Dir(path)))) {
			off := strings.HasPrefix(n.Method, "fs/") || strings.HasPrefix(n.Method, "terminal/")
			require.True(h.t, n.Stated() || n.Background() || n.Text != "" || off, "new to abide: %s %s", n.Method, n.Raw)
		}
	}
}
