package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// How long a blocked agent waits before it tries to be recorded again.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

var errDetached = errors.New("the session no longer listens to this agent")

// sink is one agent's way into the session: an AgentSink.
type sink struct {
	b *BackgroundSession
	// ctx ends when the agent is no longer wanted while it is being started.
	ctx    context.Context
	cancel context.CancelFunc
	closed chan struct{}
	once   sync.Once
}

func newSink(b *BackgroundSession) *sink {
	ctx, cancel := context.WithCancel(context.Background())
	return &sink{b: b, ctx: ctx, cancel: cancel, closed: make(chan struct{})}
}

// close lets go of an agent that waits to be recorded.
func (s *sink) close() {
	s.once.Do(func() {
		s.cancel()
		close(s.closed)
	})
}

// Record implements AgentSink. It encodes in the agent's goroutine, and waits
// in it while the log is blocked: the session's goroutine never does.
func (s *sink) Record(ctx context.Context, payloads []event.Payload) error {
	drafts := make([]event.Draft, len(payloads))
	payloads = append([]event.Payload(nil), payloads...)
	now := time.Now()
	for i, p := range payloads {
		draft, err := event.NewDraft(p, 0, now)
		if err != nil {
			payloads[i] = unreadable(p, err)
			if draft, err = event.NewDraft(payloads[i], 0, now); err != nil {
				return err
			}
		}
		drafts[i] = draft
	}
	retry := firstRetry
	for len(payloads) > 0 {
		done, err := ask(ctx, s.b, func(e *engine) (int, error) { return e.record(s, payloads, drafts) })
		payloads, drafts = payloads[done:], drafts[done:]
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrBlocked) {
			return err
		}
		if err := s.pause(ctx, retry); err != nil {
			return err
		}
		retry = min(2*retry, lastRetry)
	}
	return nil
}

func (s *sink) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.closed:
		return errDetached
	case <-s.b.done:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unreadable stands for something the agent said that no log can hold.
func unreadable(p event.Payload, err error) event.Payload {
	return event.Error{
		Code:    "unreadable",
		Message: fmt.Sprintf("the agent sent a %s that cannot be recorded", p.EventType()),
		Detail:  err.Error(),
	}
}

// record writes an agent's output. It returns how many payloads are settled; after
// an error the rest may be offered again.
func (e *engine) record(s *sink, payloads []event.Payload, drafts []event.Draft) (done int, err error) {
	if e.agent.sink != s {
		return 0, errDetached
	}
	if e.health.frozen != nil {
		return 0, e.recordFrozen(payloads)
	}
	e.noteHeard(payloads)
	for done < len(payloads) {
		n := 0
		for done+n < len(payloads) && !e.moves(payloads[done+n]) {
			n++
		}
		if n > 0 {
			err = e.recordStream(payloads[done:done+n], drafts[done:done+n])
		} else {
			n = 1
			err = e.recordMove(payloads[done])
		}
		if err != nil {
			return done, fmt.Errorf("record what the agent said: %w", err)
		}
		done += n
	}
	return done, nil
}

// noteHeard remembers that the agent spoke. The hub's notes about its silence are
// not counted.
func (e *engine) noteHeard(payloads []event.Payload) {
	for _, p := range payloads {
		if _, silent := p.(event.AgentStalled); !silent {
			e.agent.heard = time.Now()
			return
		}
	}
}

// recordFrozen is called when the log can no longer be written: the agent is
// stopped, and its exit is noticed.
func (e *engine) recordFrozen(payloads []event.Payload) error {
	for _, p := range payloads {
		if _, ok := p.(event.AgentExit); ok {
			e.agentGone()
			e.agent.become(AgentFailed, e.b.stuck(store.ErrFrozen).Error())
			return e.health.frozen
		}
	}
	e.stopAgent(stopBroken)
	return e.health.frozen
}

// moves reports whether a payload is more than one line of the stream: it moves
// the turn, the agent or a permission request.
func (e *engine) moves(p event.Payload) bool {
	switch p.(type) {
	case event.AgentStarted, event.AgentExit, event.TurnEnd, event.PermissionRequest, event.PermissionOutcome:
		return true
	}
	return false
}

// recordStream writes an event that needs only its turn.
func (e *engine) recordStream(payloads []event.Payload, drafts []event.Draft) error {
	payloads, drafts, answer := e.turn.restore.aside(payloads, drafts)
	if len(payloads) == 0 {
		e.turn.restore.heard(answer)
		return nil
	}
	list := make([]entry, len(payloads))
	announced := map[string]int{} // calls of this batch, which the fold has not seen yet
	for i, p := range payloads {
		id := toolCallID(p)
		turn, here := announced[id]
		if !here {
			turn = e.fold.turnOf(p)
		}
		if _, ok := p.(event.ToolCall); ok {
			announced[id] = turn
		}
		list[i] = entry{turn, p}
		drafts[i].Turn = turn
	}
	_, err := e.writeDrafts(drafts, list)
	if err == nil {
		e.turn.restore.heard(answer)
	}
	if err == nil && e.fold.open && slices.ContainsFunc(payloads, endsTool) {
		e.turn.seen.due = true
	}
	return err
}

// endsTool reports whether a payload ends a tool call, which may have changed files.
func endsTool(p event.Payload) bool {
	switch p := p.(type) {
	case event.ToolCall:
		return p.Status.Done()
	case event.ToolCallUpdate:
		return p.Status.Done()
	}
	return false
}

func (e *engine) recordMove(p event.Payload) error {
	switch p := p.(type) {
	case event.AgentStarted:
		return e.recordStarted(p)
	case event.AgentExit:
		return e.agentExited(p)
	case event.TurnEnd:
		if open := e.turn.restore.open; open != "" && p.PromptID == open {
			return e.segmentEnded(p)
		}
		return e.recordTurnEnd(p)
	case event.PermissionRequest:
		if e.turn.restore.step == restoreTelling {
			return e.refuseInRestore(p)
		}
		return e.questions.recordRequest(p)
	case event.PermissionOutcome:
		return e.questions.recordWithdrawal(p)
	}
	return nil
}

// recordStarted notes the agent that answers now, and tells people when it has no
// memory of the session so far.
func (e *engine) recordStarted(p event.AgentStarted) error {
	lost := p.Resumed == "" && e.fold.given > 0
	p.ContextLost = lost
	p.Settings = e.settingsOf(p)
	list := append(e.goneTools(p.Settings.MCPServers), e.entries(p)...)
	if lost {
		list = append(list, e.entries(event.Note{
			Method: "abide/context_lost",
			Text:   "The agent was started anew and does not remember the conversation above.",
		})...)
	}
	if _, err := e.write(list...); err != nil {
		return err
	}
	e.agent.version, e.agent.offers, e.agent.resumed = p.Version, offersOf(p), p.Resumed
	e.dirty = true
	return nil
}
