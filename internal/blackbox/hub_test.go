package blackbox_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/stretchr/testify/require"
)

// hub is the program under test with a data directory. It may be started, killed
// and started again, always on the same address. When its test ends, the directory
// gets every check of this package.
type hub struct {
	t         *testing.T
	program   string // the binary
	data      string
	config    string
	workspace string
	log       string // stderr of all runs
	addr      string

	cmd     *exec.Cmd
	ended   chan error // receives the result of cmd.Wait
	env     []string   // of a recorder, beside the test's own
	path    string     // before the PATH of the hub and of its commands, if set
	secrets []string   // tokens and pairing codes it printed
	hub     *client.Hub
	socket  *os.File // handed to the hub, if set
}

// settings are the parts of a hub's configuration that a test may choose.
type settings struct {
	agents map[string]agent
	// data is the data directory. If empty, it is a new one beside the hub's files.
	data string
	// program is the binary. If empty, it is the one built for these tests.
	program string
	// more is YAML appended to the configuration.
	more string
	// path is put before the PATH of the hub and of its commands.
	path string
	// before runs before the hub is started for the first time.
	before func(*hub)
}

type agent struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`

	PassEnv    []string         `json:"pass_env,omitempty"`
	MCPServers []map[string]any `json:"mcp_servers,omitempty"`
	Resume     map[string]any   `json:"resume,omitempty"`
}

// demo is the built-in agent without pauses.
func demo() agent { return agent{Command: []string{binary(), "demo-agent", "--speed", "0"}} }

// paced is the built-in agent at its usual speed.
func paced() agent { return agent{Command: []string{binary(), "demo-agent"}} }

// newHub starts a hub and stops it when the test ends.
func newHub(t *testing.T, s settings) *hub {
	t.Helper()
	root := t.TempDir()
	h := &hub{
		t: t, program: binary(), data: filepath.Join(root, "data"), config: filepath.Join(root, "config.yaml"),
		workspace: filepath.Join(root, "workspace"), log: filepath.Join(root, "log"), addr: lasting(t), path: s.path,
	}
	require.NoError(t, os.Mkdir(h.workspace, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(h.workspace, "README.md"), []byte("# A workspace\n"), 0o644))
	if s.program != "" {
		h.program = s.program
	}
	if s.data != "" {
		h.data = s.data
	}
	if s.agents == nil {
		s.agents = map[string]agent{"demo": demo()}
	}
	agents, err := json.Marshal(s.agents) // JSON is YAML
	require.NoError(t, err)
	workspaces, err := json.Marshal([]string{h.workspace})
	require.NoError(t, err)
	text := "workspaces: " + string(workspaces) + "\n" + s.more
	if len(s.agents) > 0 {
		text = "agents: " + string(agents) + "\n" + text
	}
	require.NoError(t, os.WriteFile(h.config, []byte(text), 0o600))
	if s.before != nil {
		s.before(h)
	}
	h.start()
	t.Cleanup(h.finish)
	return h
}

// lasting returns an address that stays free while the hub is down. The system
// gives out ports from 32768 on to other programs, so it uses a lower one.
func lasting(t *testing.T) string {
	t.Helper()
	for range 1000 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err != nil {
			continue // it is in use
		}
		require.NoError(t, listener.Close())
		return listener.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

// in returns the hub for use in a subtest.
func (h *hub) in(t *testing.T) *hub {
	inner := *h
	inner.t = t
	return &inner
}

func (h *hub) environ() []string {
	if h.path == "" {
		return os.Environ()
	}
	return append(os.Environ(), "PATH="+h.path+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func (h *hub) args(command string, more ...string) []string {
	return append([]string{command, "--data", h.data, "--config", h.config}, more...)
}

// start runs the hub until it listens.
func (h *hub) start() {
	h.t.Helper()
	require.True(h.t, h.tryStart(), "the hub ended before it listened:\n%s", tail(h.logged(), 8000))
}

// tryStart starts a hub that may end at once for a known reason. It reports whether
// the hub listens.
func (h *hub) tryStart() bool {
	h.t.Helper()
	lines := h.spawn()
	first, ok := h.line(lines)
	if !ok {
		require.Error(h.t, h.wait(), "exit code of a hub that never listened")
		return false
	}
	base, ok := strings.CutPrefix(first, "listening on ")
	require.True(h.t, ok, "no second line")
	second, _ := h.line(lines)
	if _, code, ok := strings.Cut(second, "#pair="); ok {
		h.secrets = append(h.secrets, code)
	} else {
		require.Contains(h.t, h.logged(), "no space for a pairing code: only paired browsers can connect", "no reason is logged for the missing pairing code: %s", second)
	}
	h.addr = strings.TrimPrefix(base, "http://")
	if h.hub == nil {
		var err error
		h.hub, err = client.New(base, h.token())
		require.NoError(h.t, err)
		h.t.Cleanup(h.hub.Close)
	}
	return true
}

// stumble starts the hub and kills it after this time, whether it listens by then
// or not.
func (h *hub) stumble(after time.Duration) {
	h.t.Helper()
	h.spawn()
	time.Sleep(after) // a random moment of the start
	h.kill()
}

// spawn starts the hub under umask 0 and returns its first lines of output.
func (h *hub) spawn() <-chan string {
	h.t.Helper()
	log, err := os.OpenFile(h.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(h.t, err)
	defer log.Close()
	script := `umask 000; exec "$@"`
	if h.socket != nil { // as systemd does
		script = `umask 000; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"`
	}
	cmd := exec.Command("sh", append([]string{"-c", script, "sh", h.program}, h.args("serve", "--addr", h.addr, "--open=false")...)...)
	cmd.Dir = h.workspace
	// Most tests send prompts without deciding about interruptions.
	cmd.Env = append(h.environ(), "ABIDE_QUEUE_AFTER_INTERRUPTION=continue")
	cmd.Stderr = log
	if h.socket != nil {
		cmd.ExtraFiles = []*os.File{h.socket}
	}
	out, err := cmd.StdoutPipe()
	require.NoError(h.t, err)
	require.NoError(h.t, cmd.Start())
	ended := make(chan error, 1)
	lines := make(chan string, 16)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			default: // no test reads more than two lines
			}
		}
		ended <- cmd.Wait()
	}()
	h.cmd, h.ended = cmd, ended
	return lines
}

