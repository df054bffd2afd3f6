package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The list and one session at three sizes of terminal, through their keys.
func TestSessionsAreChosenAndReadOnTheWholeTerminal(t *testing.T) {
	s := newShell(t)
	empty := s.at()
	empty.sees("There is no session of this project yet.")
	empty.types("q")
	empty.ends(0)

	s.do("new", "--name", "nothing was said here")
	for i := range 23 {
		// The list is sorted by activity: each is over before the next one begins.
		s.do("new", "--name", fmt.Sprintf("name-%c 日本語 wide", 'a'+i))
		s.do("prompt", "-", "--wait", fmt.Sprintf("/burst 70 of %c", 'a'+i))
	}
	for _, size := range [][2]int{{40, 20}, {80, 24}, {200, 60}} {
		columns, rows := size[0], size[1]
		page := min(20, rows-4)
		sc := s.sized(columns, rows, "sessions")
		sc.sees(fmt.Sprintf("Showing 1–%d of 23 · this project", page))
		sc.sees("name-w 日")
		for _, act := range []string{"View", "Attach", "Resume", "Segmented", "Server"} {
			sc.sees(act)
		}
		require.NotContains(t, strings.Join(sc.rows(), "\n"), "nothing was said here")
		sc.golden(fmt.Sprintf("list-%dx%d", columns, rows))
		sc.types("\x1b[6~") // PgDn
		sc.sees(fmt.Sprintf("Showing %d–%d of 23", page+1, min(2*page, 23)))
		sc.types("\x1b[5~")
		sc.sees("Showing 1–")
		sc.types("h")
		sc.sees("Any key closes the help.")
		sc.sees("its own copy")
		sc.types("h")
		sc.sees("Showing 1–")
		sc.types("sname-h")
		sc.sees("Showing 1–1 of 1") // live: before Enter
		sc.types("\r\r")
		sc.sees("\n69\n70\n")
		sc.types("\x1b[H") // Home
		sc.sees("› /burst 70 of h")
		sc.sees("1–")
		sc.sees("/ 71 · compact")
		sc.types("f")
		sc.sees("· full")
		sc.types("s13\r")
		sc.sees("14–")
		sc.golden(fmt.Sprintf("reader-search-%dx%d", columns, rows))
		sc.types("n")
		sc.sees("No later row says 13.")

		// A narrower terminal has more rows, and the last ones stay in view.
		sc.types("\x1b[F") // End
		sc.resize(columns-20, rows)
		sc.sees("\n69\n70\n")
		for i, row := range sc.rows() {
			require.LessOrEqual(t, len([]rune(row)), columns-20, i)
		}
		sc.types("qq") // the first one ends the search
		sc.sees("Showing 1–1 of 1")
		sc.types("\x1b")
		sc.sees("of 23")
		sc.types("q")
		sc.ends(0)
	}
	// A session of another project goes on there, or is continued here.
	other := filepath.Join(s.dir, "other")
	require.NoError(t, os.Mkdir(other, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(other, "AGENTS.md"), nil, 0o600))
	s.do("new", "--folder", other, "--name", "of another", "/burst 3")
	require.Eventually(t, func() bool { return strings.Contains(s.do("ls", "--all"), "  3\n") }, patience, 50*time.Millisecond)
	sc := s.sized(80, 24, "sessions", "--all")
	sc.sees("of another")
	sc.types("\x1b[C\r") // Right: Attach
	sc.sees("y: go on there, c: continue it here")
	sc.types("c")
	sc.sees("Type a prompt")
	sc.types("\x03")
	sc.ends(0)
	require.Contains(t, s.do("show", "-", "--full"), "The work continues in another folder")

	piped := s.command("sessions")
	said, _ := piped.CombinedOutput()
	require.Equal(t, 2, piped.ProcessState.ExitCode())
	require.Contains(t, string(said), "sessions needs a terminal")
}

// What comes while a person reads is shown, and so is what becomes of other sessions.
func TestAReaderSeesWhatComes(t *testing.T) {
	s := newShell(t)
	s.do("new", "/plan")
	require.Eventually(t, func() bool { return strings.Contains(s.do("show", "-"), "The plan is done.") }, patience, 50*time.Millisecond)
	sc := s.at()
	sc.sees("* idle")
	sc.types("\r")
	sc.sees("The plan is done.")
	s.do("prompt", "-", "--wait", "/burst 60 for the reader")
	sc.sees("\n59\n60\n")
	sc.types("\x1b[H") // Home: what comes now does not move the rows
	sc.sees("The plan is done.")
	shows := func(rows []string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, rows, sc.rows()[1:1+len(rows)]) }, patience, 10*time.Millisecond)
	}
	before := sc.rows()[1:10]
	sc.sees("/ 64 ")
	s.do("prompt", "-", "--wait", "/burst 30")
	sc.sees("/ 96 ")
	shows(before)
	sc.types("j")
	shows(before[1:])
	sc.types("k")
	shows(before)
	sc.types("\x1b[F")
	sc.sees("\n29\n30\n")
	sc.types("\x1b")
	sc.sees("  idle") // it has been read
	s.do("new", "/ask")
	sc.sees("needs you")

	// Attach has a prompt box below the session; Esc reads, and then goes back to the list.
	sc.types("\x1b[B\x1b[C\r")
	sc.sees("\n29\n30")
	sc.types("/refuse\r")
	sc.sees("the turn ended: refusal")
	sc.types("\x1b")
	sc.sees("Return")
	sc.types("q")
	sc.sees("Showing 1–")
	sc.types("q")
	sc.ends(0)
}
