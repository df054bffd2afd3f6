package store_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// strays opens a session with stray files. It requires placeholders for the seqs
// first to last, all other events unchanged, and that a check names file.
func strays(t *testing.T, d disk, file string, events []event.Event, first, last event.Seq) {
	t.Helper()
	r, err := store.Check(t.Context(), d.root, d.id)
	require.NoError(t, err)
	var named []string
	for _, p := range r.Problems {
		if p.Kind == store.ProblemStray {
			named = append(named, p.File)
		}
	}
	require.Contains(t, named, filepath.Base(file))
	was := d.read(filepath.Base(file))
	o := d.open(store.Options{TailBytes: 1})
	now := readAll(t, o.log)
	requireGapless(t, now)
	for i, e := range events {
		if first <= e.Seq && e.Seq <= last {
			require.Equal(t, event.TypeCorrupt, now[i].Type, "seq %d", e.Seq)
		} else {
			require.Equal(t, e, now[i])
		}
	}
	requireAppends(t, o.log)
	o.close()
	require.Equal(t, was, d.read(filepath.Base(file)), "a stray file was changed")
}

// rangeOf returns the first and last seq in a complete file's name.
func rangeOf(t *testing.T, path string) (first, last event.Seq) {
	t.Helper()
	return seqOf(t, path, 0), seqOf(t, path, 1)
}

func seqOf(t *testing.T, path string, n int) (seq event.Seq) {
	t.Helper()
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "events-"), ".jsonl"), "-")
	for _, digit := range parts[n] {
		seq = 10*seq + event.Seq(digit-'0')
	}
	return seq
}

// twin records another session whose complete files have the same names.
func twin(t *testing.T, sealed []string) disk {
	t.Helper()
	other, _, theirs := inFiles(t)
	for i, path := range sealed {
		require.Equal(t, filepath.Base(path), filepath.Base(theirs[i]))
	}
	return other
}

func TestACompleteFileOfAnotherSessionIsStray(t *testing.T) {
	for name, at := range map[string]int{"the oldest": 0, "one in the middle": 2} {
		t.Run(name, func(t *testing.T) {
			d, events, sealed := inFiles(t)
			file := filepath.Base(sealed[at])
			d.write(file, twin(t, sealed).read(file))
			first, last := rangeOf(t, sealed[at])
			strays(t, d, sealed[at], events, first, last)
		})
	}
}

func TestACompleteFileOfAnotherSessionThatEndsWithTheSameBytesIsStray(t *testing.T) {
	d, events, sealed := inFiles(t)
	file := filepath.Base(sealed[2])
	lines := bytes.SplitAfter(d.read(file), []byte("\n"))
	changed := strings.Replace(string(lines[0]), d.id, twin(t, sealed).id, 1)
	require.NotEqual(t, string(lines[0]), changed)
	lines[0] = signed(changed)
	d.write(file, bytes.Join(lines, nil))
	first, last := rangeOf(t, sealed[2])
	strays(t, d, sealed[2], events, first, last)
	ours, err := store.InChain(d.dir(), file)
	require.NoError(t, err)
	require.False(t, ours, "search must skip a stray file")
}

// An older file of the same session under the right name has a different last line.
func TestACompleteFileThatTheNextDoesNotNameIsStray(t *testing.T) {
	d, events, sealed := inFiles(t)
	file := filepath.Base(sealed[2])
	lines := bytes.SplitAfter(d.read(file), []byte("\n"))
	changed := strings.Replace(string(lines[len(lines)-2]), `"text":"`, `"text":"changed `, 1)
	require.NotEqual(t, string(lines[len(lines)-2]), changed)
	lines[len(lines)-2] = signed(changed)
	d.write(file, bytes.Join(lines, nil))
	first, last := rangeOf(t, sealed[2])
	strays(t, d, sealed[2], events, first, last)
}

