package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
)

// State is the state of a session as of Seq, beside its transcript. It holds no
// text of messages and no output. The zero value is a session before its first
// event. One goroutine uses it.
type State struct {
	Seq event.Seq
	// At is the latest time so far: clocks may go back.
	At time.Time
	// Turn is the latest turn; 0 before the first. Open says that it has not ended.
	Turn int
	Open bool
	// Calls are the tool calls that have not ended, and Questions the requests that
	// are not answered, oldest first.
	Calls     []OpenCall
	Questions []Question
	Plan      []event.PlanEntry
	Mode      string
	Options   json.RawMessage
	Usage     *event.Usage
	Title     string
}

// OpenCall is a tool call that has not ended. Turn and ToolCallID name it.
type OpenCall struct {
	Turn              int
	ToolCallID, Title string
	Kind              event.ToolKind
	Status            event.ToolStatus
}

// Question is a request that is not answered.
type Question struct{ PermissionID, Title string }

// Clone is a copy that goes on by itself.
func (s *State) Clone() State {
	c := *s
	c.Calls, c.Questions = slices.Clone(s.Calls), slices.Clone(s.Questions)
	return c
}

// Skim folds the next event in without its data, and reports whether Apply looks at
// data of its type. It spares decoding the bulk of a log.
func (s *State) Skim(e event.Event) (more bool) {
	s.Seq = e.Seq
	if e.Time.After(s.At) {
		s.At = e.Time
	}
	switch e.Type {
	case event.TypeUserPrompt, event.TypeTurnEnd, event.TypeToolCall, event.TypeToolCallUpdate, event.TypePermissionRequest,
		event.TypePermissionOutcome, event.TypePlan, event.TypeMode, event.TypeConfig, event.TypeUsage, event.TypeTitle:
		return true
	}
	return false
}

// Apply folds the next event in. Data that cannot be decoded changes nothing but Seq.
func (s *State) Apply(e event.Event) {
	if !s.Skim(e) {
		return
	}
	payload, err := e.Payload()
	if err != nil {
		return
	}
	switch p := payload.(type) {
	case event.UserPrompt:
		s.Turn, s.Open = max(s.Turn, e.Turn), true
	case event.TurnEnd:
		s.Open = false
	case event.ToolCall:
		s.call(e.Turn, p.ToolCallFields)
	case event.ToolCallUpdate:
		s.call(e.Turn, p.ToolCallFields)
	case event.PermissionRequest:
		s.Questions = append(s.Questions, Question{p.PermissionID, p.Title})
	case event.PermissionOutcome:
		s.Questions = slices.DeleteFunc(s.Questions, func(q Question) bool { return q.PermissionID == p.PermissionID })
	case event.Plan:
		s.Plan = p.Entries
	case event.Mode:
		s.Mode, s.Options = p.ModeID, OptionsIn(p.ModeID, s.Options)
	case event.Config:
		s.Options = p.Options
		s.Mode = ModeIn(p.Options, &event.Mode{ModeID: s.Mode}).ModeID
	case event.Usage:
		p.Raw = nil
		s.Usage = &p
	case event.Title:
		s.Title = p.Title
	}
}

// maxCalls bounds the calls that are kept as open: the newest.
const maxCalls = 1000

func (s *State) call(turn int, update event.ToolCallFields) {
	at := slices.IndexFunc(s.Calls, func(c OpenCall) bool { return c.Turn == turn && c.ToolCallID == update.ToolCallID })
	if update.Status.Done() {
		if at >= 0 {
			s.Calls = slices.Delete(s.Calls, at, at+1)
		}
		return
	}
	if at < 0 {
		if len(s.Calls) == maxCalls {
			s.Calls = slices.Delete(s.Calls, 0, 1)
		}
		s.Calls = append(s.Calls, OpenCall{Turn: turn, ToolCallID: update.ToolCallID})
		at = len(s.Calls) - 1
	}
	c := &s.Calls[at]
	c.Title, c.Kind, c.Status = cmp.Or(update.Title, c.Title), cmp.Or(update.Kind, c.Kind), cmp.Or(update.Status, c.Status)
}
