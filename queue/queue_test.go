package queue_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/tools/seed"
	"github.com/abidehub/abide/queue"
)

func TestMain(m *testing.M) {
	seed.FixRapid()
	goleak.VerifyTestMain(m)
}

var noon = time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string) written {
	t.Helper()
	q, err := openWith(in(dir), queue.Options{})
	require.NoError(t, err)
	require.Nil(t, q.Damage())
	return q
}

// written is a queue whose owner waits for each Save.
type written struct{ *queue.Queue }

func openWith(files queue.Files, o queue.Options) (written, error) {
	q, err := queue.Open(files, o)
	return written{q}, err
}

func (w written) write(s *queue.Save, err error) error {
	if s == nil || err != nil {
		return err
	}
	s.Write()
	return w.Settle(s)
}

// follow writes what follows from the log.
func (w written) follow() error { return w.write(w.Flush(), nil) }

func (w written) Lookup(id, hash string) (queue.Status, bool, error) {
	status, known, err := w.Queue.Lookup(id, hash)
	if known && err == nil {
		err = w.follow()
	}
	return status, known, err
}

func (w written) Add(i queue.Item) (queue.Status, error) {
	if err := w.write(w.Queue.Add(i)); err != nil {
		return queue.Status{}, err
	}
	status, _, err := w.Queue.Lookup(i.PromptID, queue.Hash(i.Text, i.Attachments))
	return status, err
}

func (w written) Revise(id string, r queue.Revision) error { return w.write(w.Queue.Revise(id, r)) }

func (w written) Remove(id string, at time.Time) error { return w.write(w.Queue.Remove(id, at)) }

func (w written) Clear(at time.Time) (int, error) {
	before := w.Len()
	err := w.write(w.Queue.Clear(at))
	return before - w.Len(), err
}

func (w written) Enter(entries ...queue.Entry) error {
	w.Queue.Enter(entries...)
	return w.follow()
}

func (w written) Interrupt(id string, seq int64, at time.Time) error {
	w.Queue.Interrupt(id, seq, at)
	return w.follow()
}

func (w written) Advance(seq int64) error {
	w.Queue.Advance(seq)
	return w.follow()
}

func item(id string) queue.Item {
	return queue.Item{PromptID: id, Text: "do " + id, QueuedAt: noon}
}

func add(t *testing.T, q written, ids ...string) {
	t.Helper()
	for _, id := range ids {
		status, err := q.Add(item(id))
		require.NoError(t, err)
		require.Equal(t, queue.Queued, status.Outcome)
	}
}

func ids(q written) []string {
	list := []string{}
	for _, i := range q.Items() {
		list = append(list, i.PromptID)
	}
	return list
}

func hashOf(id string) string { return queue.Hash("do "+id, nil) }

// enter is the second step of Take, after the prompt was logged at seq.
func enter(q written, id string, seq int64) error {
	return q.Enter(queue.Entry{PromptID: id, Outcome: queue.Received, Seq: seq, At: noon})
}

func TestPromptsAreTakenInTheOrderTheyCame(t *testing.T) {
	q := open(t, t.TempDir())
	add(t, q, "a", "b", "c")
	for n, want := range []string{"a", "b", "c"} {
		got, ok := q.Take(noon)
		require.True(t, ok)
		require.Equal(t, want, got.PromptID)
		require.NoError(t, enter(q, want, int64(10+n)))
	}
	_, ok := q.Take(noon)
	require.False(t, ok)
}

func TestOnlyOneItemIsInFlight(t *testing.T) {
	q := open(t, t.TempDir())
	add(t, q, "a", "b")
	_, ok := q.Take(noon)
	require.True(t, ok)
	_, ok = q.Take(noon)
	require.False(t, ok, "a second item was taken before the first was settled")
	q.Return()
	got, ok := q.Take(noon)
	require.True(t, ok)
	require.Equal(t, "a", got.PromptID, "a returned item lost its place")
}

