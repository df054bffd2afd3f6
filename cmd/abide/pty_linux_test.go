package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hinshun/vt10x"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// screen is a terminal of 60 columns in which a command runs.
type screen struct {
	t   *testing.T
	cmd *exec.Cmd
	pty *os.File

	mu    sync.Mutex
	text  bytes.Buffer
	cells vt10x.Terminal
	read  chan struct{}
}

// at starts a command in a terminal.
func (s *shell) at(args ...string) *screen { return s.sized(60, 24, args...) }

// sized starts a command in a terminal of a size.
func (s *shell) sized(columns, rows int, args ...string) *screen {
	t := s.t
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer tty.Close()
	cmd := s.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	sc := &screen{t: t, cmd: cmd, pty: pty, cells: vt10x.New(vt10x.WithSize(columns, rows)), read: make(chan struct{})}
	go func() { // ends with the command; ends waits for it
		defer close(sc.read)
		_, _ = io.Copy(sc, pty) // the last read fails because the other side is closed
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); pty.Close() })
	return sc
}

func (s *screen) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.cells.Write(data) // it takes all
	return s.text.Write(data)
}

// rows are the lines that the terminal shows now, without the spaces at their ends.
func (s *screen) rows() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := strings.Split(strings.TrimSuffix(s.cells.String(), "\n"), "\n")
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " ")
	}
	return rows
}

// sees waits until a row of the terminal has a text.
func (s *screen) sees(text string) {
	s.t.Helper()
	if !assert.Eventually(s.t, func() bool { return strings.Contains(strings.Join(s.rows(), "\n"), text) }, patience, 10*time.Millisecond) {
		require.Fail(s.t, "not on the terminal: "+text, strings.Join(s.rows(), "\n"))
	}
}

// unseen waits until no row of the terminal has a text: a frame may be drawn only in part.
func (s *screen) unseen(text string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return !strings.Contains(strings.Join(s.rows(), "\n"), text) }, patience, 10*time.Millisecond, text)
}

// resize changes the size of the terminal.
func (s *screen) resize(columns, rows int) {
	s.mu.Lock()
	s.cells.Resize(columns, rows)
	s.mu.Unlock()
	require.NoError(s.t, unix.IoctlSetWinsize(int(s.pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}))
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) waitFor(text string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return strings.Contains(s.shown(), text) }, patience, 10*time.Millisecond, "%q", text)
}

func (s *screen) types(text string) {
	_, err := io.WriteString(s.pty, text)
	require.NoError(s.t, err)
}

// ends waits for the end of the command and returns its output.
func (s *screen) ends(code int) string {
	s.t.Helper()
	_ = s.cmd.Wait()
	require.Equal(s.t, code, s.cmd.ProcessState.ExitCode(), s.shown())
	<-s.read
	return s.shown()
}

