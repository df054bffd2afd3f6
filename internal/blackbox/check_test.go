package blackbox_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// finding is the JSON output of check and repair.
type finding struct {
	Sessions int `json:"sessions"`
	Problems []struct {
		Session    string `json:"session"`
		Kind       string `json:"kind"`
		File       string `json:"file"`
		Detail     string `json:"detail"`
		Repairable bool   `json:"repairable"`
	} `json:"problems"`
	Actions []struct{ Session, Did string } `json:"actions"`
}

func (f finding) kinds() []string {
	var all []string
	for _, p := range f.Problems {
		all = append(all, p.Kind)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// found runs check or repair twice, as text on a copy and as JSON on the original.
// It requires that both report the same.
func found(t *testing.T, h *hub, command, data string, code int) (finding, string) {
	t.Helper()
	forPeople := filepath.Join(t.TempDir(), "data")
	copyAll(t, data, forPeople)
	people := *h
	people.t, people.data = t, forPeople
	out, errs, got := people.run(command)
	require.Equal(t, code, got, out+errs)
	require.Equal(t, code != 0, errs != "", "an error is one line on stderr")
	require.LessOrEqual(t, strings.Count(errs, "\n"), 1)
	require.NotContains(t, out+errs, "%!", "a format verb without its argument")

	machine := *h
	machine.t, machine.data = t, data
	text, errs, got := machine.run(command, "--json")
	require.Equal(t, code, got, text+errs)
	var f finding
	require.NoError(t, json.Unmarshal([]byte(text), &f), text)
	for _, p := range f.Problems {
		require.Contains(t, out, ": "+p.Kind+": ", "the text output lacks this problem")
		require.NotEmpty(t, p.Detail)
	}
	for _, a := range f.Actions {
		require.Contains(t, out, a.Session+": repair: ")
	}
	return f, out
}

// copyAll copies a directory with its modes and links.
func copyAll(t *testing.T, from, to string) {
	t.Helper()
	out, err := exec.Command("cp", "-a", from, to).CombinedOutput()
	require.NoError(t, err, string(out))
}

// seqAfter is the seq of the event after these lines.
func seqAfter(lines [][]byte) string { return strconv.Itoa(len(lines) + 1) }

func TestCheckAndRepairSayWhatIsWrongAndWhatBecomesOfIt(t *testing.T) {
	h := newHub(t, settings{})
	s := h.create("demo")
	c := h.screen("screen", s, 0)
	c.prompt(s.SessionID, "p1", "/markdown")
	c.untilTurnEnds("p1")
	h.stop()

	log := func(change func(lines [][]byte) [][]byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, "events.jsonl")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
			lines[len(lines)-1] = append(lines[len(lines)-1], '\n')
			require.NoError(t, os.WriteFile(path, bytes.Join(change(lines), nil), 0o600))
		}
	}
	write := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	missing := sha256.Sum256([]byte("never stored"))
	for _, c := range []struct {
		name     string
		damage   func(t *testing.T, dir string)
		kinds    []string // found by check
		repaired bool     // repair repairs all of them
	}{
		{"nothing", func(*testing.T, string) {}, nil, true},
		{"a bit flipped in the middle", log(func(l [][]byte) [][]byte {
			l[4][bytes.Index(l[4], []byte(`Z"`))-1] ^= 1
			return l
		}), []string{"unverified"}, false},
		{"a line that is none any more", log(func(l [][]byte) [][]byte { l[4][0] ^= 1; return l }), []string{"damaged", "hole"}, false},
		{"a torn tail", log(func(l [][]byte) [][]byte { return append(l, []byte(`{"seq":9`)) }), []string{"torn"}, true},
		{"a wrong seq", log(func(l [][]byte) [][]byte {
			l[4] = bytes.Replace(l[4], []byte(`{"seq":5`), []byte(`{"seq":9999`), 1)
			return l
		}), []string{"damaged", "hole", "metadata"}, false},
		{"a line twice", log(func(l [][]byte) [][]byte { return slices.Insert(l, 5, l[4]) }), []string{"metadata", "repeat"}, false},
		{"events lost at the end", log(func(l [][]byte) [][]byte { return l[:4] }), []string{"hole", "metadata"}, false},
		{"no metadata", func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "metadata.json"))) }, []string{"metadata"}, true},
		{"garbage for labels", write("labels.json", "{]"), []string{"metadata"}, true},
		{"garbage for a queue", write("queue.json", "{]"), []string{"unreadable"}, true},
		{"metadata of the future", write("metadata.json", `{"format":9,"session_id":"`+s.SessionID+`"}`), []string{"unreadable"}, false},
		{"a garbage segment", write("events-000000000001-000000000003.jsonl", "garbage"), []string{"hole", "repeat", "start", "torn"}, false},
		{"a blob that is gone", log(func(l [][]byte) [][]byte {
			return append(l, []byte(`{"seq":`+seqAfter(l)+`,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"raw":{"blob":{"sha256":"`+
				hex.EncodeToString(missing[:])+`","bytes":12,"media_type":"text/plain"},"head":"n"}}}`+"\n"))
		}), []string{"blob", "unverified"}, false},
		{"a log that is a directory", func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "events.jsonl")))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "events.jsonl"), 0o700))
		}, []string{"unreadable"}, false},
		{"a log that lies elsewhere", func(t *testing.T, dir string) {
			away := filepath.Join(t.TempDir(), "away")
			require.NoError(t, os.Rename(filepath.Join(dir, "events.jsonl"), away))
			require.NoError(t, os.Symlink(away, filepath.Join(dir, "events.jsonl")))
		}, []string{"stray", "unreadable"}, false},
		{"a log others may read", func(t *testing.T, dir string) {
			require.NoError(t, os.Chmod(filepath.Join(dir, "events.jsonl"), 0o644))
		}, []string{"mode"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			copyAll(t, h.data, data)
			c.damage(t, filepath.Join(data, "sessions", s.SessionID))
			code := 0
			if c.kinds != nil {
				code = 1
			}
			before, out := found(t, h, "check", data, code)
			require.Equal(t, c.kinds, before.kinds(), out)
			require.Contains(t, out, "1 session, ")
			code = 1
			if c.repaired {
				code = 0
			}
			found(t, h, "repair", data, code)
			after, out := found(t, h, "check", data, code)
			for _, p := range after.Problems {
				require.False(t, p.Repairable, "repair left a repairable problem: %s", out)
			}
		})
	}
}
