package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

const (
	// workspaceBound is the time limit of inspecting a workspace.
	workspaceBound = 2 * time.Second
)

// InspectWorkspace returns the state of a folder. It runs no program that the
// folder names, and returns at the latest when ctx ends. With diff it also sets
// DiffStat.
type InspectWorkspace func(ctx context.Context, folder string, diff bool) resume.Workspace

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
	// WithoutSetup leaves out a set-up command that failed.
	WithoutSetup bool
	Actor        event.Actor
	// MayManage means that the actor may let an agent do more.
	MayManage bool

	attachments []event.Attachment
}

// Resumed describes an accepted resume.
type Resumed struct {
	PromptID string
	Way      event.ResumeWay
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
	tried string // the interruption that the hub has tried to resume by itself
}

// resumeFacts are the facts of an offer, and how to inspect the workspace.
type resumeFacts struct {
	resume.Facts
	open          bool // an interruption is open
	workspace     string
	look          InspectWorkspace
	segmentTokens int
}

func (s *resumer) facts() resumeFacts {
	settings := s.resumeSettings()
	facts := resumeFacts{workspace: s.workspace, look: s.hub.inspect, segmentTokens: settings.Segment()}
	open := s.interruption()
	if facts.open = open != nil; !facts.open {
		return facts
	}
	facts.Facts = resume.Facts{
		Open: *open, Age: time.Since(open.Since()), StaleAfter: settings.Stale(), Remembers: s.fold.Remembered() != "",
		Setup: s.failedSetup(), Segmented: settings.SegmentedFallback, Drift: s.agent.undecided(), AgentChanged: s.agentChanged(),
	}
	return facts
}

// failedSetup returns the set-up that a resume runs again; nil if there is none.
func (s *resumer) failedSetup() *resume.Setup {
	command := s.hub.settings().SetupFor(s.project)
	if !s.fold.Setup.Due || s.fold.Setup.Failed == "" || command == nil {
		return nil
	}
	return &resume.Setup{Command: command, Failed: s.fold.Setup.Failed}
}

// agentChanged compares the configured command with the one that started the agent
// last, if the log has it.
func (s *resumer) agentChanged() bool {
	settings, ran := s.hub.settings(), s.fold.Agent.Command
	return !settings.Configured(s.agentName) || ran != "" && ran != settings.Agent(s.agentName).CommandDigest()
}

func (f resumeFacts) inspect(ctx context.Context) resume.Workspace {
	if _, err := settings.RealDir(f.workspace); err != nil {
		return resume.Workspace{Missing: true, Unknown: "the folder " + settings.Reason(err)}
	}
	if f.look == nil {
		return resume.Workspace{}
	}
	ctx, cancel := context.WithTimeout(ctx, workspaceBound)
	defer cancel()
	return f.look(ctx, f.workspace, true)
}

// mayResume checks a resume against the open interruption.
func (s *resumer) mayResume(r ResumeRequest) error {
	if err := s.opened(r.InterruptionID); err != nil {
		return err
	}
	if err := s.refusal(); err != nil {
		return err
	}
	if s.undoing {
		return fmt.Errorf("%w: an undo is under way", state.ErrBusy)
	}
	if limit := s.hub.settings().Limits.PromptBytes; len(r.Prompt) > limit {
		return fmt.Errorf("%w: the prompt has %d bytes, at most %d are accepted", state.ErrTooLarge, len(r.Prompt), limit)
	}
	var needs []string
	stale := time.Since(s.fold.Interruptions.Open.Since()) > s.resumeSettings().Stale()
	if stale && !slices.Contains(r.Confirm, "stale") {
		needs = append(needs, "stale")
	}
	err := r.decision().Covers(s.agent.undecided())
	var also *resume.NeedsConfirmation
	if errors.As(err, &also) {
		needs = append(needs, also.Needs...)
	} else if err != nil {
		return err
	}
	if len(needs) > 0 {
		return &resume.NeedsConfirmation{Needs: needs}
	}
	return nil
}

// opened reports whether the interruption with this id is open.
func (s *resumer) opened(id string) error {
	i := &s.fold.Interruptions
	switch {
	case i.Open != nil && i.Open.InterruptionID == id:
		return nil
	case i.Settled != nil && i.Settled.InterruptionID == id:
		return &resume.AlreadySettled{Winner: *i.Settled, At: i.SettledAt}
	}
	return fmt.Errorf("%w: no interruption %q is open", state.ErrNotFound, id)
}

