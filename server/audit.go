package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// auditPage limits the records of one response.
const auditPage = 1000

func auditRoute(s *Server, c *call) error {
	after := int64(0)
	if text := c.r.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return invalid("after is the seq of a record")
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
func (s *Server) note(peer string, g auth.Grant, what audit.Record) {
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

// noteRefusal records a refused credential.
func (s *Server) noteRefusal(r *http.Request, err error) {
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

const (
	// refusalsAtOnce failed sign-ins are recorded individually, then one per
	// refusalEvery.
	refusalsAtOnce = 10
	refusalEvery   = time.Minute
)

// refusalBound keeps failed sign-ins from filling the audit trail.
type refusalBound struct {
	mu      sync.Mutex
	used    int       // guarded by mu
	since   time.Time // guarded by mu
	skipped int       // guarded by mu
}

// take reports whether to record a failed sign-in, and how many were skipped since
// the last record.
func (b *refusalBound) take(now time.Time) (skipped int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if freed := int(now.Sub(b.since) / refusalEvery); freed > 0 {
		b.used, b.since = max(b.used-freed, 0), now
	}
	if b.used >= refusalsAtOnce {
		b.skipped++
		return 0, false
	}
	b.used++
	skipped, b.skipped = b.skipped, 0
	return skipped, true
}
