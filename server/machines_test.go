package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// joined starts a home and a machine that has joined it.
func joined(t *testing.T, allow string) (home, machine *hub) {
	t.Helper()
	return joinedAs(t, allow, hubOptions{})
}

func joinedAs(t *testing.T, allow string, o hubOptions) (home, machine *hub) {
	t.Helper()
	home, machine = startHub(t, o), startHub(t, o)
	join(t, home, machine, allow)
	return home, machine
}

// joinedTo starts a machine that has joined a home.
func joinedTo(t *testing.T, home *hub, allow string) (_, machine *hub) {
	t.Helper()
	machine = startHub(t, hubOptions{})
	join(t, home, machine, allow)
	return home, machine
}

// join has a machine join a home.
func join(t *testing.T, home, machine *hub, allow string) {
	t.Helper()
	var link wire.MachineLink
	res := home.do("POST", "/api/machines/links", nil, bearer(home.token))
	require.Equal(t, http.StatusCreated, res.status, res.body)
	require.NoError(t, json.Unmarshal([]byte(res.body), &link))
	res = machine.do("POST", "/api/home", wire.NewHome{Link: link.URL, Name: "laptop", Allow: allow}, bearer(machine.token))
	require.Equal(t, http.StatusCreated, res.status, res.body)
	machineIs(t, home, "connected")
}

// machineIs waits until home says so of its only machine.
func machineIs(t *testing.T, home *hub, want string) wire.JoinedMachine {
	t.Helper()
	var m wire.Machines
	require.Eventually(t, func() bool {
		res := home.do("GET", "/api/machines", nil, bearer(home.token))
		require.NoError(t, json.Unmarshal([]byte(res.body), &m))
		return len(m.Machines) == 1 && m.Machines[0].State == want
	}, patience, time.Millisecond)
	return m.Machines[0]
}

// decoded is the body of an answer that is no refusal.
func decoded[T any](t *testing.T, res response) (body T) {
	t.Helper()
	require.Less(t, res.status, 300, res.body)
	require.NoError(t, json.Unmarshal([]byte(res.body), &body))
	return body
}

// listed waits until the list of home has so many sessions.
func listed(t *testing.T, home *hub, query string, count int) []wire.SessionInfo {
	t.Helper()
	var page wire.SessionPage
	require.Eventually(t, func() bool {
		res := home.do("GET", "/api/sessions"+query, nil, bearer(home.token))
		require.Equal(t, http.StatusOK, res.status, res.body)
		require.NoError(t, json.Unmarshal([]byte(res.body), &page))
		return len(page.Sessions) == count
	}, patience, time.Millisecond)
	return page.Sessions
}

func TestHomeListsTheSessionsOfItsMachinesAndRunsTheirRequestsThere(t *testing.T) {
	home, machine := joined(t, "act")
	here, there := home.session(), machine.session()
	for _, line := range listed(t, home, "", 2) {
		if line.SessionID == here.ID() {
			require.Nil(t, line.Machine)
			continue
		}
		require.Equal(t, &state.Machine{ID: machine.store.HubID(), Name: "laptop", State: "connected", Since: line.Machine.Since}, line.Machine)
	}
	require.Equal(t, there.ID(), listed(t, home, "?machine="+machine.store.HubID(), 1)[0].SessionID)
	require.Equal(t, here.ID(), listed(t, home, "?machine=here", 1)[0].SessionID)
	require.Equal(t, there.ID(), listed(t, home, "?q=laptop", 1)[0].SessionID)

	path := "/api/sessions/" + there.ID()
	res := home.do("POST", path+"/prompt", wire.NewPrompt{PromptID: "p1", Text: "say hello"}, bearer(home.token))
	require.Equal(t, http.StatusOK, res.status, res.body)
	machine.await(there, 0, "turn_end")
	res = home.do("POST", path+"/prompt", wire.NewPrompt{PromptID: "p1", Text: "say hello"}, bearer(home.token))
	require.Equal(t, http.StatusOK, res.status, "once: %s", res.body)
	res = home.do("GET", path+"/events?after_seq=0", nil, bearer(home.token))
	require.Equal(t, http.StatusOK, res.status, res.body)
	require.Contains(t, res.body, `"say hello"`)
	require.Contains(t, res.body, `"actor":"owner","by_id":"home:`)
	require.Equal(t, http.StatusForbidden, home.do("PATCH", path, wire.SessionPatch{}, bearer(home.token)).status, "act does not manage")
}

