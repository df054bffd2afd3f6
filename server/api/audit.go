package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// auditPage limits the records of one response.
const auditPage = 1000

// auditRows are the routes of this file.
func auditRows() section {
	return section{
		title: "Audit",
		rows: []route{
			{
				"GET", "/api/audit", auth.Credential, auth.Manage, false, auditRoute,
				doc{
					summary: "Grants, answers, deletions and refusals, oldest first, at most 1000 records. The oldest records may have been removed.",
					query:   []param{{"after", "the seq of the last record that is known; 0 is from the start", int64(0)}},
					out:     wire.AuditPage{}, status: 200,
				},
			},
		},
	}
}

func auditRoute(s *API, c *call) error {
	after := int64(0)
	if text := c.r.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return Invalid("after is the seq of a record")
		}
	}
	records, err := s.audit.After(after, auditPage)
	if err != nil {
		return err
	}
	answer := wire.AuditPage{Records: make([]wire.AuditRecord, len(records))}
	for i, r := range records {
		answer.Records[i] = wire.AuditRecord{
			Seq: r.Seq, Time: r.Time, Verb: string(r.Verb), By: r.By, ByID: r.ByID, Peer: r.Peer, SessionID: r.SessionID, Detail: r.Detail,
		}
	}
	return c.reply(http.StatusOK, answer)
}

// note records a change that a request of peer (its address) has made. The change
// is done, so a failed write does not fail the request.
func (s *API) note(peer string, g auth.Grant, what audit.Record) {
	by := g.By()
	what.By, what.ByID, what.Peer = by.Name, by.ID, peer
	if host, _, err := net.SplitHostPort(peer); err == nil {
		what.Peer = host
	}
	if g.ID == "" {
		what.By = ""
	}
	if err := s.audit.Append(what); err != nil {
		s.logger.Error("audit trail could not be written", "verb", what.Verb, "err", err)
	}
}

func (c *call) note(what audit.Record) { c.server.note(c.r.RemoteAddr, c.grant, what) }

// audited records each call of a route about an agent, also one that is refused.
func audited(verb audit.Verb, handle func(*API, *call) error) func(*API, *call) error {
	return func(s *API, c *call) error {
		err := handle(s, c)
		what := c.about
		what.Verb, what.Detail = verb, agentName(c)+what.Detail
		if err != nil {
			p, _ := Explain(err, "")
			what.Detail += "; refused: " + p.Message
		}
		c.note(what)
		return err
	}
}

// noteRefusal records a refused credential.
func (s *API) noteRefusal(r *http.Request, err error) {
	var refusal *auth.Refusal
	if !errors.As(err, &refusal) || refusal.Status != http.StatusUnauthorized && refusal.Status != http.StatusTooManyRequests {
		return
	}
	if r.Header.Get("Authorization") == "" && r.Header.Get("Cookie") == "" && r.URL.Path != "/api/pair" {
		return // no credential was presented
	}
	skipped, ok := s.refusals.take(time.Now())
	if !ok {
		return
	}
	detail := r.URL.Path + ": " + refusal.Message
	if skipped > 0 {
		detail = fmt.Sprintf("%s; %d more since the last record", detail, skipped)
	}
	s.note(r.RemoteAddr, auth.Grant{}, audit.Record{Verb: audit.SignInFailed, Detail: detail})
}
