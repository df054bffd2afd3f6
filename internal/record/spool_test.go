package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// ended is a destination that stores what it gets.
type ended struct {
	reason string
	lines  [][]byte
	left   Left
	err    error
}

func (e *ended) Put(_ context.Context, lines [][]byte) (event.Seq, error) {
	if e.err != nil {
		return 0, e.err
	}
	e.lines = append(e.lines, lines...)
	return e.left.After + event.Seq(len(e.lines)), nil
}

func (e *ended) End(_ context.Context, reason string) error {
	e.reason = reason
	return nil
}

// The hub closes the session of a recorder that was silent for long, such as one that
// was stopped, and takes no more of it.
func TestEventsThatTheHubNoLongerTakesAreKeptAndThePersonIsToldWhere(t *testing.T) {
	dir := t.TempDir()
	waiting, err := newSpool(dir, Left{"s1", "r1", 2}, DefaultWaiting)
	require.NoError(t, err)
	defer waiting.file.Close()
	line := `{"type":"note","data":{"text":"the last one"}}` + "\n"
	require.NoError(t, waiting.put([]byte(line)))
	var stderr bytes.Buffer
	tape := &tape{spool: waiting, onlooker: acp.NewOnlooker("fake", actor), say: Options{Stderr: &stderr}.complain}
	to := ended{err: &FinalError{errors.New("this recorder no longer records the session")}}
	tape.handOver(&to)
	path := filepath.Join(dir, "s1.jsonl.refused")
	require.Contains(t, stderr.String(), "the recording stops, the agent continues: this recorder no longer records the session\n")
	require.Contains(t, stderr.String(), "are kept in "+path+", one JSON object a line: read them there, then delete the file\n")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(kept), line)
	require.Contains(t, to.reason, "the recording stopped early: ")
}

func TestAFileOfWaitingEventsThatFailsStopsTheRecordingWithWords(t *testing.T) {
	for name, fail := range map[string]func(disk.File) error{
		"it cannot be read": disk.File.Close,
		"it is cut":         func(f disk.File) error { return f.Truncate(3) },
	} {
		t.Run(name, func(t *testing.T) {
			waiting, err := newSpool(t.TempDir(), Left{"s1", "r1", 2}, DefaultWaiting)
			require.NoError(t, err)
			defer waiting.file.Close()
			require.NoError(t, waiting.put([]byte(`{"type":"note","data":{}}`+"\n")))
			require.NoError(t, fail(waiting.file))
			waiting.finish("")
			var stderr bytes.Buffer
			tape := &tape{spool: waiting, onlooker: acp.NewOnlooker("fake", actor), say: Options{Stderr: &stderr}.complain}
			var to ended
			tape.handOver(&to)
			require.Contains(t, stderr.String(), "the recording stops, the agent continues: read waiting events: ")
			require.Contains(t, to.reason, "the recording stopped early: read waiting events: ")
		})
	}
}

