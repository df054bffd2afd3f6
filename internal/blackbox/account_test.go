package blackbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// account holds the part of a session's log that was read so far. It is not read
// again, or each round would take longer.
type account struct {
	dir     string // the session's directory
	log     []event.Event
	file    event.Seq // first seq of the file being read
	offset  int64     // bytes of the file already read
	prompts prompts
	held    map[*screen]int // events of each screen already compared
}

func newAccount(dir string) account {
	return account{dir: dir, file: 1, prompts: prompts{}, held: map[*screen]int{}}
}

// prompts are the seqs of each prompt in a log.
type prompts map[string][]event.Seq

func (in prompts) add(t *testing.T, events []event.Event) {
	for _, e := range events {
		if e.Type == event.TypeUserPrompt {
			var prompt event.UserPrompt
			require.NoError(t, json.Unmarshal(e.Data, &prompt))
			in[prompt.PromptID] = append(in[prompt.PromptID], e.Seq)
		}
	}
}

// update reads the log from where the last update stopped, across files. No hub may
// be writing to it.
func (a *account) update(t *testing.T) {
	known := len(a.log)
	for {
		complete, err := filepath.Glob(filepath.Join(a.dir, fmt.Sprintf("events-%012d-*.jsonl", a.file)))
		require.NoError(t, err)
		if len(complete) == 0 {
			break
		}
		require.True(t, a.read(t, complete[0]), "%s is complete and has a torn tail", complete[0])
		a.file, a.offset = event.Seq(len(a.log)+1), 0
	}
	a.read(t, filepath.Join(a.dir, "events.jsonl"))
	a.prompts.add(t, a.log[known:])
}

// read continues in one file and reports whether the file ends with a whole line. A
// torn end is left for the next hub to repair. A missing file counts as whole: the
// hub was killed before it created the file.
func (a *account) read(t *testing.T, path string) (whole bool) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	require.NoError(t, err)
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, a.offset, 1<<40))
	require.NoError(t, err)
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		e, err := parseLine(line)
		if !whole || err != nil {
			return false
		}
		require.Equal(t, event.Seq(len(a.log)+1), e.Seq, "gap in %s", path)
		a.log, data = append(a.log, e), rest
		a.offset += int64(len(line)) + 1
	}
	return true
}

// hold requires that a screen saw the events of the log.
func (a *account) hold(t *testing.T, c *screen) {
	seen := c.seen()
	require.LessOrEqual(t, len(seen), len(a.log), "%s saw more than there is", c.name)
	for i := a.held[c]; i < len(seen); i++ {
		require.NoError(t, sameEvent(a.log[i], seen[i]), c.name)
	}
	a.held[c] = len(seen)
}