func (r ResumeRequest) decision() resume.Decision {
	return resume.Decision{Choice: r.Drift, By: r.Actor, MayManage: r.MayManage}
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
	if r.WithoutSetup && s.fold.Setup.Due {
		note := setupNote(state.SetupOutcome{}, r.Actor.Name+" continues without the set-up command.", r.Actor)
		if _, err := s.write(s.entries(note)...); err != nil {
			return Resumed{}, fmt.Errorf("resume: %w", s.stuck(err))
		}
	}
	prompt := event.UserPrompt{PromptID: promptID, Text: event.Text(r.Prompt), Attachments: r.attachments, Actor: r.Actor.Name, ByID: r.Actor.ID}
	if s.agent.status == AgentFailed {
		s.agent.forgive() // a person decided to continue
	}
	if _, err := s.turns.begin(prompt, queue.Hash(r.Prompt, nil), settled); err != nil {
		return Resumed{}, fmt.Errorf("resume: %w", s.stuck(err))
	}
	s.turn.drift = r.decision()
	s.turn.restore.mayFallBack = resume.Auto(r.Way)
	s.turn.restore.wanted = way == event.WaySegmented
	// An agent that is there may be a new one, which gets the account with its first prompt.
	fresh := way == event.WayLocal && s.fold.Untold && s.fold.Pauses.Way != event.WaySegmented
	if way != event.WayServer && !fresh {
		s.agent.anew = true
		s.agent.stop(stopSleep)
	}
	return Resumed{PromptID: promptID, Way: way}, nil
}

// mayBringBack checks a resume of a session that no interruption holds.
func (s *resumer) mayBringBack(r ResumeRequest) error {
	if err := s.refusal(); err != nil {
		return err
	}
	switch open := s.fold.Interruptions.Open; {
	case open != nil:
		return fmt.Errorf("%w: a turn is interrupted: resume or dismiss interruption %s", state.ErrConflict, open.InterruptionID)
	case r.Prompt != "" || r.Drift != "" || len(r.Confirm) > 0 || r.WithoutSetup:
		return fmt.Errorf("%w: no turn is interrupted, so only a way can be chosen", state.ErrInvalid)
	case s.fold.Ended:
		return fmt.Errorf("%w: the session has ended; a prompt continues it", state.ErrConflict)
	case s.fold.Open:
		return fmt.Errorf("%w: a turn is open", state.ErrBusy)
	case s.undoing:
		return fmt.Errorf("%w: an undo is under way", state.ErrBusy)
	}
	return nil
}

// bringBack ends the pause, if there is one, and starts the agent. A way of which the agent has
// no memory begins a new agent session; the next prompt tells it this one. The same
// again does nothing.
func (s *resumer) bringBack(r ResumeRequest) (Resumed, error) {
	if err := s.mayBringBack(r); err != nil {
		return Resumed{}, err
	}
	chosen := !resume.Auto(r.Way)
	facts := resume.Facts{Remembers: s.fold.Remembered() != "" || s.fold.Given == 0}
	if !chosen && !facts.Remembers {
		facts.Segmented = s.resumeSettings().SegmentedFallback
	}
	if !chosen && s.fold.Pauses.Way != "" {
		r.Way = string(s.fold.Pauses.Way) // a person chose it, and no prompt has come since
	}
	if s.fold.Pauses.Now == nil && chosen && event.ResumeWay(r.Way) == s.fold.Pauses.Way {
		return Resumed{Way: s.fold.Pauses.Way}, nil
	}
	way, err := facts.Way(r.Way)
	if err != nil {
		return Resumed{}, err
	}
	if s.fold.Pauses.Now != nil || s.fold.Pauses.Resumable || way != event.WayServer {
		if _, err := s.write(s.entries(event.SessionResumed{Way: way, By: r.Actor.Name, ByID: r.Actor.ID})...); err != nil {
			return Resumed{}, fmt.Errorf("resume: %w", s.stuck(err))
		}
	}
	if way != event.WayServer {
		s.agent.stop(stopSleep)
	}
	s.agent.forgive()
	s.agent.wanted, s.dirty, s.list.flush = true, true, true
	return Resumed{Way: way}, nil
}