// line returns the next line of output. ok is false if the hub has ended.
func (h *hub) line(lines <-chan string) (line string, ok bool) {
	h.t.Helper()
	select {
	case line, ok := <-lines:
		return line, ok
	case <-time.After(patience):
		h.t.Fatalf("the hub does not listen:\n%s", h.logged())
	}
	return "", false
}

func (h *hub) logged() string {
	data, err := os.ReadFile(h.log)
	require.NoError(h.t, err)
	return string(data)
}

// token creates a token with the command line, like a script.
func (h *hub) token(more ...string) string {
	h.t.Helper()
	out, errs, code := h.run("token", more...)
	require.Zero(h.t, code, errs)
	token := strings.TrimSpace(out)
	require.NotEmpty(h.t, token)
	h.secrets = append(h.secrets, token)
	return token
}

// run runs another abide command on the hub's data directory.
func (h *hub) run(command string, more ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.program, h.args(command, more...)...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = h.environ(), &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(h.t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// kill ends the hub by SIGKILL and waits until it is gone.
func (h *hub) kill() {
	h.t.Helper()
	require.NoError(h.t, h.cmd.Process.Kill())
	h.wait()
}

// stop ends the hub by SIGTERM and requires exit code 0.
func (h *hub) stop() {
	h.t.Helper()
	require.NoError(h.t, h.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(h.t, h.wait(), "exit code after SIGTERM")
}

func (h *hub) wait() error {
	h.t.Helper()
	select {
	case err := <-h.ended:
		h.cmd = nil
		return err
	case <-time.After(patience):
		h.cmd.Process.Kill()
		h.t.Fatalf("the hub does not end:\n%s", h.logged())
	}
	return nil
}

// create creates a session of the agent in the hub's workspace.
func (h *hub) create(agent string) wire.SessionInfo {
	h.t.Helper()
	info, err := h.hub.Create(h.t.Context(), wire.NewSession{Agent: agent, Workspace: h.workspace}, "")
	require.NoError(h.t, err)
	return info
}

// finish stops the hub and checks everything it leaves behind.
func (h *hub) finish() {
	if h.cmd != nil {
		h.stop()
	}
	if h.t.Failed() {
		h.t.Logf("the hub's log:\n%s", tail(h.logged(), 8000))
		h.keep()
	}
	h.requireNoAgents()
	h.requireClosedModes()
	h.requireNoSecrets()
	require.NotContains(h.t, h.logged(), "DATA RACE")
	require.NotContains(h.t, h.logged(), "panic:")
	require.NotContains(h.t, h.logged(), "0xc0", "a pointer instead of a value in the log")
	out, errs, code := h.run("check")
	require.Zero(h.t, code, "abide check: %s%s", out, errs)
}

// keep copies the files of a failed test to the directory in ABIDE_KEEP, if set.
func (h *hub) keep() {
	if dir := os.Getenv("ABIDE_KEEP"); dir != "" {
		to := filepath.Join(dir, strings.ReplaceAll(h.t.Name(), "/", "_"))
		if err := os.CopyFS(to, os.DirFS(filepath.Dir(h.data))); err != nil {
			h.t.Logf("keep: %v", err)
		}
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// requireNoAgents requires that no process carries this hub's marker.
func (h *hub) requireNoAgents() {
	h.t.Helper()
	id := h.id()
	require.Eventually(h.t, func() bool { return len(marked(id+".")) == 0 }, patience, 20*time.Millisecond,
		"agents outlive their hub: %v", marked(id+"."))
}

func (h *hub) id() string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.data, "hub.json"))
	require.NoError(h.t, err)
	var is struct {
		HubID string `json:"hub_id"`
	}
	require.NoError(h.t, json.Unmarshal(data, &is))
	require.NotEmpty(h.t, is.HubID)
	return is.HubID
}

// requireClosedModes requires that no other user may read a file.
func (h *hub) requireClosedModes() {
	h.t.Helper()
	require.NoError(h.t, filepath.WalkDir(h.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil // a temporary file that was renamed meanwhile
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), "tmp_") && strings.Contains(path, "/store.git/objects/") {
			return nil // git closes it once it is complete; a kill leaves it in its closed folder
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		require.Zero(h.t, info.Mode().Perm()&^want, path) // git's objects cannot be written either
		return nil
	}))
}

