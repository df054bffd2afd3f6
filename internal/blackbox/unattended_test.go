package blackbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// solitude is a session without a viewer until a test joins one. The test reads its
// file, because a screen would count as a viewer.
type solitude struct {
	t       *testing.T
	h       *hub
	session wire.SessionInfo
	teller  *wireTap // observes no session
}

// ask sends a prompt whose agent asks for a permission, and returns the logged
// request.
func (s *solitude) ask(promptID string) event.Event {
	s.t.Helper()
	n := len(s.recorded(event.TypePermissionRequest))
	s.teller.write(`{"type":"prompt","request_id":"r","session_id":"` + s.session.SessionID + `","prompt_id":"` + promptID + `","text":"/ask (` + promptID + `)"}`)
	s.teller.next("prompt_received")
	return s.wait(event.TypePermissionRequest, n)
}

// join adds a viewer and waits until the session counts it.
func (s *solitude) join() *wireTap {
	s.t.Helper()
	w := s.h.raw("/api/sessions/" + s.session.SessionID + "/ws")
	for len(w.next("state").(*wire.State).Observers) == 0 {
	}
	return w
}

// answer settles a request as the viewer.
func (s *solitude) answer(w *wireTap, request event.Event) {
	s.t.Helper()
	var asked event.PermissionRequest
	require.NoError(s.t, json.Unmarshal(request.Data, &asked))
	w.write(`{"type":"permission_answer","request_id":"a","session_id":"` + s.session.SessionID + `","permission_id":"` + asked.PermissionID + `","option_id":"yes"}`)
	w.next("permission_resolved")
}

// outcome waits for the n-th outcome, from 0, and for the end of its turn. It
// returns the outcome and its time.
func (s *solitude) outcome(n int) (event.PermissionOutcome, time.Time) {
	s.t.Helper()
	e := s.wait(event.TypePermissionOutcome, n)
	s.wait(event.TypeTurnEnd, n)
	var o event.PermissionOutcome
	require.NoError(s.t, json.Unmarshal(e.Data, &o))
	return o, e.Time
}

func (s *solitude) wait(kind event.Type, n int) event.Event {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return len(s.recorded(kind)) > n }, patience, 10*time.Millisecond, "%s %d", kind, n)
	return s.recorded(kind)[n]
}

func (s *solitude) recorded(kind event.Type) []event.Event {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.h.data, "sessions", s.session.SessionID, "events.jsonl"))
	require.NoError(s.t, err)
	var all []event.Event
	for line := range bytes.Lines(data) {
		var e event.Event
		if json.Unmarshal(line, &e) == nil && e.Type == kind { // the last line may be incomplete
			all = append(all, e)
		}
	}
	return all
}

// TestTheConfigurationSaysWhatBecomesOfRequestsNobodyWatches sets each value of
// permissions.unattended while the hub runs: without a viewer, with one, and with
// one that joins or leaves in between. Each edit replaces the file like an editor
// does.
func TestTheConfigurationSaysWhatBecomesOfRequestsNobodyWatches(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{more: "permissions: {unattended: deny}\n"})
	s := &solitude{t: t, h: h, session: h.create("demo"), teller: h.raw("/api/ws")}
	before, err := os.ReadFile(h.config)
	require.NoError(t, err)
	base, _, _ := bytes.Cut(before, []byte("permissions:"))
	save := func(policy, logged string, times int) {
		require.NoError(t, os.WriteFile(h.config+"~", fmt.Appendf(nil, "%spermissions: %s\n", base, policy), 0o600))
		require.NoError(t, os.Rename(h.config+"~", h.config))
		require.Eventually(t, func() bool { return strings.Count(h.logged(), logged) == times }, patience, 10*time.Millisecond, logged)
	}
	const unwatched = "no person watches this session"

	s.ask("deny")
	denied, _ := s.outcome(0)
	require.Equal(t, event.PermissionOutcome{PermissionID: denied.PermissionID, Outcome: event.OutcomeSelected, OptionID: "no", By: "hub", Reason: unwatched}, denied)
	person := s.join()
	s.answer(person, s.ask("deny, watched"))
	answered, _ := s.outcome(1)
	require.NotEqual(t, "hub", answered.By, "it was denied while a person watched")
	s.ask("deny, left alone")
	person.conn.CloseNow()
	left, _ := s.outcome(2)
	require.Equal(t, unwatched, left.Reason)

	save("{unattended: allow}", `permissions.unattended: \"allow\" is neither wait nor deny`, 1)
	require.Contains(t, h.logged(), fmt.Sprintf("%s:%d: permissions", h.config, bytes.Count(base, []byte("\n"))+1))
	s.ask("still deny")
	denied, _ = s.outcome(3)
	require.Equal(t, "no", denied.OptionID, "an invalid edit changed a setting")

	save("{unattended: wait, wait_limit: 5s}", "configuration applied", 1)
	asked := s.ask("wait a while")
	denied, at := s.outcome(4)
	require.Equal(t, unwatched, denied.Reason)
	require.GreaterOrEqual(t, at.Sub(asked.Time), 5*time.Second)
	asked = s.ask("wait a while, joined")
	person = s.join()
	time.Sleep(time.Until(asked.Time.Add(6 * time.Second))) // the limit passes while a viewer is connected
	s.answer(person, asked)
	answered, _ = s.outcome(5)
	require.NotEqual(t, "hub", answered.By)
	person.conn.CloseNow()

	save("{unattended: wait}", "configuration applied", 2)
	asked = s.ask("wait for ever")
	time.Sleep(time.Until(asked.Time.Add(6 * time.Second))) // longer than the former limit
	require.Len(t, s.recorded(event.TypePermissionOutcome), 6)
	save("{unattended: deny}", "configuration applied", 3)
	denied, _ = s.outcome(6)
	require.Equal(t, unwatched, denied.Reason, "an edit applies to an open request")
}
