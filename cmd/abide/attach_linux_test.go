package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/localhub"
	"github.com/abidehub/abide/internal/tools/soak"
)

// golden waits until the terminal shows what a file has. The path in the header and the ages in
// the list are others each time.
func (s *screen) golden(name string) {
	s.t.Helper()
	file := filepath.Join("testdata", "screens", name+".txt")
	path, age := regexp.MustCompile(`   *\S+$| \(\S+\)$`), regexp.MustCompile(`(now  |\dm   ?|\d\dm  ?)`)
	shown := func() string {
		rows := s.rows()
		rows[0] = path.ReplaceAllString(rows[0], "  PATH")
		return age.ReplaceAllString(strings.Join(rows, "\n"), "AGE  ") + "\n"
	}
	if *update {
		time.Sleep(time.Second) // until it is still; only where the files are made
		require.NoError(s.t, os.WriteFile(file, []byte(shown()), 0o600))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(s.t, err)
	if !assert.Eventually(s.t, func() bool { return shown() == string(want) }, patience, 10*time.Millisecond) {
		require.Equal(s.t, string(want), shown(), file)
	}
}

// A person at the whole terminal asks, answers, fills in a form and leaves, at three sizes.
func TestAPersonSitsAtASessionOnTheWholeTerminal(t *testing.T) {
	s := newShell(t)
	for _, size := range [][2]int{{40, 20}, {80, 24}, {200, 60}} {
		columns, rows := size[0], size[1]
		named := func(name string) string { return fmt.Sprintf("%s-%dx%d", name, columns, rows) }
		s.do("new")
		sc := s.sized(columns, rows, "attach", "-")
		sc.sees("idle")
		sc.golden(named("attach"))
		sc.types("/plan\r")
		sc.sees("The plan is done.")
		sc.sees("idle · mode ask")

		// Commands and files complete; a text has several lines.
		sc.types("/bu")
		sc.sees("Send n updates at once")
		sc.types("\t2 \x0a日本 wide")
		sc.sees("› 日本 wide")
		sc.golden(named("attach-lines"))
		sc.types("\r")
		sc.sees("\n1\n2\n")
		sc.types("\x1b[A") // Up: the prompt again
		sc.sees("› 日本 wide\n\n")
		sc.types("\x1b[B")
		sc.sees("Type a prompt")
		sc.types("read @AGEN")
		sc.sees("  @AGENTS.md")
		sc.types("\t")
		sc.sees("› read @AGENTS.md")
		sc.types("\x15")
		sc.sees("Type a prompt")

		// What is typed at a question is not sent by mistake.
		sc.types("/ask\r")
		sc.sees("1-3, y, n answers")
		sc.golden(named("attach-question"))
		sc.resize(columns-10, rows)
		sc.sees("1-3, y, n answers")
		sc.resize(columns, rows)
		sc.golden(named("attach-question"))
		sc.types("what is it?\r")
		sc.sees("Not sent, as a question waits")
		sc.types("\x15?")
		sc.sees("Up and Down scroll")
		sc.types("?")
		sc.sees("1-3, y, n answers")
		sc.types("y")
		sc.sees("You chose `yes`.")

		// A form is filled in value by value; what does not fit is said.
		sc.types("/form\r")
		sc.sees("1-2, y, n answers")
		sc.types("1")
		sc.sees("In capitals (yes or no")
		sc.types("perhaps\r")
		sc.sees("neither yes nor no")
		sc.types("\x15\r")
		sc.sees("Name (a text")
		sc.types("Ada\r")
		sc.sees("How often (a whole number")
		sc.types("\r")
		sc.sees("Tone (")
		sc.types("2\r")
		sc.sees(`"name":"Ada"`)

		// Settings are chosen, and what the agent does is cancelled.
		sc.types("\x0f") // Ctrl-O
		sc.sees("The agent's settings")
		sc.golden(named("attach-settings"))
		sc.types("\x1b[B\r")
		sc.sees("mode: Auto")
		sc.types("/slow 600\r")
		sc.sees("at work")
		sc.types("later\r")
		sc.sees("Queued: it waits")
		sc.types("x") // a key clears the notice
		sc.sees("1 queued")
		sc.types("\x15\x11") // Ctrl-U, Ctrl-Q
		sc.sees("Prompts that wait")
		sc.types("\r") // into the line again
		sc.sees("› later")
		sc.types("\x15\x18") // Ctrl-X
		sc.sees("the turn ended: cancelled")
		sc.sees("idle")

		// Reading has the reader's keys, and Ctrl-C leaves.
		sc.types("\x1b")
		sc.sees("Return")
		sc.types("f")
		sc.sees("· full")
		sc.types("f")
		sc.types("i")
		sc.sees("Enter sends")

		// The line stays in view on a tiny terminal, and what was typed is not lost unasked.
		sc.types("unsent")
		sc.resize(20, 5)
		sc.sees("› unsent")
		sc.types("\x03")
		sc.resize(columns, rows)
		sc.sees("A prompt was typed and not sent")
		sc.types("\x03")
		sc.ends(0)
	}
}

// Another screen answers, the hub is killed and comes back: the terminal shows all of it.
func TestATerminalStaysTrueToTheSession(t *testing.T) {
	s := newShell(t)
	s.do("new")
	sc := s.sized(80, 24, "attach", "-")
	sc.sees("idle")
	sc.types("/form\r")
	sc.sees("1-2, y, n answers")
	sc.types("1")
	sc.sees("In capitals (yes or no")
	s.do("answer", "-", "decline")
	sc.sees("The form was answered elsewhere.")
	sc.sees("Then there is no greeting.")
	other := s.sized(80, 24, "attach", "-")
	other.sees("Then there is no greeting.")
	sc.sees("watches, too")
	other.sees("idle") // before the session is known, a prompt is not sent
	other.types("/ask\r")
	sc.sees("1-3, y, n answers")
	sc.types("3")
	other.sees("You chose `no`.")
	other.types("\x04") // Ctrl-D
	other.ends(0)
	s.rests()

	base, err := localhub.Address(s.data)
	require.NoError(t, err)
	s.kill()
	sc.sees("The connection to the hub was lost")
	sc.types("/burst 3\r")
	s.serve(strings.TrimPrefix(base, "http://"))
	sc.sees("\n1\n2\n3\n")
	require.Equal(t, 1, strings.Count(s.do("show", "-"), "› /burst 3"))
	sc.types("\x03")
	sc.ends(0)
}

// A terminal that stands still under load (a laptop that sleeps) has all of it afterwards, once.
func TestAScreenThatWasStoppedHasAllOfTheSessionOnce(t *testing.T) {
	pause := time.Second
	if soak.On() {
		pause = time.Minute
	}
	s := newShell(t)
	id := s.do("new")
	sc := s.sized(80, 24, "attach", id)
	sc.sees("idle") // before the session is known, a prompt is not sent
	sc.types("/burst 2000\r")
	sc.sees("1999")
	require.NoError(t, sc.cmd.Process.Signal(syscall.SIGSTOP))
	s.do("prompt", id, "/burst 7000", "--wait")
	time.Sleep(pause) // the pause is the fault under test
	require.NoError(t, sc.cmd.Process.Signal(syscall.SIGCONT))
	sc.sees("\n6999\n7000\n")
	sc.sees("/ 9003 ") // two prompts, a line between them, and each number
	sc.types("/burst 1\r")
	sc.sees("\n› /burst 1\n1\n")
	sc.types("\x1b")
	sc.sees("Return")
	sc.types("\x1b[H") // Home
	sc.sees("1–")
	sc.sees(" / 9006")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, []string{"› /burst 2000", "1", "2"}, sc.rows()[1:4])
	}, patience, 10*time.Millisecond)
	sc.types("\x03")
	sc.ends(0)
}