// A socket at home follows a machine's session in home's copy, whose bytes are the machine's,
// and what it says is carried out there. While the machine is away the copy is read.
func TestASocketAtHomeFollowsASessionOfAMachine(t *testing.T) {
	home, machine := joined(t, "manage")
	there := machine.session()
	machine.prompt(there, "p0", "say one")
	listed(t, home, "", 1)
	socket := home.dial("/api/ws")
	socket.send(&wire.Observe{RequestID: "r", SessionID: there.ID()})
	applied := event.Seq(0)
	follow := func(until func(wire.Message) bool) {
		for done := until(nil); !done; {
			m := socket.next()
			switch m := m.(type) {
			case *wire.EventsLoaded:
				applied = m.LastSeq
			case *wire.Events:
				require.Equal(t, applied+1, m.Events[0].Seq, "no gap, nothing twice")
				applied = m.Events[len(m.Events)-1].Seq
			case *wire.Error:
				require.Fail(t, m.Message)
			}
			done = until(m)
		}
	}
	follow(func(m wire.Message) bool {
		s, ok := m.(*wire.State)
		return ok && s.Turn.State == state.TurnIdle && applied >= 5
	})
	before := there.Log().Marks().Visible
	socket.send(&wire.Prompt{RequestID: "p", SessionID: there.ID(), PromptID: "p1", Text: "say two"})
	follow(func(m wire.Message) bool { r, ok := m.(*wire.PromptReceived); return ok && r.PromptID == "p1" })
	machine.await(there, before, event.TypeTurnEnd)
	follow(func(m wire.Message) bool { return applied >= there.Log().Marks().Visible })
	socket.send(&wire.QueueRemove{RequestID: "m", SessionID: there.ID(), PromptID: "nothing"})
	for refused := false; !refused; {
		_, refused = socket.next().(*wire.Error)
	}

	last := there.Log().Marks().Visible
	file := filepath.Join("sessions", there.ID(), "events.jsonl")
	machine.stop()
	machineIs(t, home, "away")
	again := home.dial("/api/ws")
	again.send(&wire.Observe{RequestID: "r", SessionID: there.ID()})
	loaded := find[*wire.EventsLoaded](again, nil)
	require.Equal(t, last, loaded.MaxSeq)
	again.send(&wire.LoadEvents{RequestID: "l", SessionID: there.ID(), AfterSeq: new(event.Seq), Epoch: loaded.Epoch, Limit: 100})
	require.Equal(t, last, find[*wire.EventsLoaded](again, nil).LastSeq)
	again.send(&wire.Prompt{RequestID: "p", SessionID: there.ID(), PromptID: "p2", Text: "say three"})
	require.Contains(t, find[*wire.Error](again, nil).Message, "the machine is away")
	original, err := os.ReadFile(filepath.Join(machine.dir, file))
	require.NoError(t, err)
	copied, err := os.ReadFile(filepath.Join(home.dir, "copies", machine.store.HubID(), there.ID(), "events.jsonl"))
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(original, copied) && len(copied) > 0, "a copy is the machine's bytes")
}

func TestTheMachinesSessionsStayInTheListWhileItIsAwayAndGoWithIt(t *testing.T) {
	home, machine := joined(t, "manage")
	there := machine.session()
	listed(t, home, "", 1)
	socket := home.dial("/api/ws")
	machine.stop()
	machineIs(t, home, "away")
	line := listed(t, home, "", 1)[0]
	require.Equal(t, state.MachineAway, line.Machine.State)
	require.NotZero(t, line.Machine.Since)
	res := home.do("POST", "/api/sessions/"+there.ID()+"/prompt", wire.NewPrompt{PromptID: "p1", Text: "say hello"}, bearer(home.token))
	require.Equal(t, http.StatusServiceUnavailable, res.status, res.body)
	require.Contains(t, res.body, "the machine is away")
	for told := false; !told; { // a screen learns it
		if s, ok := socket.next().(*wire.Session); ok {
			told = s.Session.SessionID == there.ID() && s.Session.Machine.State == state.MachineAway
		}
	}
	require.Equal(t, http.StatusNoContent, home.do("DELETE", "/api/machines/"+machine.store.HubID(), nil, bearer(home.token)).status)
	listed(t, home, "", 0)
	for gone := false; !gone; {
		if g, ok := socket.next().(*wire.SessionGone); ok {
			gone = g.SessionID == there.ID()
		}
	}
}

