package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/abidehub/abide/server/wire"
)

// UsageQuery asks what was used. Empty fields restrict nothing.
type UsageQuery struct {
	// By is what there is one row for: turn, session, project, agent or day, which is
	// meant if it is empty.
	By string
	// From and To are the first and the last day, YYYY-MM-DD in the hub's time zone.
	From, To string
	// Project, Agent and Session restrict the answer to one.
	Project, Agent, Session string
	// Machine is the id or the name of the machine that is asked; empty is the hub itself.
	Machine string
	// Limit is how many rows the answer has at most, 10,000 at most; 0 takes the hub's.
	Limit int
}

func (q UsageQuery) path() string {
	v := url.Values{}
	for name, value := range map[string]string{"by": q.By, "from": q.From, "to": q.To, "project": q.Project, "agent": q.Agent, "session": q.Session, "machine": q.Machine} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return "/api/usage?" + v.Encode()
}

// Usage asks what sessions used.
func (h *Hub) Usage(ctx context.Context, q UsageQuery) (u wire.Usage, err error) {
	err = h.do(ctx, http.MethodGet, q.path(), nil, &u)
	return u, err
}

// UsageCSV is Usage as a table of CSV, whose first line has the names of the columns.
func (h *Hub) UsageCSV(ctx context.Context, q UsageQuery) (text []byte, err error) {
	err = h.send(ctx, http.MethodGet, q.path(), http.Header{"Accept": {"text/csv"}}, nil, &text)
	return text, err
}

// Snapshot asks what a session is after all its events.
func (h *Hub) Snapshot(ctx context.Context, id string) (s wire.Snapshot, err error) {
	err = h.do(ctx, http.MethodGet, "/api/sessions/"+id+"/snapshot", nil, &s)
	return s, err
}