// Whatever an agent says, a screen obeys none of it.
func TestAHostileAgentMovesNothingOnAScreen(t *testing.T) {
	s := newShell(t)
	s.kill()
	config := filepath.Join(s.data, ".config", "abide", "config.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(config), 0o700))
	require.NoError(t, os.WriteFile(config, []byte("agents: {hostile: {command: [hostile-agent]}}\n"), 0o600))
	s.serve("127.0.0.1:0")
	s.do("new", "go")
	sc := s.sized(80, 24, "sessions")
	sc.sees("needs you")
	sc.types("\x1b[C\r") // Right: Attach
	sc.sees("\n1 answers")
	sc.types("?")
	sc.sees("Up and Down scroll")
	sc.types("?\x1b")
	sc.sees("Return")
	sc.types("f")
	sc.sees("· full")
	sc.types("\x1b[H\x1b[6~\x1b[6~")
	sc.types("i")
	sc.sees("\n1 answers")
	sc.types("1")
	sc.sees("interrupted: Esc, then Resume")
	sc.types("\x03")
	shown := sc.ends(0)
	for _, c := range []string{"\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bc", "\x1b(0", "\x07", "\u0085", "\u009b", "\u009d", "\u202e", "\u200b", "\ufeff", "\x1b[6n", "\x1b[?1000h"} {
		require.NotContains(t, shown, c)
	}
}
