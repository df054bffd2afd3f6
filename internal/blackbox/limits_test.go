package blackbox_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// limit is how a row of the table of limits is shown to hold.
type limit struct {
	// test is a test of the row.
	test string
	// fill has guests fill what the row bounds, or the owner where guests may not. It fails
	// where they get further than the row says, or the owner is kept out.
	fill func(*guests)
	// slow means that make soak does it.
	slow bool
}

// limits are the rows of the table in docs/configuration.md.
func limits() map[string]limit {
	return map[string]limit{
		"connections": {"TestMoreConnectionsThanAllowedAreClosedAndOthersLive", (*guests).connect, true},
		"sockets and event streams · requests under way": {"TestOneCredentialLeavesPlacesForOthersAndAllOfThemForOwners", (*guests).stream, true},
		"messages of a socket":                           {"TestAViewersMessageIsShort", (*guests).shout, true},
		"frames of a socket":                             {"TestAFloodOfControlFramesIsReadMoreSlowly", (*guests).ping, true},
		"sessions followed by a socket":                  {"TestASocketFollowsAtMost64Sessions", (*guests).follow, true},
		"data that the kernel has not sent yet":          {"TestASiegeCostsATurnAndTheOwnerNothing", (*guests).readNothing, true},
		"bodies of requests":                             {"TestBodiesAreBoundedAndTyped", (*guests).send, false},
		"wrong credentials":                              {"TestWrongCodesAreDelayedNotLockedOut", (*guests).guess, false},
		"attachments":                                    {"TestASessionKeepsSoMuchOfAttachmentsWhoeverUploadsThem", (*guests).attach, false},
		"waiting prompts":                                {"TestACollaboratorLeavesPlacesOfTheQueueForTheOwner", (*guests).queue, false},
		"comments":                                       {"TestGuestsLeaveCommentsForTheOwnersAndForEachOther", (*guests).comment, true},
		"permission rules":                               {"TestFault87TheRulesOfASessionAreBounded", (*guests).rule, true},
		"exports and imports":                            {"TestFault92SlowExportsLeaveAPlaceToTheOwner", (*guests).export, true},
		"searches, previews and git":                     {"TestManySearchesAtOnceTakeTurnsAndKeepNobodyFromWork", (*guests).search, false},
		"browsers with notifications":                    {"TestFault92OneCredentialFillsItsOwnPlacesForSubscriptionsAlone", (*guests).subscribe, false},
		"notifications on their way":                     {"TestAServiceThatHangsKeepsNoOtherWaiting", (*guests).notify, true},
		"records of the audit trail":                     {"TestAnswersOfOneCredentialAreBoundedByTheHourAndGrantsAreNot", (*guests).leaveRecords, true},
		"devices and tokens":                             {"TestOnlySoManyTokensAreKept", (*guests).mint, true},
		"open sessions · running agents":                 {"TestUnusedSessionsMakeRoomForNewOnes", (*guests).open, true},
	}
}

func TestEveryLimitOfTheTableSaysForWhomItIsAndHasATest(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	for _, pattern := range []string{"../../server/*_test.go", "../../session/*_test.go", "../*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			tests.Write(text)
		}
	}
	known := limits()
	for _, row := range limitRows(t) {
		require.Len(t, row, 6, "%q: what, each one, a credential, a session, in all, for owners", row)
		require.Regexp(t, `\d|all`, strings.Join(row[1:], " "), "%s has no bound", row[0])
		l, found := known[row[0]]
		require.True(t, found, "the limit %q has no test", row[0])
		require.True(t, strings.Contains(tests.String(), "func "+l.test+"("), "%s: there is no %s", row[0], l.test)
		delete(known, row[0])
	}
	require.Empty(t, known, "limits that the table does not have")
}

// limitRows reads the table of limits.
func limitRows(t *testing.T) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n| what | each one | a credential | a session | in all | for owners alone |\n")
	require.True(t, found)
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if !strings.HasPrefix(cells[0], "---") {
			rows = append(rows, cells)
		}
	}
	return rows
}

// mostMemory bounds the hub's memory while guests fill what they can, in MiB. A row
// begins with what the rows before it left, garbage too: the hub has that as well.
const mostMemory = 128