func TestADamagedLinkLosesNoSoundLine(t *testing.T) {
	for name, damage := range map[string]func(lines [][]byte) int{
		"the last line":  func(lines [][]byte) int { return len(lines) - 2 },
		"the first line": func([][]byte) int { return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			d, events, sealed := inFiles(t)
			file := filepath.Base(sealed[2])
			lines := bytes.SplitAfter(d.read(file), []byte("\n"))
			at := damage(lines)
			lines[at][len(lines[at])/2] ^= 1
			lost, _ := rangeOf(t, sealed[2])
			lost += event.Seq(at)
			d.write(file, bytes.Join(lines, nil))
			o := d.open(store.Options{TailBytes: 1})
			for i, e := range readAll(t, o.log)[:len(events)] {
				if e.Seq != lost {
					require.Equal(t, events[i], e)
				}
			}
			o.close()
		})
	}
}

func TestFilesOfAnOlderBuildFitByIdAndFirstSeq(t *testing.T) {
	d, events, sealed := inFiles(t)
	for _, name := range append(sealed, d.path("events.jsonl")) {
		lines := bytes.SplitAfter(d.read(filepath.Base(name)), []byte("\n"))
		text := string(lines[0])
		if from := strings.Index(text, `,"prev":"`); from >= 0 {
			lines[0] = signed(text[:from] + text[from+len(`,"prev":"12345678"`):])
		}
		d.write(filepath.Base(name), bytes.Join(lines, nil))
	}
	o := d.open(store.Options{TailBytes: 1})
	for i, e := range readAll(t, o.log)[:len(events)] {
		if e.Type != event.TypeSegmentStart {
			require.Equal(t, events[i], e)
		}
	}
	require.Zero(t, o.log.Health().Holes)
	events = readAll(t, o.log)
	o.close()
	file := filepath.Base(sealed[1])
	d.write(file, twin(t, sealed).read(file))
	first, last := rangeOf(t, sealed[1])
	strays(t, d, sealed[1], events, first, last)
}

func TestOfTwoFilesWithTheSameSeqsTheOneThatFitsItsNameCounts(t *testing.T) {
	d, events, sealed := inFiles(t)
	copied := "events-000000000001-000000000040.jsonl"
	d.write(copied, d.read(filepath.Base(sealed[1])))
	strays(t, d, copied, events, 0, 0)
}

func TestASessionWhoseActiveFileIsAnothersIsRefusedAndLeftAlone(t *testing.T) {
	d, other := recorded(t, 5), recorded(t, 9)
	own := d.read("events.jsonl")
	d.write("events.jsonl", other.read("events.jsonl"))
	s := open(t, d.root, store.Options{})
	_, err := s.Log(t.Context(), d.id)
	require.ErrorContains(t, err, "belongs to session \""+other.id)
	require.Equal(t, other.read("events.jsonl"), d.read("events.jsonl"))
	r, err := store.Check(t.Context(), d.root, d.id)
	require.NoError(t, err)
	require.Contains(t, r.Problems[0].Detail, "belongs to session \""+other.id)
	ours, err := store.InChain(d.dir(), "events.jsonl")
	require.NoError(t, err)
	require.False(t, ours, "search must skip a stray file")
	require.NoError(t, os.WriteFile(d.path("events.jsonl"), own, 0o600))
	l, err := s.Log(t.Context(), d.id)
	require.NoError(t, err)
	requireAppends(t, l)
	require.NoError(t, s.Close())
}

func TestRetentionLeavesAStrayFileAlone(t *testing.T) {
	d, _, sealed := inFiles(t)
	file := filepath.Base(sealed[0])
	d.write(file, twin(t, sealed).read(file))
	s := open(t, d.root, store.Options{SegmentBytes: 2000})
	l, err := s.Log(t.Context(), d.id)
	require.NoError(t, err)
	_, err = l.Retain(t.Context(), 1)
	require.NoError(t, err)
	require.FileExists(t, sealed[0])
	require.NoFileExists(t, sealed[1])
	require.NoError(t, s.Close())
	require.Equal(t, []string{store.ProblemStray}, kinds(t, d))
}

// signed returns a line with the right checksum, whether it had one or not.
func signed(line string) []byte {
	body, _, found := strings.Cut(strings.TrimSuffix(line, "\n"), `,"crc":"`)
	if !found {
		body = strings.TrimSuffix(body, "}")
	}
	return fmt.Appendf(nil, `%s,"crc":"%08x"}`+"\n", body, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
}
