package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// reads acks a session as visible, and returns when the hub has processed it.
func (p *peer) reads(s *session.BackgroundSession, seq event.Seq) {
	p.t.Helper()
	p.send(&wire.Ack{SessionID: s.ID(), Seq: seq, Visible: true})
	p.settles()
}

// settles waits until the hub has processed everything sent before.
func (p *peer) settles() {
	p.t.Helper()
	p.send(&wire.Ping{Nonce: "settled"})
	find(p, func(m *wire.Pong) bool { return m.Nonce == "settled" })
}

// readSeq returns the read mark of a credential's person, which the session and the
// list must both show.
func (h *hub) readSeq(s *session.BackgroundSession, as http.Header) event.Seq {
	h.t.Helper()
	var line wire.SessionInfo
	h.do("GET", "/api/sessions/"+s.ID(), nil, as).decode(h.t, &line)
	var list wire.SessionPage
	h.do("GET", "/api/sessions?limit=200", nil, as).decode(h.t, &list)
	for _, of := range list.Sessions {
		if of.SessionID == s.ID() {
			require.Equal(h.t, line.ReadSeq, of.ReadSeq)
			if line.ReadSeq == nil {
				return 0
			}
			return *line.ReadSeq
		}
	}
	h.t.Fatal("the session is not in the list")
	return 0
}

func (h *hub) watch(s *session.BackgroundSession, as http.Header) *peer {
	h.t.Helper()
	p := h.dialAs("/api/sessions/"+s.ID()+"/ws", as)
	find[*wire.EventsLoaded](p, nil)
	return p
}

func TestAReadMarkCountsOnAllDevicesOfAPerson(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 3")
	phone, desk := h.device("phone"), h.device("desk")
	require.NotContains(t, h.do("GET", "/api/sessions/"+s.ID(), nil, desk).body, "read_seq", "never read")
	other := h.dialAs("/api/ws", desk)
	p := h.watch(s, phone)
	p.reads(s, 5)
	line := find(other, func(m *wire.Session) bool { return m.Session.ReadSeq != nil && *m.Session.ReadSeq > 0 })
	require.EqualValues(t, 5, *line.Session.ReadSeq)
	require.EqualValues(t, 5, h.readSeq(s, desk))
	require.EqualValues(t, 5, h.readSeq(s, bearer(h.token)), "a token of the owner is the same person")
}

func TestAMarkMovesForwardOnlyAndOnlyByWhatIsSeen(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 3")
	p := h.watch(s, bearer(h.token))
	p.reads(s, 4)
	p.reads(s, 2)
	require.EqualValues(t, 4, h.readSeq(s, bearer(h.token)), "never back")
	p.send(&wire.Ack{SessionID: s.ID(), Seq: 5, Visible: false})
	p.settles()
	require.EqualValues(t, 4, h.readSeq(s, bearer(h.token)), "an ack of a hidden screen counted")
	p.send(&wire.Ack{SessionID: s.ID(), Seq: s.Log().Marks().Visible + 1, Visible: true})
	require.Equal(t, wire.CodeInvalid, find[*wire.Error](p, nil).Code)
	require.EqualValues(t, 4, h.readSeq(s, bearer(h.token)), "never beyond the log")
}

func TestAnAckOfAnotherEpochMovesNothingAndTheSocketLives(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 3")
	p := h.watch(s, bearer(h.token))
	for _, seq := range []event.Seq{4, s.Log().Marks().Visible + 1000} {
		p.send(&wire.Ack{SessionID: s.ID(), Epoch: "0123456789abcdef", Seq: seq, Visible: true})
	}
	p.send(&wire.Ping{Nonce: "told"})
	find(p, func(m wire.Message) bool {
		_, refused := m.(*wire.Error)
		require.False(t, refused, "an ack of an old epoch was refused")
		pong, ok := m.(*wire.Pong)
		return ok && pong.Nonce == "told"
	})
	require.Zero(t, h.readSeq(s, bearer(h.token)))
	p.send(&wire.Ack{SessionID: s.ID(), Epoch: s.Log().Epoch(), Seq: 4, Visible: true})
	p.settles()
	require.EqualValues(t, 4, h.readSeq(s, bearer(h.token)))
}

func TestAViewersReadMarkIsTheViewersAlone(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 3")
	viewer := bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()}))
	helper := bearer(h.mint(auth.TokenRequest{Scope: auth.Collaborator, SessionID: s.ID()}))
	bound := bearer(h.mint(auth.TokenRequest{Scope: auth.Owner, SessionID: s.ID()}))
	p := h.watch(s, bearer(h.token))
	p.reads(s, 2)
	for i, as := range []http.Header{viewer, helper, bound} {
		h.watch(s, as).reads(s, event.Seq(3+i))
	}
	require.EqualValues(t, 2, h.readSeq(s, bearer(h.token)))
	require.EqualValues(t, 3, h.readSeq(s, viewer))
	require.EqualValues(t, 4, h.readSeq(s, helper))
	require.EqualValues(t, 5, h.readSeq(s, bound))
}