// The hub of this test has no race detector where its memory is bounded.
func TestNoGuestKeepsTheOwnerOutOrTheHubsMemory(t *testing.T) {
	t.Parallel()
	bounded := runtime.GOOS == "linux"
	s := settings{more: "limits: {clients: 64, session_attachments_mib: 64, daily_attachments_mib: 8}\n"}
	if bounded {
		s.program = filepath.Join(t.TempDir(), "abide")
		buildProgram(t, s.program, "../../cmd/abide")
		s.agents = map[string]agent{"demo": {Command: []string{s.program, "demo-agent", "--speed", "0"}}}
	}
	h := newHub(t, s)
	info := h.create("demo")
	g := &guests{h: h, info: info, session: info.SessionID, owner: h.token()}
	for range 2 {
		g.collaborators = append(g.collaborators, h.token("--scope", "collaborator", "--session", g.session))
		g.viewers = append(g.viewers, h.token("--scope", "viewer", "--session", g.session))
	}
	for _, row := range limitRows(t) {
		l := limits()[row[0]]
		if l.slow && !soak.On() {
			continue
		}
		t.Run(row[0], func(t *testing.T) {
			pid := h.cmd.Process.Pid
			if bounded { // the peak begins anew
				require.NoError(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0))
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			g.t, g.ctx = t, ctx
			l.fill(g)
			status, _ := g.ask(g.owner, "GET", "/api/sessions/"+g.session, nil)
			require.Equal(t, 200, status, "the owner is kept out")
			if bounded {
				peak := peakMiB(t, h.cmd.Process.Pid) // it may have been started again
				t.Logf("the hub's memory: %d MiB", peak)
				require.Less(t, peak, mostMemory, "MiB of the hub")
			}
		})
	}
}

// peakMiB is the most memory that a process had.
func peakMiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, found)
	kib := 0
	_, err = fmt.Sscan(string(found[1]), &kib)
	require.NoError(t, err)
	return kib >> 10
}

// guests are two collaborators and two viewers of one session.
type guests struct {
	t                      *testing.T
	ctx                    context.Context
	h                      *hub
	info                   wire.SessionInfo
	session, owner         string
	collaborators, viewers []string
	ids                    atomic.Int64
}