func TestAResendGetsTheLatestOutcomeAndChangesNothing(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	add(t, q, "a", "b", "c")
	require.NoError(t, q.Remove("b", noon))
	_, ok := q.Take(noon)
	require.True(t, ok)
	require.NoError(t, enter(q, "a", 7))

	for _, q := range []written{q, open(t, dir)} {
		for id, want := range map[string]queue.Status{
			"a": {Outcome: queue.Received, Seq: 7},
			"b": {Outcome: queue.Removed},
			"c": {Outcome: queue.Queued, Position: 0},
		} {
			got, err := q.Add(item(id))
			require.NoError(t, err)
			require.Equal(t, want, got, id)
		}
		require.Equal(t, []string{"c"}, ids(q))
	}

	require.NoError(t, q.Interrupt("a", 8, noon))
	got, err := open(t, dir).Add(item("a"))
	require.NoError(t, err)
	require.Equal(t, queue.Status{Outcome: queue.Interrupted, Seq: 7}, got)
}

func TestTheSameIDWithAnotherPayloadIsAConflict(t *testing.T) {
	q := open(t, t.TempDir())
	add(t, q, "a", "b")
	require.NoError(t, q.Remove("b", noon))
	for _, id := range []string{"a", "b"} {
		_, err := q.Add(queue.Item{PromptID: id, Text: "something else"})
		require.ErrorIs(t, err, queue.ErrConflict)
		_, err = q.Add(queue.Item{PromptID: id, Text: "do " + id, Attachments: []queue.Attachment{{SHA256: "x"}}})
		require.ErrorIs(t, err, queue.ErrConflict)
	}
}

func TestTheOriginalPayloadCountsAfterAnEdit(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	add(t, q, "a")
	require.NoError(t, edit(q, "a", "edited", "title"))
	check := func(q written, want queue.Outcome) {
		t.Helper()
		status, known, err := q.Lookup("a", hashOf("a"))
		require.NoError(t, err)
		require.True(t, known)
		require.Equal(t, want, status.Outcome)
		_, _, err = q.Lookup("a", queue.Hash("edited", nil))
		require.ErrorIs(t, err, queue.ErrConflict)
	}
	check(open(t, dir), queue.Queued)
	got, _ := q.Take(noon)
	require.Equal(t, "edited", got.Text)
	require.NoError(t, enter(q, "a", 3))
	check(open(t, dir), queue.Received)
}

func TestAnItemInFlightCannotBeChanged(t *testing.T) {
	q := open(t, t.TempDir())
	add(t, q, "a", "b")
	_, ok := q.Take(noon)
	require.True(t, ok)
	at := noon.Add(time.Hour)
	require.ErrorIs(t, edit(q, "a", "x", ""), queue.ErrInFlight)
	require.ErrorIs(t, move(q, "a", 1), queue.ErrInFlight)
	require.ErrorIs(t, q.Remove("a", noon), queue.ErrInFlight)
	require.ErrorIs(t, q.Revise("a", queue.Revision{Reschedule: true, ScheduledAt: &at}), queue.ErrInFlight)
	n, err := q.Clear(noon)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"a"}, ids(q))
}

func TestItemsMoveEditAndClear(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	add(t, q, "a", "b", "c", "d")
	require.NoError(t, move(q, "d", 0))
	require.NoError(t, move(q, "a", 99))
	require.NoError(t, move(q, "b", -1))
	require.Equal(t, []string{"b", "d", "c", "a"}, ids(q))
	require.Equal(t, []string{"b", "d", "c", "a"}, ids(open(t, dir)))
	require.ErrorIs(t, move(q, "nobody", 0), queue.ErrNotFound)
	require.ErrorIs(t, edit(q, "nobody", "x", ""), queue.ErrNotFound)
	require.ErrorIs(t, q.Remove("nobody", noon), queue.ErrNotFound)
	n, err := q.Clear(noon)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Empty(t, ids(open(t, dir)))
	status, err := q.Add(item("c"))
	require.NoError(t, err)
	require.Equal(t, queue.Removed, status.Outcome, "a resend revived a cleared prompt")
}

func TestAFullQueueRefusesNewPromptsButAnswersResends(t *testing.T) {
	q, err := openWith(in(t.TempDir()), queue.Options{MaxSize: 2})
	require.NoError(t, err)
	add(t, q, "a", "b")
	_, err = q.Add(item("c"))
	require.ErrorIs(t, err, queue.ErrFull)
	status, err := q.Add(item("b"))
	require.NoError(t, err)
	require.Equal(t, 1, status.Position)
	q.SetMaxSize(3)
	add(t, q, "c")
}

