package blackbox_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

	"github.com/abidehub/abide/server/wire"
)

// limit is how a row of the table of limits is shown to hold.
type limit struct {
	// test is a test of the row.
	test string
	// fill has guests fill what the row bounds, where they can. It fails where they get
	// further than the row says, or the owner is kept out.
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
		"frames of a socket":                             {test: "TestAFloodOfControlFramesIsReadMoreSlowly"},
		"sessions followed by a socket":                  {test: "TestASocketFollowsAtMost64Sessions"},
		"data that the kernel has not sent yet":          {test: "TestASiegeCostsATurnAndTheOwnerNothing"},
		"bodies of requests":                             {"TestBodiesAreBoundedAndTyped", (*guests).send, false},
		"wrong credentials":                              {"TestWrongCodesAreDelayedNotLockedOut", (*guests).guess, false},
		"attachments":                                    {"TestASessionKeepsSoMuchOfAttachmentsWhoeverUploadsThem", (*guests).attach, false},
		"waiting prompts":                                {"TestACollaboratorLeavesPlacesOfTheQueueForTheOwner", (*guests).queue, false},
		"comments":                                       {"TestGuestsLeaveCommentsForTheOwnersAndForEachOther", (*guests).comment, true},
		"permission rules":                               {test: "TestFault87TheRulesOfASessionAreBounded"},
		"exports and imports":                            {"TestFault92SlowExportsLeaveAPlaceToTheOwner", (*guests).export, true},
		"searches, previews and git":                     {"TestManySearchesAtOnceTakeTurnsAndKeepNobodyFromWork", (*guests).search, false},
		"browsers with notifications":                    {"TestFault92OneCredentialFillsItsOwnPlacesForSubscriptionsAlone", (*guests).subscribe, false},
		"notifications on their way":                     {test: "TestAServiceThatHangsKeepsNoOtherWaiting"},
		"records of the audit trail":                     {test: "TestAnswersOfOneCredentialAreBoundedByTheHourAndGrantsAreNot"},
		"devices and tokens":                             {test: "TestOnlySoManyTokensAreKept"},
		"open sessions · running agents":                 {test: "TestUnusedSessionsMakeRoomForNewOnes"},
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

// mostMemory bounds the hub's memory while guests fill what they can, in MiB.
const mostMemory = 128

// The hub of these tests has no race detector in make soak, where its memory is bounded.
func TestNoGuestKeepsTheOwnerOutOrTheHubsMemory(t *testing.T) {
	t.Parallel()
	bounded := os.Getenv("ABIDE_SOAK") != "" && runtime.GOOS == "linux"
	s := settings{more: "limits: {clients: 64, session_attachments_mib: 64, daily_attachments_mib: 8}\n"}
	if bounded {
		s.program = filepath.Join(t.TempDir(), "abide")
		buildProgram(t, s.program, "../../cmd/abide")
		s.agents = map[string]agent{"demo": {Command: []string{s.program, "demo-agent", "--speed", "0"}}}
	}
	h := newHub(t, s)
	g := &guests{h: h, session: h.create("demo").SessionID, owner: h.token()}
	for range 2 {
		g.collaborators = append(g.collaborators, h.token("--scope", "collaborator", "--session", g.session))
		g.viewers = append(g.viewers, h.token("--scope", "viewer", "--session", g.session))
	}
	for _, row := range limitRows(t) {
		l := limits()[row[0]]
		if l.fill == nil || l.slow && os.Getenv("ABIDE_SOAK") == "" {
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
				peak := peakMiB(t, pid)
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
	if os.Getenv("ABIDE_SOAK") != "" {
		words = 150_000
	}
	text, err := json.Marshal(map[string]string{"text": strings.Repeat("later ", words)})
	require.NoError(g.t, err)
	status, answer := g.ask(g.owner, "POST", g.path("/prompt"), strings.NewReader(`{"text":"/ask"}`)) // the session is busy
	require.Less(g.t, status, 300, answer)
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
