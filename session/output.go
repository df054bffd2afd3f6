package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// agentOutput records the agent's output and forwards what affects the turn, the
// agent or a permission request.
type agentOutput struct {
	*foldedLog
	agent     *agentSlot
	turn      *turnRun
	turns     *turns
	restorer  *restorer
	questions *questions
}

// record writes an agent's output. It returns how many payloads were handled. After
// an error the caller may offer the rest again.
func (o *agentOutput) record(s *sink, payloads []event.Payload, drafts []event.Draft) (done int, err error) {
	if o.agent.sink != s {
		return 0, errDetached
	}
	if o.health.frozen != nil {
		return 0, o.recordFrozen(payloads)
	}
	o.noteHeard(payloads)
	for done < len(payloads) {
		n := 0
		for done+n < len(payloads) && !moves(payloads[done+n]) {
			n++
		}
		if n > 0 {
			err = o.recordStream(payloads[done:done+n], drafts[done:done+n])
		} else {
			n = 1
			err = o.recordMove(payloads[done])
		}
		if err != nil {
			return done, fmt.Errorf("record the agent's output: %w", err)
		}
		done += n
	}
	return done, nil
}

// noteHeard records the time of the agent's last output. The hub's notes about
// silence do not count.
func (o *agentOutput) noteHeard(payloads []event.Payload) {
	for _, p := range payloads {
		if _, silent := p.(event.AgentStalled); !silent {
			o.agent.heard = time.Now()
			return
		}
	}
}

// recordFrozen is called when the log can no longer be written. It stops the agent,
// and the exit is handled as usual.
func (o *agentOutput) recordFrozen(payloads []event.Payload) error {
	for _, p := range payloads {
		if _, ok := p.(event.AgentExit); ok {
			o.agent.gone()
			o.agent.become(AgentFailed, o.stuck(journal.ErrFrozen).Error())
			return o.health.frozen
		}
	}
	o.agent.stop(stopBroken)
	return o.health.frozen
}

// moves reports whether a payload affects the turn, the agent or a permission
// request, or is only a line of the stream.
func moves(p event.Payload) bool {
	switch p.(type) {
	case event.AgentStarted, event.AgentExit, event.TurnEnd, event.PermissionRequest, event.PermissionOutcome:
		return true
	}
	return false
}

// recordStream writes an event that needs only its turn.
func (o *agentOutput) recordStream(payloads []event.Payload, drafts []event.Draft) error {
	payloads, drafts, answer := o.turn.aside(payloads, drafts)
	if len(payloads) == 0 {
		o.turn.restore.heard(answer)
		return nil
	}
	list := make([]state.Entry, len(payloads))
	announced := map[string]int{} // calls of this batch, which are not in the fold yet
	for i, p := range payloads {
		id := state.ToolCallID(p)
		turn, here := announced[id]
		if !here {
			turn = o.fold.TurnOf(p)
		}
		if _, ok := p.(event.ToolCall); ok {
			announced[id] = turn
		}
		list[i] = state.Entry{Turn: turn, Payload: p}
		drafts[i].Turn = turn
	}
	_, err := o.writeDrafts(drafts, list)
	if err == nil {
		o.turn.restore.heard(answer)
		for _, p := range payloads {
			if u, ok := p.(event.Usage); ok {
				o.restorer.counts(u.Context())
			}
		}
	}
	if err == nil && o.fold.Open && slices.ContainsFunc(payloads, endsTool) {
		o.turn.seen.due = true
	}
	return err
}

// endsTool reports whether a payload ends a tool call, which may have changed
// files.
func endsTool(p event.Payload) bool {
	switch p := p.(type) {
	case event.ToolCall:
		return p.Status.Done()
	case event.ToolCallUpdate:
		return p.Status.Done()
	}
	return false
}

func (o *agentOutput) recordMove(p event.Payload) error {
	switch p := p.(type) {
	case event.AgentStarted:
		return o.recordStarted(p)
	case event.AgentExit:
		return o.agent.takeExit(p)
	case event.TurnEnd:
		if open := o.turn.restore.open; open != "" && p.PromptID == open {
			return o.restorer.segmentEnded(p)
		}
		o.restorer.counts(state.ContextOf(p.Usage))
		return o.turns.recordEnd(p)
	case event.PermissionRequest:
		if o.turn.telling() {
			return o.restorer.refuse(p)
		}
		return o.questions.recordRequest(p)
	case event.PermissionOutcome:
		return o.questions.recordWithdrawal(p)
	}
	return nil
}

// recordStarted records the start of an agent, and adds a note if the agent has no
// memory of the session.
func (o *agentOutput) recordStarted(p event.AgentStarted) error {
	lost := p.Resumed == "" && o.fold.Given > 0
	p.ContextLost = lost
	p.Settings = o.settingsOf(p)
	list := append(o.goneTools(p.Settings.MCPServers), o.entries(p)...)
	if lost {
		list = append(list, o.entries(event.Note{
			Method: "abide/context_lost",
			Text:   "The agent restarted without context: it does not remember the conversation above.",
		})...)
	}
	if _, err := o.write(list...); err != nil {
		return err
	}
	o.agent.version, o.agent.offers, o.agent.resumed = p.Version, offersOf(p), p.Resumed
	o.dirty = true
	return nil
}

// settingsOf returns the settings that an agent reported at its start.
func (o *agentOutput) settingsOf(p event.AgentStarted) *event.AgentSettings {
	s := &event.AgentSettings{MCPServers: []string{}}
	if p.Settings != nil {
		*s = *p.Settings
	}
	s.Rules, s.Command = ruleIDs(o.questions.rules(), o.agentName), o.hub.settings().Agent(o.agentName).CommandDigest()
	return s
}

func ruleIDs(rules []state.Rule, agent string) []string {
	ids := []string{}
	for _, r := range rules {
		if r.Agent == agent {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// goneTools adds a note, once, about used tools whose MCP server the agent no
// longer has.
func (o *agentOutput) goneTools(servers []string) []state.Entry {
	var gone []string
	for _, server := range o.fold.Agent.MCPServers {
		if slices.Contains(servers, server) {
			continue
		}
		for _, title := range o.fold.MCPTools {
			if state.OfServer(title, server) {
				gone = append(gone, title)
			}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	text := "Tools that were used and are gone, as their MCP server is not configured any more: " + strings.Join(gone, ", ") + "."
	return o.entries(event.Note{Method: "abide/mcp_tools_gone", Text: event.Text(text)})
}