func TestAScheduledItemWaitsForItsTimeAndHoldsNobodyBack(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	at := noon.Add(time.Hour)
	_, err := q.Add(queue.Item{PromptID: "later", Text: "x", ScheduledAt: &at})
	require.NoError(t, err)
	due, ok := q.NextDue(noon)
	require.True(t, ok)
	require.Equal(t, at, due)
	_, ok = q.Take(noon)
	require.False(t, ok)

	add(t, q, "now")
	got, ok := q.Take(noon)
	require.True(t, ok)
	require.Equal(t, "now", got.PromptID)
	require.NoError(t, enter(q, "now", 1))

	got, ok = open(t, dir).Take(at)
	require.True(t, ok)
	require.Equal(t, "later", got.PromptID)

	require.NoError(t, q.Revise("later", queue.Revision{Reschedule: true, ScheduledAt: nil}))
	_, ok = q.Take(noon)
	require.True(t, ok)
	require.NoError(t, enter(q, "later", 2))
	_, ok = q.NextDue(noon)
	require.False(t, ok)
}

func TestALogEntryTakesTheItemOutOfTheQueue(t *testing.T) {
	// A crash between the append of the prompt and the second step.
	dir := t.TempDir()
	add(t, open(t, dir), "a", "b")
	q := open(t, dir)
	require.NoError(t, q.Enter(queue.Entry{PromptID: "a", Hash: "of an edited text", Outcome: queue.Interrupted, Seq: 5, At: noon}))
	require.Equal(t, []string{"b"}, ids(q))
	require.Equal(t, int64(5), q.LogSeq())
	status, known, err := open(t, dir).Lookup("a", hashOf("a"))
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, queue.Status{Outcome: queue.Interrupted, Seq: 5}, status)
}

func TestNoPromptIDIsEverForgotten(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	const total = 3100
	var entries []queue.Entry
	for n := range total {
		id := fmt.Sprint("p", n)
		entries = append(entries, queue.Entry{PromptID: id, Hash: hashOf(id), Outcome: queue.Received, Seq: int64(n + 1), At: noon})
	}
	require.NoError(t, q.Enter(entries[:total-1]...))
	require.NoError(t, q.Enter(entries[total-1]))
	require.NoError(t, q.Interrupt("p0", total+1, noon))
	requireKnown := func(q written) {
		t.Helper()
		for n := range total {
			id := fmt.Sprint("p", n)
			want := queue.Status{Outcome: queue.Received, Seq: int64(n + 1)}
			if n == 0 {
				want.Outcome = queue.Interrupted
			}
			status, known, err := q.Lookup(id, hashOf(id))
			require.NoError(t, err)
			require.True(t, known, id)
			require.Equal(t, want, status, id)
			_, _, err = q.Lookup(id, hashOf("another payload"))
			require.ErrorIs(t, err, queue.ErrConflict, id)
		}
	}
	requireKnown(q)
	requireKnown(open(t, dir))
	require.Equal(t, int64(total+1), q.LogSeq())
	var saved struct{ Ledger []json.RawMessage }
	data, err := os.ReadFile(filepath.Join(dir, "queue.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &saved))
	require.LessOrEqual(t, len(saved.Ledger), 2000, "the file that every change rewrites must have a bounded size")

	// A crash in the middle of a line, and a queue rebuilt from the log.
	old := filepath.Join(dir, "ledger.jsonl")
	half, err := os.ReadFile(old)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(old, half[:len(half)-9], 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, "queue.json")))
	q = open(t, dir)
	require.NoError(t, q.Enter(entries...))
	require.NoError(t, q.Interrupt("p0", total+1, noon))
	requireKnown(q)
	requireKnown(open(t, dir))
}

func TestAPromptIDThatCannotBeArchivedStaysInTheLedger(t *testing.T) {
	dir := t.TempDir()
	broken := true
	q, err := openWith(stepping(dir, func(step string) error {
		if broken && step == "archive" {
			return errors.New("no space left")
		}
		return nil
	}), queue.Options{})
	require.NoError(t, err)
	entries := make([]queue.Entry, 4500)
	for n := range entries {
		id := fmt.Sprint("p", n)
		entries[n] = queue.Entry{PromptID: id, Hash: hashOf(id), Outcome: queue.Received, Seq: int64(n + 1), At: noon}
	}
	require.NoError(t, q.Enter(entries[:3500]...))
	require.NoFileExists(t, filepath.Join(dir, "ledger.jsonl"))
	broken = false
	require.NoError(t, q.Enter(entries[3500:]...))
	require.FileExists(t, filepath.Join(dir, "ledger.jsonl"))
	q = open(t, dir)
	for n := range 4500 {
		_, known, err := q.Lookup(fmt.Sprint("p", n), hashOf(fmt.Sprint("p", n)))
		require.NoError(t, err)
		require.True(t, known, n)
	}
}