// Home restarts while the machine is away: the rows are there, and what was opened can be read.
func TestTheRowsOfAMachineThatIsAwayStayOverARestartOfHome(t *testing.T) {
	home, machine := joined(t, "manage")
	there, unopened := machine.session(), machine.session()
	machine.prompt(there, "p0", "say one")
	last := there.Log().Marks().Visible
	listed(t, home, "", 2)
	socket := home.dial("/api/ws")
	socket.send(&wire.Observe{RequestID: "r", SessionID: there.ID()})
	find(socket, func(m *wire.EventsLoaded) bool { return true })
	require.Eventually(t, func() bool {
		copied, _ := os.ReadFile(filepath.Join(home.dir, "copies", machine.store.HubID(), there.ID(), "events.jsonl"))
		return bytes.Count(copied, []byte("\n")) == int(last)
	}, patience, time.Millisecond)
	rows := filepath.Join(home.dir, "copies", machine.store.HubID(), "rows.json")
	require.Eventually(t, func() bool {
		written, _ := os.ReadFile(rows)
		return bytes.Contains(written, []byte(there.ID())) && bytes.Contains(written, []byte(unopened.ID()))
	}, patience, time.Millisecond, "written while home runs, not at its end only")
	machine.stop()
	before := machineIs(t, home, "away")
	home.stop()

	home = startHub(t, hubOptions{dir: home.dir})
	for _, line := range listed(t, home, "", 2) {
		require.Equal(t, &state.Machine{ID: machine.store.HubID(), Name: "laptop", State: state.MachineAway, Since: *before.Since}, line.Machine)
	}
	socket = home.dial("/api/ws")
	socket.send(&wire.Observe{RequestID: "r", SessionID: there.ID()})
	require.Equal(t, last, find[*wire.EventsLoaded](socket, nil).MaxSeq)
	home.stop()

	require.NoError(t, os.WriteFile(rows, []byte(`{"format":1,"rows":[{"session_id":`), 0o600))
	home = startHub(t, hubOptions{dir: home.dir})
	listed(t, home, "", 0) // damaged: they come when the machine is back
	machineIs(t, home, "away")
	require.Equal(t, http.StatusNoContent, home.do("DELETE", "/api/machines/"+machine.store.HubID(), nil, bearer(home.token)).status)
	require.NoDirExists(t, filepath.Dir(rows))
}

func TestASessionThatGoesWhileItsMachineIsAwayLeavesTheListAndItsCopyGoes(t *testing.T) {
	home, machine := joined(t, "manage")
	stays, goes := machine.session(), machine.session()
	listed(t, home, "", 2)
	copies := filepath.Join(home.dir, "copies", machine.store.HubID())
	for _, one := range []string{stays.ID(), goes.ID()} {
		home.dial("/api/sessions/" + one + "/ws")
		require.DirExists(t, filepath.Join(copies, one))
	}
	machine.stop()
	machineIs(t, home, "away")
	require.NoError(t, os.RemoveAll(filepath.Join(machine.dir, "sessions", goes.ID())))
	startHub(t, hubOptions{dir: machine.dir})
	require.Equal(t, stays.ID(), listed(t, home, "", 1)[0].SessionID)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(copies, goes.ID()))
		return os.IsNotExist(err)
	}, patience, time.Millisecond)
	require.DirExists(t, filepath.Join(copies, stays.ID()))
}

// The address of a machine's session is that of a session of home, also while home has no copy yet.
func TestTheSocketOfAMachinesSessionFollowsItAtOnce(t *testing.T) {
	home, machine := joined(t, "act")
	there := machine.session()
	machine.prompt(there, "p0", "say one")
	machine.await(there, 0, "turn_end")
	listed(t, home, "", 1)
	own := home.dial("/api/sessions/" + there.ID() + "/ws")
	loaded := find[*wire.EventsLoaded](own, nil)
	require.Equal(t, there.Log().Marks().Visible, loaded.MaxSeq, "%+v", loaded)
	require.Equal(t, there.Log().Epoch(), loaded.Epoch)
	require.Equal(t, there.ID(), find[*wire.State](own, nil).SessionID)
}