func TestAtATerminalAPersonIsAsked(t *testing.T) {
	s := newShell(t)
	id := s.do("new", "--name", strings.Repeat("wide 日本 ", 9), "/ask")
	require.Eventually(t, func() bool { return s.do("ls", "--status", "needs_you") != "" }, patience, 50*time.Millisecond)

	answers := s.at("answer", "-")
	answers.waitFor("1-3: ")
	require.Contains(t, answers.shown(), "  $ echo hello")
	answers.types("1\n")
	require.Contains(t, answers.ends(0), "answered: Allow once")
	require.Contains(t, s.at("pin", "-").ends(0), "pinned")
	require.Contains(t, s.at("pin", "-", "--off").ends(0), "not pinned any more")

	waits := s.at("prompt", "-", "/ask", "--wait")
	waits.waitFor("1-3: ")
	waits.types("nine\n")
	waits.waitFor("is not one of the 3 options")
	waits.types("reject\n")
	require.Contains(t, waits.ends(0), "You chose `no`.")

	s.rests()
	// The list is in colour, with no line wider than the terminal.
	list := s.at("ls").ends(0)
	require.Contains(t, list, "\x1b[2midle\x1b[0m")
	require.Contains(t, list, id[len(id)-8:][:4])
	require.Contains(t, list, "…")

	// Ctrl-C detaches, and the agent continues.
	attached := s.at("attach", "-", "--plain")
	attached.waitFor("You chose")
	attached.types("/slow 60\n")
	attached.waitFor("1 2 3")
	attached.types("\x03")
	require.NotContains(t, attached.ends(0), "the turn ended")
	require.Eventually(t, func() bool { return strings.Contains(s.do("show", "-"), "19 20") }, patience, 50*time.Millisecond)
	s.do("cancel", "-")
	s.rests()
	attached = s.at("attach", "-", "--plain")
	attached.waitFor("19 20")
	attached.types("\x04") // Ctrl-D
	attached.ends(0)

	deletes := s.at("rm", "-", "--forever")
	deletes.waitFor("for good? [y/N] ")
	deletes.types("n\n")
	deletes.ends(1)
	deletes = s.at("rm", "-", "--forever")
	deletes.waitFor("[y/N] ")
	deletes.types("\x03")
	deletes.ends(1)
	deletes = s.at("rm", "-", "--forever")
	deletes.waitFor("[y/N] ")
	deletes.types("y\n")
	deletes.ends(0)
	require.NotContains(t, s.do("ls", "--all"), id[len(id)-8:][:4])
}

func TestAtATerminalAMergeCommitsWhatItWouldLeaveBehind(t *testing.T) {
	s := newShell(t)
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", s.dir}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	put := func(name string) { require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte(name), 0o600)) }
	git("init", "-q", "-b", "main")
	git("config", "user.name", "Ann")
	git("config", "user.email", "ann@example.org")
	git("add", ".")
	git("commit", "-q", "--allow-empty", "-m", "first")
	git("switch", "-q", "-c", "side")
	put("one")
	s.do("new", "--name", "merges")
	s.do("prompt", "-", "/plan", "--wait")
	s.do("branch", "-", "commit", "-m", "one")
	put("two")
	merges := s.at("branch", "-", "merge", "--method", "squash", "-m", "both")
	merges.waitFor("[c/y/N] ")
	require.Contains(t, merges.shown(), "these files are not committed, so they stay behind: two.")
	merges.types("\n")
	require.Contains(t, merges.ends(1), "nothing was changed")
	merges = s.at("branch", "-", "merge", "--method", "squash", "-m", "both")
	merges.waitFor("[c/y/N] ")
	merges.types("c\n")
	merges.waitFor("Commit with this message? [y/N] ")
	merges.types("y\n")
	merges.ends(0)
	require.Equal(t, "two", git("show", "main:two"), "it was committed before the merge")
	require.Equal(t, "both", git("log", "-1", "--format=%s", "main"))
}

