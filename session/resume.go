package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
)

const (
	// workspaceBound is the time limit of inspecting a workspace.
	workspaceBound = 2 * time.Second
	// defaultStaleAfter is the age from which a resume must be confirmed.
	defaultStaleAfter = 25 * time.Minute
)

// InspectWorkspace returns the state of a folder. It runs no program that the
// folder names, and returns at the latest when ctx ends. With diff it also sets
// DiffStat.
type InspectWorkspace func(ctx context.Context, folder string, diff bool) resume.Workspace

// wayAuto lets the hub choose how the agent gets the earlier context.
const wayAuto = "auto"

// Offer lists the ways to resume after an interruption.
type Offer struct {
	state.Interruption
	Age time.Duration
	// Stale means that the interruption is older than the configured limit.
	Stale bool
	// Mismatch lists the changes since: "workspace" if the folder is missing or
	// another one, "repository", "branch", and "agent" if its command changed or it
	// is no longer configured. A resume must confirm them.
	Mismatch []string
	// Drift lists the settings of the restarted agent that differ from the recorded
	// ones. It is empty until the agent has started.
	Drift []resume.Drift
	// Lost are the unanswered permission requests.
	Lost []event.PermissionRequest
	// Prompt is the prompt that the agent would get.
	Prompt string
	Ways   []WayOffer
	// attachments belong to a prompt that the agent did not get.
	attachments []event.Attachment
}

// WayOffer is a way to resume, with the reason if it is not available.
type WayOffer struct {
	Way       event.ResumeWay
	Available bool
	Why       string
	// Tokens is about how many tokens the agent would get, in how many Segments.
	Tokens, Segments int
}

// ResumeRequest is a person's decision to resume.
type ResumeRequest struct {
	InterruptionID string
	// Way is auto, server, local or segmented; empty is auto.
	Way string
	// Prompt replaces the offered prompt if not empty.
	Prompt string
	// Drift is the choice about changed settings; empty while there are none.
	Drift resume.DriftChoice
	// Confirm lists the confirmed warnings: "stale", and the names in Mismatch.
	Confirm []string
	Actor   event.Actor
	// MayManage means that the actor may let an agent do more.
	MayManage bool

	attachments []event.Attachment
}

// Resumed describes an accepted resume.
type Resumed struct {
	PromptID string
	Way      event.ResumeWay
}

// NeedsConfirmation refuses a resume until a person has confirmed the listed
// warnings.
type NeedsConfirmation struct{ Needs []string }

// and has all warnings to confirm; nil if none is left.
func (n *NeedsConfirmation) and(more, confirmed []string) error {
	all := &NeedsConfirmation{}
	if n != nil {
		all.Needs = slices.Clone(n.Needs)
	}
	for _, need := range more {
		if !slices.Contains(confirmed, need) {
			all.Needs = append(all.Needs, need)
		}
	}
	if len(all.Needs) == 0 {
		return nil
	}
	return all
}

// Error implements error.
func (n *NeedsConfirmation) Error() string {
	return "confirm what has changed since: " + strings.Join(n.Needs, ", ")
}

// AlreadySettled means that an interruption is already settled, and by which actor.
type AlreadySettled struct {
	Winner event.InterruptionSettled
	At     time.Time
}

// Error implements error.
func (a *AlreadySettled) Error() string {
	return fmt.Sprintf("%s has %s it already", a.Winner.By, a.Winner.Outcome)
}

// resumer settles the open interruption by a resume, requested by a person or
// automatic.
type resumer struct {
	*foldedLog
	agent   *agentSlot
	turn    *turnRun
	turns   *turns
	helpers *helpers
	// again resumes the interruption with this id if there is nothing to confirm.
	// It must not be called in the engine's goroutine.
	again func(ctx context.Context, interruptionID string) error
}

// resumeFacts are the engine's facts for an offer.
type resumeFacts struct {
	open       *state.Interruption
	workspace  string
	look       InspectWorkspace
	staleAfter time.Duration
	settings   ResumeSettings
	remembers  bool // the agent has a session of its own to continue
	drift      []resume.Drift
	// agentChanged means that the agent's configured command differs from the last
	// one that ran, or that there is none.
	agentChanged bool
}

func (s *resumer) facts() resumeFacts {
	return resumeFacts{
		open:      s.interruption(),
		workspace: s.workspace, look: s.hub.inspect, staleAfter: s.resumeSettings().staleAfter(),
		agentChanged: s.agentChanged(), settings: s.resumeSettings(), remembers: s.fold.AgentSessionID != "", drift: s.agent.drift(),
	}
}

// agentChanged compares the configured command with the one that started the agent
// last, if the log has it.
func (s *resumer) agentChanged() bool {
	settings, ran := s.hub.settings(), s.fold.Agent.Command
	return !settings.configured(s.agentName) || ran != "" && ran != settings.agent(s.agentName).commandDigest()
}