// A session is made on a machine that allows it, among its agents and folders, once.
func TestASessionIsMadeOnAMachine(t *testing.T) {
	home, machine := joined(t, "manage")
	id, work := machine.store.HubID(), machine.manager.Settings().DefaultWorkspace
	agents := decoded[wire.Agents](t, home.do("GET", "/api/agents", nil, bearer(home.token)))
	require.Len(t, agents.Machines, 1)
	require.Equal(t, "laptop", agents.Machines[0].Name)
	require.Equal(t, state.MachineConnected, agents.Machines[0].State)
	theirs := decoded[wire.Agents](t, home.do("GET", "/api/agents?machine="+id, nil, bearer(home.token)))
	require.Equal(t, work, theirs.DefaultWorkspace)
	require.Empty(t, theirs.Machines)
	require.NotEqual(t, agents.DefaultWorkspace, theirs.DefaultWorkspace)
	folder := decoded[wire.FolderPlace](t, home.do("GET", "/api/folder?machine="+id+"&path="+url.QueryEscape(work), nil, bearer(home.token)))
	require.True(t, folder.Allowed)

	order := wire.NewSession{Machine: "laptop", Name: "made here", Workspace: work, Prompt: "say hello"}
	keyed := bearer(home.token)
	keyed.Set("Idempotency-Key", "k1")
	made := decoded[wire.SessionInfo](t, home.do("POST", "/api/sessions", order, keyed))
	require.Equal(t, "laptop", made.Machine.Name)
	require.Equal(t, "made here", listed(t, home, "?machine="+id, 1)[0].Name, "its line is there at once")
	again := decoded[wire.SessionInfo](t, home.do("POST", "/api/sessions", order, keyed))
	require.Equal(t, made.SessionID, again.SessionID, "once")
	listed(t, home, "?machine=here", 0)
	job := decoded[wire.JobInfo](t, home.do("POST", "/api/jobs", wire.NewJob{Machine: id, Task: "say done", Workspace: work}, bearer(home.token)))
	// The answer waits for the job's line, for a bounded time.
	require.Eventually(t, func() bool {
		return home.do("GET", "/api/jobs/"+job.JobID, nil, bearer(home.token)).status == http.StatusOK
	}, patience, time.Millisecond)
	jobs := func(query string) []wire.JobInfo {
		return decoded[wire.Jobs](t, home.do("GET", "/api/jobs"+query, nil, bearer(home.token))).Jobs
	}
	require.Eventually(t, func() bool { return len(jobs("")) == 1 }, patience, time.Millisecond)
	require.Equal(t, "laptop", jobs("?machine=" + id)[0].Machine.Name)
	require.Empty(t, jobs("?machine=here"))

	for _, row := range []struct {
		order  wire.NewSession
		status int
		words  string
	}{
		{wire.NewSession{Machine: "tower"}, http.StatusNotFound, "no machine is called"},
		{wire.NewSession{Machine: id, Workspace: "/nowhere"}, http.StatusForbidden, "outside the allowed folders"},
		{wire.NewSession{Machine: id, Recorder: true}, http.StatusBadRequest, "recording"},
	} {
		res := home.do("POST", "/api/sessions", row.order, bearer(home.token))
		require.Equal(t, row.status, res.status, res.body)
		require.Contains(t, res.body, row.words)
	}
	viewer := home.do("GET", "/api/agents?machine="+id, nil, bearer(home.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: made.SessionID})))
	require.Equal(t, http.StatusForbidden, viewer.status, viewer.body)
	machine.stop()
	machineIs(t, home, "away")
	res := home.do("POST", "/api/sessions", order, bearer(home.token))
	require.Equal(t, http.StatusServiceUnavailable, res.status, res.body)
}

func TestAMachineThatAllowsToActSaysThatNoSessionIsMadeOnIt(t *testing.T) {
	home, machine := joined(t, "act")
	for _, res := range []response{
		home.do("POST", "/api/sessions", wire.NewSession{Machine: "laptop"}, bearer(home.token)),
		home.do("GET", "/api/agents?machine=laptop", nil, bearer(home.token)),
	} {
		require.Equal(t, http.StatusForbidden, res.status, res.body)
		require.Contains(t, res.body, "abide join --allow manage")
	}
	require.Empty(t, decoded[wire.Agents](t, home.do("GET", "/api/agents", nil, bearer(home.token))).Machines)
	listed(t, home, "?machine="+machine.store.HubID(), 0)
}

