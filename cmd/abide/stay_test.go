package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/localhub"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// shell runs this program in separate processes on one data directory.
type shell struct {
	t         *testing.T
	bin, data string
	dir       string
	hub       *exec.Cmd
}

func newShell(t *testing.T) *shell {
	s := &shell{t: t, bin: filepath.Join(t.TempDir(), "abide"), data: filepath.Join(t.TempDir(), "data"), dir: t.TempDir()}
	self, err := os.Executable()
	require.NoError(t, err)
	if os.Link(self, s.bin) != nil { // on another file system
		data, err := os.ReadFile(self)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(s.bin, data, 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "AGENTS.md"), nil, 0o600))
	s.serve(lasting(t))
	return s
}

// lasting returns an address that stays free while the hub is down. The system gives out ports
// from 32768 on to other programs, so it is a lower one.
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

func (s *shell) serve(addr string) {
	s.hub = s.command("serve", "--open=false", "--addr", addr)
	require.NoError(s.t, s.hub.Start())
	s.t.Cleanup(func() { s.kill() })
	require.Eventually(s.t, func() bool {
		_, err := localhub.Address(s.data)
		return err == nil
	}, patience, 10*time.Millisecond)
}

func (s *shell) kill() {
	_ = s.hub.Process.Kill() // it may have ended
	_ = s.hub.Wait()
}

func (s *shell) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.bin, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "ABIDE_DATA="+s.data, "HOME="+s.data, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// do runs a command to its end and returns what it printed.
func (s *shell) do(args ...string) string {
	s.t.Helper()
	cmd := s.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(s.t, err, "%v: %s", args, stderr.String())
	return strings.TrimSpace(string(out))
}

// rests waits until the newest session's turn is over: what kills the hub before interrupts it.
func (s *shell) rests() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		return s.do("ls", "--status", "idle", "--limit", "1") != "" && s.do("ls", "--status", "running") == ""
	}, patience, 50*time.Millisecond)
}

// stays is a command that runs until it is stopped, with its output.
type stays struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan error

	mu  sync.Mutex
	out bytes.Buffer
}

func (s *shell) stay(args ...string) *stays {
	cmd := s.command(args...)
	running := &stays{cmd: cmd, ended: make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = running, io.Discard
	var err error
	running.stdin, err = cmd.StdinPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	go func() { running.ended <- cmd.Wait() }() // stop receives from it
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		running.stdin.Close()
	})
	return running
}

func (r *stays) Write(data []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(data)
}

func (r *stays) printed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

func (r *stays) waitFor(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(r.printed(), text) }, patience, 10*time.Millisecond, text)
}

// stop sends SIGINT, like Ctrl-C. The command must exit with code 0.
func (r *stays) stop(t *testing.T) string {
	t.Helper()
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, <-r.ended)
	return r.printed()
}

// seqs reads seqs printed one per line.
func seqs(t *testing.T, lines string) []event.Seq {
	t.Helper()
	var list []event.Seq
	scanner := bufio.NewScanner(strings.NewReader(lines))
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		var e event.Event
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &e))
		list = append(list, e.Seq)
	}
	return list
}

// requireAll requires every event from 1 on, once and in order.
func requireAll(t *testing.T, list []event.Seq) {
	t.Helper()
	for i, seq := range list {
		require.Equal(t, event.Seq(i+1), seq)
	}
}

func TestTailKeepsUpInBoundedMemoryAndShowBeginsAtOnce(t *testing.T) {
	events, most := 10_000, 32
	if soak.On() {
		events = 100_000
	}
	s := newShell(t)
	id := s.do("new")
	follows := s.command("tail", "-f", id, "--raw", "--from", "1")
	out, err := follows.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, follows.Start())
	t.Cleanup(func() { _ = follows.Process.Kill() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	next := event.Seq(1)
	turn := func() int { // reads to the end of a turn and returns the peak memory in MiB
		for lines.Scan() {
			var e event.Event
			require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
			require.Equal(t, next, e.Seq)
			if next++; e.Type == event.TypeTurnEnd {
				return peakMiB(t, follows.Process.Pid)
			}
		}
		t.Fatal("tail ended early")
		return 0
	}
	s.do("prompt", id, "/burst "+strconv.Itoa(events))
	before := turn()
	s.do("prompt", id, "/burst "+strconv.Itoa(events))
	require.LessOrEqual(t, turn()-before, most, "MiB more after twice as many events")
	require.Greater(t, int(next), 2*events)
	require.NoError(t, follows.Process.Signal(syscall.SIGINT))
	require.NoError(t, follows.Wait())

	shows := s.command("show", id)
	var stderr bytes.Buffer
	shows.Stderr = &stderr
	out, err = shows.StdoutPipe()
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, shows.Start())
	head := bufio.NewScanner(out)
	require.True(t, head.Scan())
	require.Less(t, time.Since(began), patience/2)
	require.True(t, head.Scan())
	require.NoError(t, out.Close()) // like head
	err = shows.Wait()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "it ends by SIGPIPE instead of reading on")
	require.Equal(t, syscall.SIGPIPE, exit.Sys().(syscall.WaitStatus).Signal())
	require.Empty(t, stderr.String())
}