// ask sends a request and returns the response's status and body.
func (g *guests) ask(token, method, path string, body io.Reader) (int, string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.ctx, method, "http://"+g.h.addr+path, body)
	require.NoError(g.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if strings.HasSuffix(path, "/attachments") {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	req.Header.Set("Idempotency-Key", fmt.Sprint("k", g.ids.Add(1)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error() // the hub ended a body that is too large
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(answer)
}

// until does one thing again and again until it is refused with the status, and returns
// how often it was not.
func (g *guests) until(refused int, do func() (int, string)) int {
	g.t.Helper()
	for n := 0; ; n++ {
		status, answer := do()
		if status == refused {
			return n
		}
		require.Less(g.t, status, 300, answer)
		require.NotZero(g.t, status, answer)
	}
}

func (g *guests) path(rest string) string { return "/api/sessions/" + g.session + rest }

// connect opens more connections than there may be, and sends nothing.
func (g *guests) connect() {
	for range 2*64 + 512 + 100 {
		conn, err := net.Dial("tcp", g.h.addr)
		require.NoError(g.t, err)
		g.t.Cleanup(func() { conn.Close() })
	}
}

// dial opens a socket that reads nothing.
func (g *guests) dial(token string) (*websocket.Conn, int) {
	header := http.Header{"Authorization": {"Bearer " + token}}
	conn, res, err := websocket.Dial(g.ctx, "http://"+g.h.addr+g.path("/ws"), &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{wire.Subprotocol}})
	if err != nil {
		require.NotNil(g.t, res, "%v", err)
		return nil, res.StatusCode
	}
	g.t.Cleanup(func() { conn.CloseNow() })
	return conn, 101
}

func (g *guests) stream() {
	for _, guest := range append(g.collaborators, g.viewers...) {
		n, status := 0, 101
		for ; status == 101; n++ {
			_, status = g.dial(guest)
		}
		require.Equal(g.t, 503, status)
		require.Equal(g.t, 8, n-1)
	}
	_, status := g.dial(g.owner)
	require.Equal(g.t, 101, status)
}

// shout sends the longest messages that there may be, and longer ones.
func (g *guests) shout() {
	for _, guest := range append(g.collaborators, g.viewers...) {
		for range 4 {
			var conn *websocket.Conn
			require.Eventually(g.t, func() bool { // those of the tests before may still be closing
				var status int
				conn, status = g.dial(guest)
				return status == 101
			}, patience, 20*time.Millisecond)
			for range 20 {
				_ = conn.Write(g.ctx, websocket.MessageText, bytes.Repeat([]byte(" "), 1<<20-1))
			}
			_ = conn.Write(g.ctx, websocket.MessageText, bytes.Repeat([]byte(" "), 1<<20+1))
			require.Eventually(g.t, func() bool { return conn.Write(g.ctx, websocket.MessageText, []byte(`{}`)) != nil }, patience, 5*time.Millisecond)
		}
	}
}

// send sends bodies of the greatest length, and beyond, eight at once.
func (g *guests) send() {
	var group sync.WaitGroup
	var taken atomic.Int64
	for range 8 {
		group.Go(func() {
			for _, to := range []string{"/prompt", "/comments", "/queue", "/attachments"} {
				size := 2 << 20
				if to == "/attachments" {
					size = 26 << 20
				}
				status, _ := g.ask(g.collaborators[0], "POST", g.path(to), bytes.NewReader(bytes.Repeat([]byte(" "), size)))
				if status != 0 && status < 400 {
					taken.Add(1)
				}
			}
		})
	}
	group.Wait()
	require.Zero(g.t, taken.Load())
}

// guess uses credentials that there are none of.
func (g *guests) guess() {
	var group sync.WaitGroup
	var many atomic.Int64
	for range 100 {
		group.Go(func() {
			if status, _ := g.ask("abide_wrong", "GET", "/api/sessions", nil); status == 429 {
				many.Add(1)
			}
		})
	}
	group.Wait()
	require.NotZero(g.t, many.Load())
}

func (g *guests) attach() {
	one := bytes.Repeat([]byte("x"), 1<<20)
	attach := func(token string) (int, string) {
		one[0]++
		return g.ask(token, "POST", g.path("/attachments"), bytes.NewReader(one))
	}
	for _, guest := range g.collaborators {
		require.InDelta(g.t, 8, g.until(413, func() (int, string) { return attach(guest) }), 1)
	}
	status, answer := attach(g.owner)
	require.Equal(g.t, 201, status, answer)
}

func (g *guests) queue() {
	words := 1000
	if soak.On() {
		words = 150_000
	}
	text, err := json.Marshal(map[string]string{"text": strings.Repeat("later ", words)})
	require.NoError(g.t, err)
	status, answer := g.ask(g.owner, "POST", g.path("/prompt"), strings.NewReader(`{"text":"/ask"}`)) // the session is busy
	require.Less(g.t, status, 300, answer)
	for _, token := range append(g.viewers, g.owner) { // each change of the queue is shown to sockets that read nothing
		for range 4 {
			g.dial(token)
		}
	}
	queue := func(token string) (int, string) { return g.ask(token, "POST", g.path("/queue"), bytes.NewReader(text)) }
	require.Equal(g.t, 8, g.until(409, func() (int, string) { return queue(g.collaborators[0]) }))
	status, answer = queue(g.owner)
	require.Equal(g.t, 202, status, answer)
	status, answer = g.ask(g.owner, "DELETE", g.path("/queue"), nil)
	require.Less(g.t, status, 300, answer)
}

func (g *guests) comment() {
	text, err := json.Marshal(map[string]any{"from_seq": 1, "text": strings.Repeat("c", 8<<10)})
	require.NoError(g.t, err)
	comment := func(token string) (int, string) {
		return g.ask(token, "POST", g.path("/comments"), bytes.NewReader(text))
	}
	require.Equal(g.t, 250, g.until(409, func() (int, string) { return comment(g.collaborators[0]) }))
	for _, token := range []string{g.collaborators[1], g.owner} {
		status, answer := comment(token)
		require.Equal(g.t, 201, status, answer)
	}
}

// export begins exports that it does not read, and imports a zip of many tiny files.
func (g *guests) export() {
	for _, guest := range g.collaborators {
		for range 4 {
			conn, err := net.Dial("tcp", g.h.addr)
			require.NoError(g.t, err)
			g.t.Cleanup(func() { conn.Close() })
			fmt.Fprintf(conn, "GET %s?format=zip HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", g.path("/export"), g.h.addr, guest)
		}
	}
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for i := range 60_000 {
		part, err := z.Create(fmt.Sprintf("blobs/%064x", i))
		require.NoError(g.t, err)
		_, err = part.Write([]byte{byte(i)})
		require.NoError(g.t, err)
	}
	require.NoError(g.t, z.Close())
	status, answer := g.ask(g.owner, "POST", "/api/import", &file)
	require.Equal(g.t, 400, status, answer) // it has no events
}

func (g *guests) search() {
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			status, answer := g.ask(g.collaborators[i%2], "GET", "/api/search?q=later", nil)
			if status != 200 && status != 503 {
				g.t.Errorf("answered %d: %s", status, answer)
			}
		})
	}
	group.Wait()
}