// What was begun for somebody at home goes on as long as the machine allows it.
func TestWhoAsksAtHomeMayManageAsLongAsTheMachineAllows(t *testing.T) {
	_, machine := joined(t, "manage")
	ann := event.Actor{Name: "ann", ID: machines.ActorsOfHome + "1"}
	require.True(t, machine.member.MayManage(ann))
	require.False(t, machine.member.MayManage(event.Actor{Name: "ann", ID: "1"}), "not of home")
	require.NoError(t, machine.member.SetAllow(machines.AllowAct))
	require.False(t, machine.member.MayManage(ann))
	require.NoError(t, machine.member.SetAllow(machines.AllowManage))
	_, err := machine.member.Leave(t.Context())
	require.NoError(t, err)
	require.False(t, machine.member.MayManage(ann))
}

// What home may have a machine do, for each thing that it allows and each credential at home.
func TestNoRequestOfHomeIsAboveWhatTheMachineAllows(t *testing.T) {
	rights := map[string]need{"read": read, "act": act, "manage": owner}
	scopes := map[auth.Scope]need{auth.Viewer: read, auth.Collaborator: act, auth.Owner: owner}
	for allow, most := range rights {
		machine := startHub(t, hubOptions{})
		for scope, has := range scopes {
			grant := machines.Caller{ID: "x", Name: "ann", Scope: string(scope), SessionID: ghost}
			if scope == auth.Owner {
				grant.SessionID = ""
			}
			for route, n := range routeNeeds() {
				status := machine.fromHome(t, route, grant, machines.Allow(allow))
				if n > min(most, has) || !concernsSession(route) {
					require.Equal(t, http.StatusForbidden, status, "%s by %s where %s is allowed", route, scope, allow)
				} else {
					require.NotContains(t, []int{401, 403, 421, 429, 500}, status, "%s by %s where %s is allowed", route, scope, allow)
				}
			}
		}
	}
}

// concernsSession reports whether home may use a route at all.
func concernsSession(route string) bool {
	_, path, _ := strings.Cut(route, " ")
	for _, end := range []string{"/ws", "/address", "/authenticate", "/record", "/record/end"} {
		if strings.HasSuffix(path, end) {
			return false
		}
	}
	asked := []string{"GET /api/agents", "GET /api/folders", "GET /api/folder", "GET /api/usage", "GET /api/storage", "POST /api/sessions", "POST /api/jobs"}
	return strings.HasPrefix(path, "/api/sessions/{id}") || strings.HasPrefix(path, "/api/jobs/{id}") || slices.Contains(asked, route)
}

// fromHome is the status of a request that home makes.
func (h *hub) fromHome(t *testing.T, route string, by machines.Caller, allow machines.Allow) int {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	path = placeholder.ReplaceAllString(strings.ReplaceAll(path, "{id}", ghost), strings.Repeat("0", 64))
	r := httptest.NewRequest(method, "http://home"+path, strings.NewReader(`"not what is asked for"`))
	w := httptest.NewRecorder()
	h.server.ForHome().Serve(w, r, by, allow, func() error { return nil })
	return w.Code
}