func TestMarksOutliveTheHubHoweverItEnds(t *testing.T) {
	dir := t.TempDir()
	h := startHub(t, hubOptions{dir: dir})
	s := h.session()
	h.prompt(s, "p1", "say 3")
	p := h.watch(s, bearer(h.token))
	p.reads(s, 3)
	file := filepath.Join(dir, "read.json")
	saved := func() string { data, _ := os.ReadFile(file); return string(data) }
	require.Eventually(t, func() bool { return saved() != "" }, patience, 5*time.Millisecond)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	killed := saved() // the file as a killed hub would leave it
	p.reads(s, 4)
	h.stop()
	require.NotEqual(t, killed, saved(), "a stopped hub did not save the marks")
	h = startHub(t, hubOptions{dir: dir})
	require.EqualValues(t, 4, h.readSeq(s, bearer(h.token)))
	h.stop()
	require.NoError(t, os.WriteFile(file, []byte(killed), 0o600))
	require.NoError(t, os.WriteFile(file+".tmp", []byte(`{"form`), 0o600))
	h = startHub(t, hubOptions{dir: dir})
	require.EqualValues(t, 3, h.readSeq(s, bearer(h.token)))
	p = h.watch(mustSession(t, h, s.ID()), bearer(h.token))
	p.reads(s, 5)
	require.EqualValues(t, 5, h.readSeq(s, bearer(h.token)))
}

func TestAMarkOfAnotherEpochIsNone(t *testing.T) {
	dir := t.TempDir()
	h := startHub(t, hubOptions{dir: dir})
	s := h.session()
	h.prompt(s, "p1", "say 3")
	h.stop()
	file := `{"format":1,"people":{"owner":{"` + s.ID() + `":{"epoch":"0123456789abcdef","seq":5,"at":1}}}}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "read.json"), []byte(file), 0o600))
	h = startHub(t, hubOptions{dir: dir})
	require.Zero(t, h.readSeq(s, bearer(h.token)))
	h.watch(s, bearer(h.token)).reads(s, 2)
	require.EqualValues(t, 2, h.readSeq(s, bearer(h.token)), "a mark of this epoch replaces one of an earlier epoch")
}

func TestMarksThatCannotBeReadAreSetAside(t *testing.T) {
	for name, content := range map[string]string{"damaged": `{"format":1,"peo`, "of another version": `{"format":2}`} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "read.json")
			require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
			h := startHub(t, hubOptions{dir: dir})
			require.Contains(t, h.log.String(), "read.json")
			kept, err := os.ReadFile(file + ".damaged")
			require.NoError(t, err)
			require.Equal(t, content, string(kept))
			s := h.session()
			h.watch(s, bearer(h.token)).reads(s, 1)
			require.EqualValues(t, 1, h.readSeq(s, bearer(h.token)))
		})
	}
}

// told returns the read mark in the session's line of the list.
func (h *hub) told(s *session.BackgroundSession, as http.Header) *event.Seq {
	h.t.Helper()
	var line wire.SessionInfo
	h.do("GET", "/api/sessions/"+s.ID(), nil, as).decode(h.t, &line)
	return line.ReadSeq
}

func TestANewSessionIsUnreadUntilThePersonLooks(t *testing.T) {
	dir := t.TempDir()
	h := startHub(t, hubOptions{dir: dir})
	old := h.session()
	h.prompt(old, "p1", "say 3")
	phonePage := h.page("phone", nil)
	phone := phonePage.header()
	quiet, made := h.session(), h.session()
	h.prompt(made, "p1", "say 3")
	deskPage := h.page("desk", nil) // the same person, already connected
	desk := deskPage.header()

	for _, as := range []http.Header{phone, desk, bearer(h.token)} {
		require.Nil(t, h.told(old, as), "a session older than the person has no mark")
		require.Nil(t, h.told(quiet, as), "a session without messages has no mark")
		require.Equal(t, new(event.Seq(0)), h.told(made, as))
	}
	viewer := bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: made.ID()}))
	require.Nil(t, h.told(made, viewer), "a new person has no mark")

	h.stop()
	h = startHub(t, hubOptions{dir: dir})
	phone, desk = phonePage.again(h), deskPage.again(h)
	require.Equal(t, new(event.Seq(0)), h.told(made, phone), "the mark is lost after a restart")
	h.watch(mustSession(t, h, made.ID()), phone).reads(mustSession(t, h, made.ID()), 4)
	require.Equal(t, new(event.Seq(4)), h.told(made, desk))
	require.Nil(t, h.told(mustSession(t, h, old.ID()), desk))
}

func TestAPersonOfAnOlderHubIsHereSinceTheirFirstMark(t *testing.T) {
	dir := t.TempDir()
	h := startHub(t, hubOptions{dir: dir})
	before, after := h.session(), h.session()
	for _, s := range []*session.BackgroundSession{before, after} {
		h.prompt(s, "p1", "say 3")
	}
	h.stop()
	for at, news := range map[int64]bool{1: true, time.Now().Unix() + 60: false} {
		file := fmt.Sprintf(`{"format":1,"people":{"owner":{%q:{"epoch":%q,"seq":2,"at":%d}}}}`, before.ID(), before.Log().Epoch(), at)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "read.json"), []byte(file), 0o600))
		h = startHub(t, hubOptions{dir: dir})
		require.Equal(t, news, h.told(after, bearer(h.token)) != nil)
		require.Equal(t, new(event.Seq(2)), h.told(before, bearer(h.token)))
		h.stop()
	}
}

func TestADeletedSessionLeavesNoMark(t *testing.T) {
	dir := t.TempDir()
	h := startHub(t, hubOptions{dir: dir})
	gone, stays := h.session(), h.session()
	for _, s := range []*session.BackgroundSession{gone, stays} {
		h.watch(s, bearer(h.token)).reads(s, 1)
	}
	require.Equal(t, 204, h.api("DELETE", "/api/sessions/"+gone.ID(), nil).status)
	h.stop()
	data, err := os.ReadFile(filepath.Join(dir, "read.json"))
	require.NoError(t, err)
	require.Contains(t, string(data), stays.ID())
	require.NotContains(t, string(data), gone.ID())
}
