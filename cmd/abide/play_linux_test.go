package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A session is played on the whole terminal by the app's keys: of the hub, in the reader, and of
// a file without a hub.
func TestASessionIsPlayedOnTheWholeTerminal(t *testing.T) {
	s := newShell(t)
	id := s.do("new", "/burst 3")
	idle := func() bool { return s.do("ls", "--status", "idle") != "" }
	require.Eventually(t, idle, patience, 50*time.Millisecond)
	s.do("prompt", "-", "--wait", "/burst 5")

	sc := s.sized(80, 24, "play", id, "--speed", "16")
	sc.sees("stopped 16× · event ")
	sc.sees("\n4\n5\n")
	sc.types("\x1b[H") // Home
	sc.sees("stopped 16× · event 0 /")
	sc.unseen("/burst")
	sc.types("}")
	sc.sees("› /burst 3")
	sc.unseen("\n1\n2")
	sc.types("}")
	sc.sees("› /burst 5")
	sc.sees("\n2\n3\n")
	at := s.place(sc)
	sc.types(".")
	require.Eventually(t, func() bool { return s.place(sc) == at+1 }, patience, 10*time.Millisecond)
	sc.types(",")
	require.Eventually(t, func() bool { return s.place(sc) == at }, patience, 10*time.Millisecond)
	sc.types("{")
	require.Eventually(t, func() bool { return !strings.Contains(strings.Join(sc.rows(), "\n"), "/burst 5") }, patience, 10*time.Millisecond)
	sc.types("<")
	sc.sees("stopped 8×")
	sc.types("R")
	require.Eventually(t, func() bool { return strings.Contains(sc.rows()[0], "again") }, patience, 10*time.Millisecond)
	sc.types("R")
	require.Eventually(t, func() bool { return !strings.Contains(sc.rows()[0], "again") }, patience, 10*time.Millisecond)
	sc.types(" ") // and it plays on to the end
	sc.sees("\n4\n5\n")
	sc.sees("stopped 8×")
	sc.types("h")
	sc.sees("{ and } by turns")
	sc.types("h")

	// It is read on from there, with what comes meanwhile.
	sc.types(">p")
	sc.sees("F more or less")
	s.do("prompt", "-", "--wait", "/burst 7")
	sc.sees("\n6\n7\n")
	sc.types("p") // from the beginning
	sc.sees("playing 1×")
	sc.types("q")
	sc.ends(0)

	file := filepath.Join(s.dir, "session.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(s.do("export", "-", "--format", "jsonl")), 0o600))
	s.kill()
	sc = s.sized(80, 24, "play", file, "--speed", "16", "--full")
	sc.sees("\n6\n7\n")
	sc.sees("stopped 16×")
	sc.sees("Return")
	sc.unseen("Attach")
	sc.types("i")       // does nothing: a file has no agent
	sc.types("\x1b[5~") // PgUp
	sc.sees("› /burst")
	sc.types("\x1b")
	sc.ends(0)

	late := s.sized(80, 24, "play", file, "--from", "99999")
	late.ends(2)
	require.Contains(t, late.shown(), "is beyond the end")
	lines := s.sized(80, 24, "play", file, "--plain", "--speed", "1000")
	require.Contains(t, lines.ends(0), "› /burst 7")
}

// place is the event at which a terminal stands.
func (s *shell) place(sc *screen) int {
	var at int
	for _, row := range sc.rows() {
		if _, rest, is := strings.Cut(row, "· event "); is {
			for _, c := range rest {
				if c < '0' || c > '9' {
					break
				}
				at = at*10 + int(c-'0')
			}
		}
	}
	return at
}