func TestAtATerminalAFormIsFilledInFieldByField(t *testing.T) {
	s := newShell(t)
	s.do("new")
	attached := s.at("attach", "-", "--plain")
	fills := func(lines ...string) { // an expected question, the typed answer, and so on
		for i := 0; i < len(lines); i += 2 {
			attached.waitFor(lines[i])
			attached.types(lines[i+1] + "\n")
		}
	}
	fills(
		"", "/form",
		"Send · 2 Decline", "1",
		"In capitals (yes or no; empty: no): ", "perhaps",
		`"perhaps" is neither yes nor no`, "yes",
		"Name (a text, 1 to 40 characters): ", "",
		"Name is needed", "Ada",
		"How often (a whole number, 1 to 9; empty: 1): ", "77",
		"How often takes 1 to 9", "7",
		"Tone (1 Warm · 2 Dry; may be empty): ", "",
		"You filled in `", "/form",
	)
	require.Contains(t, attached.shown(), `{"loud":true,"name":"Ada","times":7}`)
	require.Eventually(t, func() bool { return strings.Count(attached.shown(), "2 Decline") == 2 }, patience, 10*time.Millisecond)
	attached.types("send\n")
	require.Eventually(t, func() bool { return strings.Count(attached.shown(), "In capitals (yes or no; empty: no): ") == 3 }, patience, 10*time.Millisecond)

	// The form was answered elsewhere meanwhile: the value being typed must not
	// become a prompt.
	s.do("answer", "-", "decline")
	attached.waitFor("the form was answered elsewhere")
	attached.types("yes\n")
	attached.waitFor("that question is answered already")
	attached.types("\x04")
	attached.ends(0)
	require.NotContains(t, s.do("show", "-"), "› yes")

	s.do("new", "/form")
	require.Eventually(t, func() bool { return s.do("ls", "--status", "needs_you") != "" }, patience, 50*time.Millisecond)
	attached = s.at("attach", "-", "--plain")
	fills("Send · 2 Decline", "1", "In capitals", "cancel", "→ Decline", "\x04")
	attached.ends(0)

	attached = s.at("prompt", "-", "/form", "--wait")
	fills("1-2: ", "1", "In capitals", "", "Name (", "Bob", "How often", "", "Tone (", "dry")
	require.Contains(t, attached.ends(0), `{"loud":false,"name":"Bob","times":1,"tone":"dry"}`)

	s.do("prompt", "-", "/form")
	require.Eventually(t, func() bool { return s.do("ls", "--status", "needs_you") != "" }, patience, 50*time.Millisecond)
	attached = s.at("answer", "-", "send")
	fills("In capitals", "", "Name (", "Eve", "How often", "", "Tone (", "")
	attached.ends(0)

	// A question that was answered elsewhere must no longer be asked.
	attached = s.at("prompt", "-", "/ask", "--wait")
	attached.waitFor("1-3: ")
	s.do("answer", "-", "3")
	require.Contains(t, attached.ends(0), "You chose `no`.")
}

// At a terminal ls begins with this project; a pipe gets the sessions of all.
func TestAtATerminalTheListBeginsWithThisProject(t *testing.T) {
	s := newShell(t)
	s.do("new", "--name", "of the first")
	other := filepath.Join(s.dir, "other")
	require.NoError(t, os.Mkdir(other, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(other, "AGENTS.md"), nil, 0o600))
	s.dir = other
	s.do("new", "--name", "of the second")

	here := s.at("ls").ends(0)
	require.Contains(t, here, "of the second")
	require.NotContains(t, here, "of the first")
	require.Contains(t, here, "abide ls --all")
	for _, all := range []string{s.at("ls", "--all").ends(0), s.at("ls", "--all", "--status", "idle").ends(0), s.do("ls")} {
		require.Contains(t, all, "of the first")
		require.Contains(t, all, "of the second")
	}
	require.Contains(t, s.at("ls", "--all", "--limit", "1").ends(0), "1 of 2 sessions; `--limit 0` lists all")
	require.NotContains(t, s.at("ls", "--all", "--limit", "2").ends(0), "sessions;")
}

// At a terminal run stays with the session, and its exit code is that of its turn. JSON is
// indented there.
func TestAtATerminalRunStaysAndExitsAsItsTurn(t *testing.T) {
	s := newShell(t)
	stays := s.at("run", "/refuse")
	stays.waitFor("the turn ended: refusal")
	stays.types("\x04")
	stays.ends(1)
	stays = s.at("run", "/plan")
	stays.waitFor("The plan is done.")
	stays.types("/slow 600\n")
	stays.waitFor("1 2 3") // the first turn is over
	stays.types("\x04")
	stays.ends(0)
	left := s.at("run", "/slow 600")
	left.waitFor("1 2 3")
	left.types("\x04")
	require.Contains(t, left.ends(1), "left before the end of the turn")
	require.Contains(t, s.at("run", "--json", "/plan").ends(0), "\"stop_reason\": \"end_turn\",\r\n")
}