// peakMiB returns the peak memory of a process.
func peakMiB(t *testing.T, pid int) int {
	if runtime.GOOS != "linux" {
		return 0
	}
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(data), "VmHWM:")
	require.True(t, found)
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return kib >> 10
}

// page is a session as a browser holds it: a client with a token.
type browserPage struct {
	mu     sync.Mutex
	events []event.Event
}

func (s *shell) open(ctx context.Context, id string) (*browserPage, <-chan error) {
	base, err := localhub.Address(s.data)
	require.NoError(s.t, err)
	hub, err := client.New(base, s.do("token"))
	require.NoError(s.t, err)
	s.t.Cleanup(hub.Close)
	info, err := hub.Session(ctx, id)
	require.NoError(s.t, err)
	page, ended := &browserPage{}, make(chan error, 1)
	watch := client.NewWatch(hub, id, client.Cursor{Epoch: info.Epoch})
	go func() { // the test receives from it
		ended <- watch.Run(ctx, func(u client.Update) error {
			page.mu.Lock()
			defer page.mu.Unlock()
			page.events = append(page.events, u.Events...)
			return nil
		})
	}()
	return page, ended
}

func (p *browserPage) has(kind event.Type, text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if e.Type == kind && strings.Contains(string(e.Data), text) {
			return true
		}
	}
	return false
}

func (p *browserPage) shows(t *testing.T, kind event.Type, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return p.has(kind, text) }, patience, 10*time.Millisecond, "%s with %s", kind, text)
}

func TestATerminalAPageAndAScriptShareASession(t *testing.T) {
	pause, burst := time.Second, 5_000
	if soak.On() {
		pause, burst = 11*time.Second, 100_000 // longer than the hub waits for a slow client
	}
	s := newShell(t)
	id := s.do("new")
	ctx, leave := context.WithCancel(t.Context())
	page, ended := s.open(ctx, id)
	terminal := s.stay("attach", id)
	follows := s.stay("tail", "-f", id, "--raw", "--from", "1")

	// The terminal asks, a script answers.
	_, err := io.WriteString(terminal.stdin, "/ask\n")
	require.NoError(t, err)
	page.shows(t, event.TypePermissionRequest, "echo hello")
	terminal.waitFor(t, "  1 Allow once")
	s.do("answer", id, "1")
	terminal.waitFor(t, "→ Allow once (command line)")
	terminal.waitFor(t, "You chose `yes`.")
	page.shows(t, event.TypePermissionOutcome, `"yes"`)

	// A script asks, the terminal answers.
	s.do("prompt", id, "/ask")
	require.Eventually(t, func() bool { return strings.Count(terminal.printed(), "? echo hello") == 2 }, patience, 10*time.Millisecond)
	_, err = io.WriteString(terminal.stdin, "3\n")
	require.NoError(t, err)
	page.shows(t, event.TypePermissionOutcome, `"no"`)
	s.rests()

	// The hub is killed and restarted on the same address.
	base, err := localhub.Address(s.data)
	require.NoError(t, err)
	s.kill()
	s.serve(strings.TrimPrefix(base, "http://"))
	s.do("prompt", id, "/plan", "--wait")
	terminal.waitFor(t, "The plan is done.")
	page.shows(t, event.TypePlan, "Check the answer")

	// A terminal's process is stopped under load and continued.
	require.NoError(t, follows.cmd.Process.Signal(syscall.SIGSTOP))
	s.do("prompt", id, "/burst "+strconv.Itoa(burst), "--wait")
	time.Sleep(pause) // the pause is the fault under test
	require.NoError(t, follows.cmd.Process.Signal(syscall.SIGCONT))
	s.do("prompt", id, "/markdown", "--wait")

	// Compare with the log: each client must have all of it, once.
	oracle := seqs(t, s.do("tail", id, "--raw", "--from", "1"))
	requireAll(t, oracle)
	last := `{"seq":` + strconv.Itoa(len(oracle)) + `,`
	follows.waitFor(t, last)
	require.Equal(t, oracle, seqs(t, follows.stop(t)))
	require.Eventually(t, func() bool {
		page.mu.Lock()
		defer page.mu.Unlock()
		return len(page.events) == len(oracle)
	}, patience, 10*time.Millisecond)
	for i, e := range page.events {
		require.Equal(t, oracle[i], e.Seq)
	}
	leave()
	require.True(t, errors.Is(<-ended, context.Canceled))
	terminal.stop(t)
}