func TestAnUnknownOriginalPayloadMatchesAny(t *testing.T) {
	q := open(t, t.TempDir())
	require.NoError(t, q.Enter(queue.Entry{PromptID: "a", Outcome: queue.Received, Seq: 5, At: noon}))
	status, err := q.Add(item("a"))
	require.NoError(t, err)
	require.Equal(t, queue.Received, status.Outcome)
}

func TestADamagedFileIsSetAsideAndReported(t *testing.T) {
	for name, garbage := range map[string]string{
		"empty":          "",
		"NULs":           "\x00\x00\x00\x00",
		"half":           `{"format":1,"items":[{"prompt_id":"a"`,
		"no format":      `{}`,
		"no id":          `{"format":1,"items":[{"text":"x"}]}`,
		"item twice":     `{"format":1,"items":[{"prompt_id":"a"},{"prompt_id":"a"}]}`,
		"strange ledger": `{"format":1,"ledger":[{"prompt_id":"a","outcome":"exploded"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "queue.json"), []byte(garbage), 0o600))
			q, err := openWith(in(dir), queue.Options{})
			require.NoError(t, err)
			require.NotNil(t, q.Damage())
			require.Error(t, q.Damage().Cause)
			kept, err := os.ReadFile(filepath.Join(dir, q.Damage().Aside))
			require.NoError(t, err)
			require.Equal(t, garbage, string(kept))
			require.Zero(t, q.LogSeq())
			add(t, q, "a")
			require.Equal(t, []string{"a"}, ids(open(t, dir)))
		})
	}
}

func TestAFileOfANewerFormatIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "queue.json")
	require.NoError(t, os.WriteFile(name, []byte(`{"format":2}`), 0o600))
	_, err := queue.Open(in(dir), queue.Options{})
	require.ErrorContains(t, err, "newer")
	require.FileExists(t, name)
}

func TestAStaleTemporaryFileIsReplaced(t *testing.T) {
	dir := t.TempDir()
	add(t, open(t, dir), "a")
	temp := filepath.Join(dir, "queue.json.tmp")
	require.NoError(t, os.WriteFile(temp, []byte("half a fi"), 0o600))
	q := open(t, dir)
	require.Equal(t, []string{"a"}, ids(q))
	add(t, q, "b")
	require.NoFileExists(t, temp)
	require.Equal(t, []string{"a", "b"}, ids(open(t, dir)))
}

func TestTheFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	add(t, open(t, dir), "a")
	info, err := os.Stat(filepath.Join(dir, "queue.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func edit(q written, promptID, text, title string) error {
	return q.Revise(promptID, queue.Revision{Text: &text, Title: &title})
}

func move(q written, promptID string, position int) error {
	return q.Revise(promptID, queue.Revision{Position: &position})
}

// pieces are files that note the largest piece in which one is written.
type pieces struct {
	queue.Files
	largest int
}

func (p *pieces) Replace(name string, fill func(io.Writer) error) error {
	return p.Files.Replace(name, func(w io.Writer) error { return fill(piece{p, w}) })
}

type piece struct {
	of *pieces
	to io.Writer
}

func (p piece) Write(data []byte) (int, error) {
	p.of.largest = max(p.of.largest, len(data))
	return p.to.Write(data)
}

func TestOneWaitingPromptAtATimeIsEncoded(t *testing.T) {
	dir := t.TempDir()
	files := &pieces{Files: in(dir)}
	q, err := openWith(files, queue.Options{})
	require.NoError(t, err)
	const size = 1 << 20
	for n := range 4 {
		_, err := q.Add(queue.Item{PromptID: fmt.Sprint("p", n), Text: strings.Repeat("x", size), QueuedAt: noon})
		require.NoError(t, err)
	}
	require.NoError(t, q.Remove("p0", noon))
	require.Less(t, files.largest, size+1<<10)
	require.Equal(t, q.Items(), open(t, dir).Items())
}
