package screen

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// act is something to do with a session.
type act string

const (
	actView      act = "View"
	actReturn    act = "Return"
	actAttach    act = "Attach"
	actResume    act = "Resume"
	actSegmented act = "Segmented"
	actServer    act = "Server"
)

func listActs() []act { return []act{actView, actAttach, actResume, actSegmented, actServer} }
func viewActs() []act { return []act{actReturn, actAttach, actResume, actSegmented, actServer} }

// way is how an act gives the agent its memory back; empty if it does not.
func (a act) way() string {
	return map[act]string{actResume: "auto", actSegmented: string(event.WaySegmented), actServer: string(event.WayServer)}[a]
}

// act does what the person chose. In a session of another project it asks first.
func (m *model) act(a act, s wire.SessionInfo) tea.Cmd {
	switch a {
	case actView:
		return m.open(s)
	case actReturn:
		return m.close()
	}
	if own := rootOf(s); m.o.Project != "" && own != m.o.Project {
		m.asked = &asking{
			text: "y: go on there, c: continue it here. This session works in " + plain.Line(own) + ", not here",
			keys: map[string]tea.Cmd{"y": func() tea.Msg { return sure{a, s} }, "c": m.fork(s)},
		}
		return nil
	}
	return m.sure(sure{a, s})
}

// sure is an act that is confirmed.
type sure struct {
	do      act
	session wire.SessionInfo
}

func (m *model) sure(of sure) tea.Cmd {
	if of.do == actAttach {
		if m.view != nil {
			return m.sit()
		}
		return tea.Batch(m.open(of.session), m.sit())
	}
	m.notice = "Resuming …"
	return m.resume(of.session, wire.Resume{Way: of.do.way()}, false)
}

// here is the session that continues another one in this project.
type here struct{ session wire.SessionInfo }

// fork continues a session of another project in this one.
func (m *model) fork(s wire.SessionInfo) tea.Cmd {
	key, seq := client.NewKey(), s.MaxSeq
	if m.view != nil {
		seq = max(seq, m.view.window.end)
	}
	return func() tea.Msg {
		made, err := client.Again(m.ctx, func() (wire.SessionInfo, error) {
			return m.o.Hub.Fork(m.ctx, s.SessionID, wire.NewFork{Seq: seq, Workspace: m.o.Project}, key)
		})
		if err != nil {
			return failed{err}
		}
		return here{made}
	}
}

func rootOf(s wire.SessionInfo) string {
	if s.ProjectRoot != "" {
		return s.ProjectRoot
	}
	return s.Workspace
}

// resume brings the agent back. What the hub wants confirmed is asked, and how much an
// agent is told before it is told all of a session.
func (m *model) resume(s wire.SessionInfo, r wire.Resume, told bool) tea.Cmd {
	return func() tea.Msg {
		open, err := m.o.Hub.Interruption(m.ctx, s.SessionID)
		refused := (*client.RefusedError)(nil)
		if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
			err = nil
		}
		if err != nil {
			return failed{err}
		}
		r.InterruptionID = open.InterruptionID
		for _, w := range open.Ways {
			if !told && r.Way == string(event.WaySegmented) && w.Way == event.WaySegmented && w.Available {
				return ask{asking{
					text: fmt.Sprintf("The agent is told the session in %d segment%s, about %d tokens. y: go on", w.Segments, map[bool]string{false: "s"}[w.Segments == 1], w.Tokens),
					keys: map[string]tea.Cmd{"y": m.resume(s, r, true)},
				}}
			}
		}
		_, err = m.o.Hub.Resume(m.ctx, s.SessionID, r)
		if errors.As(err, &refused) && len(refused.Needs) > 0 {
			return m.confirm(s, r, refused)
		}
		if err != nil {
			return failed{err}
		}
		return resumed{s}
	}
}

// resumed says that the agent comes back.
type resumed struct{ session wire.SessionInfo }

// confirm asks for what a resume needs.
func (m *model) confirm(s wire.SessionInfo, r wire.Resume, refused *client.RefusedError) tea.Msg {
	text := plain.Line(refused.Message)
	r.Confirm = append(slices.Clone(r.Confirm), slices.DeleteFunc(slices.Clone(refused.Needs), func(n string) bool { return n == "drift" })...)
	if !slices.Contains(refused.Needs, "drift") {
		return ask{asking{text + " y: go on", map[string]tea.Cmd{"y": m.resume(s, r, true)}}}
	}
	apply, keep := r, r
	apply.Drift, keep.Drift = "apply", "keep"
	return ask{asking{
		text + " a: the session's settings, k: those it comes back with",
		map[string]tea.Cmd{"a": m.resume(s, apply, true), "k": m.resume(s, keep, true)},
	}}
}
