package search

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// Kind is a kind of text that is searched.
type Kind string

// The kinds: a person's prompt, the agent's message, a tool's title and command.
const (
	KindPrompt  Kind = "prompt"
	KindMessage Kind = "message"
	KindTool    Kind = "tool"
)

// Values are the kinds.
func (Kind) Values() []string {
	return []string{string(KindPrompt), string(KindMessage), string(KindTool)}
}

// Has reports whether events of a type are of the kind.
func (k Kind) Has(t event.Type) bool {
	switch t {
	case event.TypeUserPrompt:
		return k == KindPrompt
	case event.TypeAgentMessage:
		return k == KindMessage
	}
	return k == KindTool
}

// Filter selects what is found. The zero Filter selects everything.
type Filter struct {
	// Session selects one session, Project those with this project root or workspace,
	// Agent those with this agent, Lifecycle those that are so far.
	Session, Project, Agent string
	Lifecycle               state.Lifecycle
	// Kind selects one kind of text.
	Kind Kind
	// By selects the prompts of this person, by name or id.
	By string
	// From and To select what began in this time, To excluded.
	From, To time.Time
}

// Check reports an unknown value and a time that ends before it begins, as ErrInvalid.
func (f Filter) Check() error {
	switch f.Kind {
	case "", KindPrompt, KindMessage, KindTool:
	default:
		return state.About("kind", fmt.Errorf("%w: kind is one of %s", state.ErrInvalid, strings.Join(f.Kind.Values(), ", ")))
	}
	if f.Lifecycle != "" {
		if !slices.Contains(f.Lifecycle.Values(), string(f.Lifecycle)) {
			return state.About("lifecycle", fmt.Errorf("%w: lifecycle is one of %s", state.ErrInvalid, strings.Join(f.Lifecycle.Values(), ", ")))
		}
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		return state.About("to", fmt.Errorf("%w: to is before from", state.ErrInvalid))
	}
	return nil
}

// keeps reports whether the filter selects a passage of a session that it selects.
func (f Filter) keeps(p Passage) bool {
	began := p.Pieces[0].Time
	return (f.Kind == "" || f.Kind.Has(p.Type)) && (f.By == "" || f.By == p.By || f.By == p.ByID) &&
		(f.From.IsZero() || !began.Before(f.From)) && (f.To.IsZero() || began.Before(f.To))
}

// selects reports whether the filter selects a session. Of its lifecycle it asks only if it
// must.
func (f Filter) selects(md journal.Metadata, lifecycle func(journal.Metadata) state.Lifecycle) bool {
	return (f.Session == "" || f.Session == md.SessionID) &&
		(f.Project == "" || f.Project == md.ProjectRoot || f.Project == md.Workspace) &&
		(f.Agent == "" || f.Agent == md.Agent) &&
		(f.Lifecycle == "" || lifecycle != nil && f.Lifecycle == lifecycle(md))
}

// SelectsLine reports whether the filter selects a session by its line in a list.
func (f Filter) SelectsLine(i state.Info) bool {
	return (f.Session == "" || f.Session == i.SessionID) &&
		(f.Project == "" || f.Project == i.ProjectRoot || f.Project == i.Workspace) &&
		(f.Agent == "" || f.Agent == i.Agent) &&
		(f.Lifecycle == "" || f.Lifecycle == i.Lifecycle)
}