func (g *guests) subscribe() {
	subscribe := func(token string, size int) (int, string) {
		body, err := json.Marshal(map[string]any{
			"endpoint": fmt.Sprintf("https://push.example/%d/%s", g.ids.Add(1), strings.Repeat("e", size)),
			"keys": map[string]string{
				"p256dh": "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM", "auth": "tBHItJI5svbpez7KI4CCXg",
			},
		})
		require.NoError(g.t, err)
		return g.ask(token, "POST", "/api/push/subscriptions", bytes.NewReader(body))
	}
	status, _ := subscribe(g.viewers[0], 1<<20)
	require.GreaterOrEqual(g.t, status, 400)
	for _, guest := range g.viewers {
		require.Equal(g.t, 10, g.until(400, func() (int, string) { return subscribe(guest, 100) }))
	}
	status, answer := subscribe(g.owner, 100)
	require.Equal(g.t, 201, status, answer)
}

// ping sends frames without content, faster than they are read.
func (g *guests) ping() {
	flood := bytes.Repeat([]byte{0x89, 0x80, 0, 0, 0, 0}, 100_000)
	var group sync.WaitGroup
	for _, guest := range append(g.collaborators, g.viewers...) {
		for range 4 {
			conn, err := net.Dial("tcp", g.h.addr)
			require.NoError(g.t, err)
			g.t.Cleanup(func() { conn.Close() })
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
				"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", g.path("/ws"), g.h.addr, guest)
			group.Go(func() {
				_ = conn.SetWriteDeadline(time.Now().Add(3 * time.Second))
				_, _ = conn.Write(flood) // most of it stays in the kernel
			})
		}
	}
	group.Wait()
}

// follow follows more sessions than a socket may, with sockets that read nothing.
func (g *guests) follow() {
	var ids []string
	for range 66 {
		ids = append(ids, g.h.create("demo").SessionID)
	}
	for _, token := range []string{g.owner, g.owner, g.viewers[0]} { // a guest may read one of them
		header := http.Header{"Authorization": {"Bearer " + token}}
		conn, _, err := websocket.Dial(g.ctx, "http://"+g.h.addr+"/api/ws", &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{wire.Subprotocol}})
		require.NoError(g.t, err)
		g.t.Cleanup(func() { conn.CloseNow() })
		for _, id := range append(ids, g.session) {
			message := fmt.Sprintf(`{"type":"observe","request_id":"r","session_id":%q,"tail":500}`, id)
			require.NoError(g.t, conn.Write(g.ctx, websocket.MessageText, []byte(message)))
		}
	}
}

// readNothing opens sockets that read nothing of a long turn.
func (g *guests) readNothing() {
	for _, guest := range append(g.collaborators, g.viewers...) {
		for range 8 {
			require.Eventually(g.t, func() bool { // those of the tests before may still be closing
				_, status := g.dial(guest)
				return status == 101
			}, patience, 20*time.Millisecond)
		}
	}
	c := g.h.screen("owner", g.info, 0)
	c.prompt(g.session, "burst", "/burst 20000")
	c.untilTurnEnds("burst")
}