// TestAFileOfAKilledRecorderIsHandedOver stops a recorder between any two of its steps:
// a killed process leaves its file as it is, without the lock.
func TestAFileOfAKilledRecorderIsHandedOver(t *testing.T) {
	line := func(text string) string { return `{"type":"note","data":{"text":"` + text + `"}}` }
	put := func(text string) func(*spool) {
		return func(s *spool) { require.NoError(t, s.put([]byte(line(text)+"\n"))) }
	}
	hand := func(n int, after event.Seq) func(*spool) {
		return func(s *spool) { require.NoError(t, s.handed(int64(n*(len(line("a"))+1)), after)) }
	}
	steps := []struct {
		do    func(*spool)
		lines []string // handed over from then on, those that may be there already included
		after event.Seq
	}{
		{func(*spool) {}, nil, 2},
		{put("a"), []string{"a"}, 2},
		{put("b"), []string{"a", "b"}, 2},
		{hand(1, 3), []string{"a", "b"}, 2}, // "a" is handed over twice; the hub has it once
		{hand(1, 4), nil, 4},
		{put("c"), []string{"c"}, 4},
		{func(s *spool) { s.finish("the agent ended") }, []string{"c"}, 4},
		{hand(1, 5), nil, 5},
	}
	for killed := range steps {
		dir := t.TempDir()
		s, err := newSpool(dir, Left{"s1", "r1", 2}, DefaultWaiting)
		require.NoError(t, err)
		for _, step := range steps[:killed+1] {
			step.do(s)
		}
		say := func(format string, args ...any) { t.Logf(format, args...) }
		var to ended
		open := func(l Left) Destination { to.left = l; return &to }
		HandOver(t.Context(), dir, open, say)
		require.Equal(t, ended{}, to, "the recorder still runs")
		require.NoError(t, s.file.Close())

		to.err = errors.New("the hub is away")
		if len(steps[killed].lines) > 0 {
			HandOver(t.Context(), dir, open, say)
			require.Empty(t, to.reason)
		}
		to.err = nil
		HandOver(t.Context(), dir, open, say)
		var lines []string
		for _, text := range steps[killed].lines {
			lines = append(lines, line(text))
		}
		var got []string
		for _, l := range to.lines {
			got = append(got, string(l))
		}
		require.Equal(t, lines, got)
		require.Equal(t, Left{"s1", "r1", steps[killed].after}, to.left)
		require.Equal(t, map[bool]string{false: "the recorder was killed", true: "the agent ended"}[killed >= 6], to.reason)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// watched shows what a process killed after any write leaves in the file.
type watched struct {
	disk.File
	seen func([]byte)
}

func (w watched) WriteAt(p []byte, off int64) (int, error) {
	n, err := w.File.WriteAt(p, off)
	return n, errors.Join(err, w.look())
}

func (w watched) Truncate(size int64) error { return errors.Join(w.File.Truncate(size), w.look()) }

func (w watched) look() error {
	info, err := w.Stat()
	if err != nil {
		return err
	}
	all := make([]byte, info.Size())
	_, err = w.ReadAt(all, 0)
	w.seen(all)
	return err
}

func TestARecorderKilledAfterAnyWriteLeavesItsName(t *testing.T) {
	s, err := newSpool(t.TempDir(), Left{"s1", "r1", 2}, DefaultWaiting)
	require.NoError(t, err)
	defer s.file.Close()
	looks := 0
	s.file = watched{s.file, func(all []byte) {
		looks++
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "s1.jsonl"), all, 0o600))
		var to ended
		HandOver(t.Context(), dir, func(Left) Destination { return &to }, t.Logf)
		require.NotEmpty(t, to.reason, "%q", all)
	}}
	line := []byte(`{"type":"note","data":{}}` + "\n")
	for after := event.Seq(9); after < 12; after++ {
		require.NoError(t, s.put(line))
		require.NoError(t, s.handed(int64(len(line)), after))
	}
	s.finish("the agent ended")
	require.NoError(t, s.begin(12))
	require.GreaterOrEqual(t, looks, 12)
}

func TestAFileThatItsHubRefusesIsKeptAndOneOfAnotherHubIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		left string
	}{
		"refused":     {&FinalError{errors.New("another event is there")}, "s1.jsonl.refused"},
		"another hub": {&FinalError{ErrElsewhere}, "s1.jsonl"},
	} {
		dir := t.TempDir()
		s, err := newSpool(dir, Left{"s1", "r1", 2}, DefaultWaiting)
		require.NoError(t, err)
		require.NoError(t, s.put([]byte("{}\n{\"type")))
		require.NoError(t, s.file.Close())
		to := ended{err: c.err}
		var said []string
		for range 2 {
			HandOver(t.Context(), dir, func(Left) Destination { return &to }, func(format string, args ...any) {
				said = append(said, fmt.Sprintf(format, args...))
			})
		}
		if name == "refused" {
			require.Equal(t, []string{"the hub takes no more events of session s1: another event is there; the last ones are kept in " +
				filepath.Join(dir, c.left) + ", one JSON object a line: read them there, then delete the file"}, said)
		} else {
			require.Empty(t, said)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		require.Equal(t, []string{filepath.Join(dir, c.left)}, left, name)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s2.jsonl"), nil, 0o600)) // of a build of before, killed while it emptied the file
	HandOver(t.Context(), dir, func(Left) Destination { return nil }, t.Logf)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