// What home answers from its copy while the machine is away is what the machine answered.
func TestWhatIsReadOfASessionIsReadFromTheCopyWhileTheMachineIsAway(t *testing.T) {
	home, machine := joined(t, "act")
	there, unopened := machine.session(), machine.session()
	machine.prompt(there, "p0", "say zanzibar")
	machine.prompt(there, "p1", "say one")
	listed(t, home, "", 2)
	opened(t, home, machine, there.ID())
	path := "/api/sessions/" + there.ID()
	reads := []string{
		"/events?after_seq=0", "/events?before_seq=6&limit=3", "/events?after_seq=0&merge=true", "/overview", "/state", "/export", "/export?format=jsonl&from=3&to=7",
		"/export?format=markdown", "/export?format=html", "/export?redact=preview",
	}
	before := map[string]string{}
	for _, read := range reads {
		res := home.do("GET", path+read, nil, bearer(home.token))
		require.Equal(t, http.StatusOK, res.status, res.body)
		before[read] = res.body
	}
	last := decoded[wire.Snapshot](t, home.do("GET", path+"/snapshot", nil, bearer(home.token)))
	machine.stop()
	machineIs(t, home, "away")

	for _, read := range reads {
		res := home.do("GET", path+read, nil, bearer(home.token))
		require.Equal(t, http.StatusOK, res.status, "%s: %s", read, res.body)
		if read == "/state" {
			require.Equal(t, there.ID(), decoded[wire.State](t, res).SessionID)
			continue
		}
		require.Equal(t, before[read], res.body, read)
	}
	require.Equal(t, last.Snapshot, decoded[wire.Snapshot](t, home.do("GET", path+"/snapshot", nil, bearer(home.token))).Snapshot)
	zip := home.do("GET", path+"/export?format=zip", nil, bearer(home.token))
	require.Equal(t, http.StatusOK, zip.status)
	other := startHub(t, hubOptions{})
	_, _, err := other.manager.Import(context.Background(), strings.NewReader(zip.body))
	require.NoError(t, err)
	require.Equal(t, before["/export"], other.do("GET", path+"/export", nil, bearer(other.token)).body, "an export of a copy is imported")
	require.Equal(t, there.ID(), decoded[wire.SessionInfo](t, home.do("GET", path, nil, bearer(home.token))).SessionID)

	found := decoded[wire.FoundPage](t, home.do("GET", "/api/search?q=zanzibar", nil, bearer(home.token)))
	require.True(t, found.Done)
	require.NotEmpty(t, found.Hits, "in all sessions")
	for _, hit := range found.Hits {
		require.Equal(t, there.ID(), hit.SessionID)
	}
	require.Equal(t, found.Hits, decoded[wire.FoundPage](t, home.do("GET", "/api/search?q=zanzibar&session="+there.ID(), nil, bearer(home.token))).Hits)
	require.Empty(t, decoded[wire.FoundPage](t, home.do("GET", "/api/search?q=zanzibar&agent=another", nil, bearer(home.token))).Hits)

	for _, read := range append(reads, "/snapshot") {
		res := home.do("GET", "/api/sessions/"+unopened.ID()+read, nil, bearer(home.token))
		require.Equal(t, http.StatusServiceUnavailable, res.status, read)
		require.Contains(t, res.body, "the machine is away, and this hub has no copy of the session", read)
	}
	res := home.do("GET", "/api/search?q=zanzibar&session="+unopened.ID(), nil, bearer(home.token))
	require.Contains(t, res.body, "this hub has no copy of the session")
	require.NoDirExists(t, filepath.Join(home.dir, "copies", machine.store.HubID(), unopened.ID()))
	res = home.do("GET", path+"/files", nil, bearer(home.token))
	require.Equal(t, http.StatusServiceUnavailable, res.status, res.body)
	require.Contains(t, res.body, "the machine is away")
}

// A stream at home is of the copy: it waits while the machine is away, and goes on when it is back.
func TestAnEventStreamAtHomeGoesOnWhenTheMachineIsBack(t *testing.T) {
	home, machine := joined(t, "act")
	there := machine.session()
	machine.prompt(there, "p0", "say one")
	listed(t, home, "", 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", home.origin()+"/api/sessions/"+there.ID()+"/events", nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+home.token)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	lines, last := bufio.NewScanner(res.Body), event.Seq(0)
	upTo := func(seq event.Seq) {
		for last < seq {
			require.True(t, lines.Scan(), "the stream ended: %v", lines.Err())
			epoch, id, isEvent := strings.Cut(strings.TrimPrefix(lines.Text(), "id: "+there.Log().Epoch()), ":")
			if n, err := strconv.Atoi(id); epoch == "" && isEvent && err == nil && n > 0 {
				require.Equal(t, last+1, event.Seq(n), "no gap, nothing twice")
				last++
			}
		}
	}
	upTo(there.Log().Marks().Visible)
	machine.stop()
	machineIs(t, home, "away")
	machine = startHub(t, hubOptions{dir: machine.dir})
	there = mustSession(t, machine, there.ID())
	machine.prompt(there, "p1", "say two")
	upTo(there.Log().Marks().Visible)
}

// A machine that lets home read only has none of its sessions exported from the copy, either.
func TestACopyGivesNoMoreThanTheMachineAllows(t *testing.T) {
	home, machine := joined(t, "read")
	there := machine.session()
	machine.prompt(there, "p0", "say one")
	listed(t, home, "", 1)
	opened(t, home, machine, there.ID())
	path := "/api/sessions/" + there.ID()
	require.Equal(t, http.StatusForbidden, home.do("GET", path+"/export", nil, bearer(home.token)).status)
	machine.stop()
	machineIs(t, home, "away")
	require.Equal(t, http.StatusForbidden, home.do("GET", path+"/export", nil, bearer(home.token)).status)
	require.Equal(t, http.StatusOK, home.do("GET", path+"/events", nil, bearer(home.token)).status)
}

// opened waits until home has the whole copy of a session.
func opened(t *testing.T, home, machine *hub, id string) {
	t.Helper()
	socket := home.dial("/api/sessions/" + id + "/ws")
	t.Cleanup(func() { socket.conn.CloseNow() })
	original, err := os.ReadFile(filepath.Join(machine.dir, "sessions", id, "events.jsonl"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		copied, _ := os.ReadFile(filepath.Join(home.dir, "copies", machine.store.HubID(), id, "events.jsonl"))
		return bytes.Equal(copied, original)
	}, patience, time.Millisecond)
}

// copyOf is the directory of home's copy.
func copyOf(home, machine *hub, id string) string {
	return filepath.Join(home.dir, "copies", machine.store.HubID(), id)
}

// copiedWhole waits until home's copy has the machine's bytes, whoever asked for it.
func copiedWhole(t *testing.T, home, machine *hub, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		original, err := os.ReadFile(filepath.Join(machine.dir, "sessions", id, "events.jsonl"))
		require.NoError(t, err)
		copied, _ := os.ReadFile(filepath.Join(copyOf(home, machine, id), "events.jsonl"))
		return bytes.Equal(copied, original)
	}, patience, time.Millisecond)
}