// rule makes as many rules as there may be. A guest may make none.
func (g *guests) rule() {
	path := "/api/sessions/" + g.h.create("demo").SessionID + "/rules"
	add := func(token string) (int, string) {
		return g.ask(token, "POST", path, strings.NewReader(fmt.Sprintf(`{"scope":"session","effect":"allow","kind":"k%d","title":%q}`, g.ids.Add(1), strings.Repeat("t", 200))))
	}
	status, _ := add(g.collaborators[0])
	require.GreaterOrEqual(g.t, status, 400)
	require.Equal(g.t, 1000, g.until(400, func() (int, string) { return add(g.owner) }))
}

// notify has the hub notify the browsers that subscribe entered.
func (g *guests) notify() {
	for _, guest := range g.viewers {
		var own wire.PushState
		_, answer := g.ask(guest, "GET", "/api/push", nil)
		require.NoError(g.t, json.Unmarshal([]byte(answer), &own))
		require.NotEmpty(g.t, own.Subscriptions)
		tests := g.until(503, func() (int, string) {
			return g.ask(guest, "POST", "/api/push/subscriptions/"+own.Subscriptions[0].ID+"/test", nil)
		})
		require.LessOrEqual(g.t, tests, 6)
	}
	c := g.h.screen("owner", g.info, 0)
	c.cancel(g.session) // the turn of queue
	c.until("idle", func(_ []event.Event, s *wire.State) bool { return s != nil && s.Turn.State == state.TurnIdle })
	for i := range 100 {
		id := fmt.Sprint("fails", i)
		c.prompt(g.session, id, "/error")
		c.untilTurnEnds(id)
	}
}

// leaveRecords makes and revokes more rules than an hour has records.
func (g *guests) leaveRecords() {
	path := "/api/sessions/" + g.h.create("demo").SessionID + "/rules"
	for i := range 600 {
		status, answer := g.ask(g.owner, "POST", path, strings.NewReader(fmt.Sprintf(`{"scope":"session","effect":"allow","kind":"k%d","title":%q}`, i, strings.Repeat("t", 200))))
		require.Equal(g.t, 201, status, answer)
		var made struct{ ID string }
		require.NoError(g.t, json.Unmarshal([]byte(answer), &made))
		status, answer = g.ask(g.owner, "DELETE", path+"/"+made.ID, nil)
		require.Less(g.t, status, 300, answer)
	}
	status, _ := g.ask(g.owner, "GET", "/api/audit", nil)
	require.Equal(g.t, 200, status)
}

// mint has a hub begin with as many tokens as there may be. A guest may make none.
func (g *guests) mint() {
	status, _ := g.ask(g.collaborators[0], "POST", "/api/pairings", strings.NewReader("{}"))
	require.Equal(g.t, 403, status)
	path := filepath.Join(g.h.data, "auth.json")
	g.h.stop()
	data, err := os.ReadFile(path)
	require.NoError(g.t, err)
	var kept map[string]any
	require.NoError(g.t, json.Unmarshal(data, &kept))
	tokens := kept["tokens"].([]any)
	for i := len(tokens); i < 1000; i++ {
		another := maps.Clone(tokens[0].(map[string]any))
		another["id"], another["hash"] = fmt.Sprintf("%016x", i), fmt.Sprintf("%064x", i)
		tokens = append(tokens, another)
	}
	kept["tokens"] = tokens
	data, err = json.Marshal(kept)
	require.NoError(g.t, err)
	require.NoError(g.t, os.WriteFile(path, data, 0o600))
	g.h.start()
	_, errs, code := g.h.run("token")
	require.NotZero(g.t, code)
	require.Contains(g.t, errs, "1000")
}

// open makes more sessions than may be open, with more agents than may run.
func (g *guests) open() {
	for i := range 110 {
		text := ""
		if i < 30 {
			text = "/plan"
		}
		body := fmt.Sprintf(`{"agent":"demo","prompt":%q}`, text)
		status, answer := g.ask(g.owner, "POST", "/api/sessions", strings.NewReader(body))
		if status != 201 { // those that are open were used a moment ago
			require.Equal(g.t, 503, status, answer)
			require.Contains(g.t, answer, "100 sessions are open and in use")
		}
	}
}