// requireNoSecrets requires that the hub wrote no token and no pairing code to any
// file.
func (h *hub) requireNoSecrets() {
	h.t.Helper()
	files := []string{h.log}
	require.NoError(h.t, filepath.WalkDir(h.data, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	}))
	for _, path := range files {
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // a temporary file that was renamed meanwhile
		}
		require.NoError(h.t, err)
		for _, secret := range h.secrets {
			require.False(h.t, bytes.Contains(data, []byte(secret)), "%s holds the secret %s…", path, secret[:4])
		}
	}
}

// marked lists the processes whose ABIDE_AGENT marker begins with prefix.
func marked(prefix string) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil {
			continue // the process is gone or belongs to another user
		}
		for _, v := range bytes.Split(environ, []byte{0}) {
			if bytes.HasPrefix(v, []byte("ABIDE_AGENT="+prefix)) && !zombie(pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, rest, ok := bytes.Cut(stat, []byte(") "))
	return !ok || rest[0] == 'Z'
}

// rawSocket opens a connection that is read only when the test reads it.
func rawSocket(t *testing.T, h *hub, path string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	request := "GET " + path + " HTTP/1.1\r\nHost: " + h.addr + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: " + wire.Subprotocol +
		"\r\nAuthorization: Bearer " + h.token() + "\r\n\r\n"
	_, err = conn.Write([]byte(request))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}