// copyGoes waits until home has no copy of a session.
func copyGoes(t *testing.T, home, machine *hub, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(copyOf(home, machine, id))
		return os.IsNotExist(err)
	}, patience, time.Millisecond)
}

// With keep_copies: all home has a copy of each session, and reads it on when its line changes,
// though nobody opens it.
func TestHomeKeepsCopiesOfAllSessionsIfItIsTold(t *testing.T) {
	home, machine := joined(t, "act")
	first, second := machine.session(), machine.session()
	machine.prompt(first, "p0", "say one")
	listed(t, home, "", 2)
	require.NoDirExists(t, copyOf(home, machine, first.ID()), "opened, by default")
	home.machines.Configure(machines.Keep{Copies: machines.KeepAll})
	third := machine.session()
	for _, one := range []string{first.ID(), second.ID(), third.ID()} {
		copiedWhole(t, home, machine, one)
	}
	machine.prompt(second, "p1", "say two")
	copiedWhole(t, home, machine, second.ID())
	machine.stop()
	machineIs(t, home, "away")
	res := home.do("GET", "/api/sessions/"+second.ID()+"/events?after_seq=0", nil, bearer(home.token))
	require.Equal(t, http.StatusOK, res.status, res.body)
	require.Contains(t, res.body, "say two")
}

// A copy is read on when the session's line changes, though nobody looks and home closed it for
// others.
func TestACopyIsReadOnWhenNobodyLooks(t *testing.T) {
	home, machine := joinedTo(t, startHub(t, hubOptions{follow: time.Millisecond}), "act")
	const more = 70 // than home keeps open
	first := machine.session()
	listed(t, home, "", 1)
	home.dial("/api/sessions/" + first.ID() + "/ws").conn.CloseNow()
	copiedWhole(t, home, machine, first.ID())
	home.machines.Configure(machines.Keep{Copies: machines.KeepAll})
	for range more {
		copiedWhole(t, home, machine, machine.session().ID())
	}
	home.machines.Configure(machines.Keep{Copies: machines.KeepOpened})
	machine.prompt(first, "p0", "say one")
	copiedWhole(t, home, machine, first.ID())
	require.NoDirExists(t, copyOf(home, machine, machine.session().ID()))
}