func (f resumeFacts) inspect(ctx context.Context) resume.Workspace {
	if _, err := realDir(f.workspace); err != nil {
		return resume.Workspace{Missing: true, Unknown: "the folder " + reason(err)}
	}
	if f.look == nil {
		return resume.Workspace{}
	}
	ctx, cancel := context.WithTimeout(ctx, workspaceBound)
	defer cancel()
	return f.look(ctx, f.workspace, true)
}

func (f resumeFacts) ways(missing bool) []WayOffer {
	if missing {
		const why = "the workspace is gone"
		return []WayOffer{{Way: event.WayServer, Why: why}, {Way: event.WayLocal, Why: why}, {Way: event.WaySegmented, Why: why}}
	}
	server := WayOffer{Way: event.WayServer, Available: f.remembers}
	if !f.remembers {
		server.Why = "the agent has no session to continue"
	}
	return []WayOffer{server, {Way: event.WayLocal, Available: true}, {Way: event.WaySegmented, Available: true}}
}

// way returns the way that a request means.
func (f resumeFacts) way(asked string) (event.ResumeWay, error) {
	switch asked {
	case "", wayAuto:
		if f.remembers {
			return event.WayServer, nil
		}
		if f.settings.SegmentedFallback {
			return event.WaySegmented, nil
		}
		return event.WayLocal, nil
	case string(event.WayServer):
		if !f.remembers {
			return "", fmt.Errorf("%w: the agent has no session to continue; resume locally", state.ErrConflict)
		}
		return event.WayServer, nil
	case string(event.WayLocal), string(event.WaySegmented):
		return event.ResumeWay(asked), nil
	}
	return "", fmt.Errorf("%w: a turn is resumed by auto, server, local or segmented", state.ErrInvalid)
}

// mayResume checks a resume against the open interruption.
func (s *resumer) mayResume(r ResumeRequest) error {
	if err := s.opened(r.InterruptionID); err != nil {
		return err
	}
	if err := s.refusal(); err != nil {
		return err
	}
	if limit := s.hub.settings().Limits.PromptBytes; len(r.Prompt) > limit {
		return fmt.Errorf("%w: the prompt has %d bytes, at most %d are accepted", state.ErrTooLarge, len(r.Prompt), limit)
	}
	var needs []string
	stale := time.Since(s.fold.Interruptions.Open.At) > s.resumeSettings().staleAfter()
	if stale && !slices.Contains(r.Confirm, "stale") {
		needs = append(needs, "stale")
	}
	err := r.decision().mayDecide(s.agent.drift())
	var also *NeedsConfirmation
	if errors.As(err, &also) {
		needs = append(needs, also.Needs...)
	} else if err != nil {
		return err
	}
	if len(needs) > 0 {
		return &NeedsConfirmation{Needs: needs}
	}
	return nil
}

// opened reports whether the interruption with this id is open.
func (s *resumer) opened(id string) error {
	i := &s.fold.Interruptions
	switch {
	case i.Open != nil && i.Open.ID == id:
		return nil
	case i.Settled != nil && i.Settled.InterruptionID == id:
		return &AlreadySettled{Winner: *i.Settled, At: i.SettledAt}
	}
	return fmt.Errorf("%w: no interruption %q is open", state.ErrNotFound, id)
}

func (r ResumeRequest) decision() driftDecision {
	return driftDecision{choice: r.Drift, by: r.Actor, mayManage: r.MayManage}
}

// resume writes the prompt and the interruption_settled event in one batch.
func (s *resumer) resume(r ResumeRequest, way event.ResumeWay) (Resumed, error) {
	if err := s.mayResume(r); err != nil {
		return Resumed{}, err
	}
	promptID := state.ResumePrefix + r.InterruptionID
	settled := event.InterruptionSettled{
		InterruptionID: r.InterruptionID, Outcome: event.SettledResumed, Way: way, PromptID: promptID, By: r.Actor.Name, ByID: r.Actor.ID,
	}
	prompt := event.UserPrompt{PromptID: promptID, Text: event.Text(r.Prompt), Attachments: r.attachments, Actor: r.Actor.Name, ByID: r.Actor.ID}
	if s.agent.status == AgentFailed {
		s.agent.forgive() // a person decided to continue
	}
	if _, err := s.turns.begin(prompt, queue.Hash(r.Prompt, nil), settled); err != nil {
		return Resumed{}, fmt.Errorf("resume: %w", s.stuck(err))
	}
	s.turn.drift = r.decision()
	s.turn.restore.mayFallBack = r.Way == "" || r.Way == wayAuto
	if way == event.WaySegmented {
		s.turn.restore.step = restoreWanted
	}
	if way != event.WayServer {
		s.agent.anew = true
		s.agent.stop(stopSleep)
	}
	return Resumed{PromptID: promptID, Way: way}, nil
}