func TestHomeKeepsNoCopyIfItIsTold(t *testing.T) {
	home, machine := joinedTo(t, startHub(t, hubOptions{follow: time.Millisecond}), "act")
	there, before := machine.session(), machine.session()
	listed(t, home, "", 2)
	home.dial("/api/sessions/" + before.ID() + "/ws").conn.CloseNow()
	socket := home.dial("/api/sessions/" + there.ID() + "/ws")
	copiedWhole(t, home, machine, there.ID())
	find[*wire.EventsLoaded](socket, nil)
	home.machines.Configure(machines.Keep{Copies: machines.KeepNone})
	copyGoes(t, home, machine, before.ID())
	machine.prompt(there, "p0", "say one")
	last := there.Log().Marks().Visible
	find(socket, func(m *wire.Events) bool { return m.LastSeq == last })
	require.DirExists(t, copyOf(home, machine, there.ID()), "somebody looks")
	socket.conn.CloseNow()
	copyGoes(t, home, machine, there.ID())
	machine.stop()
	machineIs(t, home, "away")
	res := home.do("GET", "/api/sessions/"+there.ID()+"/events", nil, bearer(home.token))
	require.Equal(t, http.StatusServiceUnavailable, res.status)
	require.Contains(t, res.body, "this hub has no copy of the session")
}

// Beyond the limit the copies go that were opened the longest ago, and none that is followed.
func TestCopiesThatWereOpenedTheLongestAgoGoFirst(t *testing.T) {
	home, machine := joinedTo(t, startHub(t, hubOptions{follow: time.Millisecond}), "act")
	var ids []string
	for range 3 {
		one := machine.session()
		machine.prompt(one, "p0", "say one")
		ids = append(ids, one.ID())
	}
	listed(t, home, "", 3)
	oldest, middle, newest := ids[1], ids[0], ids[2]
	var bytes int64
	for _, id := range []string{oldest, middle, newest} {
		home.dial("/api/sessions/" + id + "/ws").conn.CloseNow()
		copiedWhole(t, home, machine, id)
		size, err := os.Stat(filepath.Join(copyOf(home, machine, id), "events.jsonl"))
		require.NoError(t, err)
		bytes += size.Size()
	}
	require.Eventually(t, func() bool { return strings.Contains(home.api("GET", "/api/health", nil).body, `"clients":0`) }, patience, time.Millisecond)
	home.machines.Configure(machines.Keep{Bytes: bytes - 1})
	copyGoes(t, home, machine, oldest)
	require.DirExists(t, copyOf(home, machine, newest))

	socket := home.dial("/api/sessions/" + oldest + "/ws") // again, and it stays
	copiedWhole(t, home, machine, oldest)
	home.machines.Configure(machines.Keep{Bytes: 1})
	copyGoes(t, home, machine, middle)
	copyGoes(t, home, machine, newest)
	require.DirExists(t, copyOf(home, machine, oldest))
	socket.conn.CloseNow()
	copyGoes(t, home, machine, oldest)
}

func TestUsageAndStorageAreAskedPerMachine(t *testing.T) {
	home, machine := joined(t, "read")
	there := machine.session()
	machine.prompt(there, "p0", "say one")
	machine.await(there, 0, "turn_end")
	id := machine.store.HubID()
	turns := func(query string) int {
		return decoded[wire.Usage](t, home.do("GET", "/api/usage"+query, nil, bearer(home.token))).Total.Turns
	}
	require.Equal(t, 1, turns("?machine="+id))
	require.Equal(t, 1, turns("?machine=laptop&by=agent"))
	require.Zero(t, turns("?machine=here"))
	require.Zero(t, turns(""))
	storage := func(query string) response {
		return home.do("GET", "/api/storage"+query, nil, bearer(home.token))
	}
	require.Zero(t, decoded[wire.StorageReport](t, storage("")).Sessions)
	refused := storage("?machine=laptop")
	require.Equal(t, http.StatusForbidden, refused.status)
	require.Contains(t, refused.body, "that needs manage")
	require.Equal(t, http.StatusNotFound, storage("?machine=desktop").status)
	require.Equal(t, http.StatusForbidden, home.do("GET", "/api/storage?machine=laptop", nil, bearer(home.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: there.ID()}))).status)
	require.Equal(t, http.StatusForbidden, home.do("GET", "/api/usage?machine=laptop&session=20260221-140307-9f3a11c0", nil, bearer(home.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: there.ID()}))).status)

	home, machine = joined(t, "manage")
	machine.session()
	require.Equal(t, 1, decoded[wire.StorageReport](t, home.do("GET", "/api/storage?machine=laptop", nil, bearer(home.token))).Sessions)
	machine.stop()
	machineIs(t, home, "away")
	for _, path := range []string{"/api/usage", "/api/storage"} {
		away := home.do("GET", path+"?machine=laptop", nil, bearer(home.token))
		require.Equal(t, http.StatusServiceUnavailable, away.status, away.body)
		require.Contains(t, away.body, "away")
	}
}
