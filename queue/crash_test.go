package queue_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/abidehub/abide/queue"
)

// steps are the steps of a save, in order.
var steps = []string{"create", "write", "sync", "rename", "sync-dir"}

// verbs change a queue that contains a, b and c, with a in flight.
var verbs = map[string]func(q written) error{
	"add":    func(q written) error { _, err := q.Add(item("d")); return err },
	"edit":   func(q written) error { return edit(q, "b", "edited", "") },
	"move":   func(q written) error { return move(q, "c", 1) },
	"remove": func(q written) error { return q.Remove("b", noon) },
	"clear":  func(q written) error { _, err := q.Clear(noon); return err },
	"settle": func(q written) error { return enter(q, "a", 9) },
	"enter": func(q written) error {
		return q.Enter(queue.Entry{PromptID: "x", Outcome: queue.Received, Seq: 9})
	},
	"interrupt": func(q written) error { return q.Interrupt("old", 8, noon) },
	"advance":   func(q written) error { return q.Advance(99) },
}

// snapshot is everything a reader can see of a queue.
func snapshot(t require.TestingT, q written) string {
	s := fmt.Sprint(q.LogSeq(), " ")
	for _, i := range q.Items() {
		s += fmt.Sprint(i.PromptID, "=", i.Text, " ")
	}
	for _, id := range []string{"a", "b", "c", "d", "old", "x"} {
		status, known, err := q.Lookup(id, hashOf(id))
		require.NoError(t, err)
		s += fmt.Sprint(id, known, status, " ")
	}
	return s
}

func prepare(t *testing.T, dir string, failpoint func(string) error) written {
	t.Helper()
	q, err := openWith(stepping(dir, failpoint), queue.Options{})
	require.NoError(t, err)
	require.NoError(t, q.Enter(queue.Entry{PromptID: "old", Hash: hashOf("old"), Outcome: queue.Received, Seq: 1}))
	add(t, q, "a", "b", "c")
	_, ok := q.Take(noon)
	require.True(t, ok)
	return q
}

func TestAKillBetweenAnyTwoStepsLeavesTheOldQueueOrTheNew(t *testing.T) {
	for name, verb := range verbs {
		for n, step := range steps {
			t.Run(name+"/"+step, func(t *testing.T) {
				dir, armed := t.TempDir(), false
				q := prepare(t, dir, func(s string) error {
					if armed && s == step {
						panic("killed")
					}
					return nil
				})
				before := snapshot(t, open(t, dir))

				after := func() string { // the result without the kill
					dir := t.TempDir()
					require.NoError(t, verb(prepare(t, dir, nil)))
					return snapshot(t, open(t, dir))
				}()
				require.NotEqual(t, before, after, "the verb does nothing")

				armed = true
				require.PanicsWithValue(t, "killed", func() { _ = verb(q) })
				got := snapshot(t, open(t, dir))
				if n <= 3 { // up to the moment before the rename
					require.Equal(t, before, got)
				} else {
					require.Equal(t, after, got)
				}
			})
		}
	}
}

var errDisk = errors.New("the disk says no")

func TestAFailedRequestDidNotHappen(t *testing.T) {
	for _, name := range []string{"add", "edit", "move", "remove", "clear"} {
		for _, step := range steps[:4] {
			t.Run(name+"/"+step, func(t *testing.T) {
				dir, armed := t.TempDir(), false
				q := prepare(t, dir, func(s string) error {
					if armed && s == step {
						return errDisk
					}
					return nil
				})
				before := snapshot(t, q)
				armed = true
				require.ErrorIs(t, verbs[name](q), errDisk)
				require.Equal(t, before, snapshot(t, q))
				require.Equal(t, before, snapshot(t, open(t, dir)))
				armed = false
				require.NoError(t, verbs[name](q))
				require.Equal(t, snapshot(t, q), snapshot(t, open(t, dir)))
			})
		}
	}
}

func TestTheLogHoldsWhenTheQueueCannotBeSaved(t *testing.T) {
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			dir, armed := t.TempDir(), false
			q := prepare(t, dir, func(s string) error {
				if armed && s == step {
					return errDisk
				}
				return nil
			})
			armed = true
			require.ErrorIs(t, enter(q, "a", 9), errDisk)
			require.Equal(t, []string{"b", "c"}, ids(q), "a prompt of the log can be taken again")
			_, _, err := q.Lookup("a", hashOf("a"))
			require.ErrorIs(t, err, errDisk, "an unsynced change was acknowledged")

			armed = false
			add(t, q, "d") // the next save includes the items of the failed one
			status, known, err := open(t, dir).Lookup("a", hashOf("a"))
			require.NoError(t, err)
			require.True(t, known)
			require.Equal(t, queue.Status{Outcome: queue.Received, Seq: 9}, status)
		})
	}
}

func TestAnUnsyncedRenameIsNotAcknowledgedUntilItIsSynced(t *testing.T) {
	dir, armed := t.TempDir(), false
	q := prepare(t, dir, func(s string) error {
		if armed && s == "sync-dir" {
			return errDisk
		}
		return nil
	})
	armed = true
	_, err := q.Add(item("d"))
	require.ErrorIs(t, err, errDisk)
	_, err = q.Add(item("d"))
	require.ErrorIs(t, err, errDisk, "a resend was acknowledged before its directory entry was durable")
	armed = false
	status, err := q.Add(item("d"))
	require.NoError(t, err)
	require.Equal(t, queue.Status{Outcome: queue.Queued, Position: 3}, status)
	require.Equal(t, []string{"a", "b", "c", "d"}, ids(q))
}

// TestAnyRunOfVerbsAndFailuresKeepsEveryPromptOnce compares the queue with a simple
// model while saves fail and the process is restarted at random.
func TestAnyRunOfVerbsAndFailuresKeepsEveryPromptOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		failing := ""
		reopen := func() written {
			q, err := openWith(stepping(dir, func(step string) error {
				if step == failing {
					return errDisk
				}
				return nil
			}), queue.Options{})
			require.NoError(rt, err)
			require.Nil(rt, q.Damage())
			return q
		}
		q := reopen()
		logged := map[string]int64{} // items in the log, which must never be taken again
		seq := int64(0)
		acked := map[string]bool{}
		for range rapid.IntRange(1, 40).Draw(rt, "verbs") {
			failing = rapid.SampledFrom([]string{"", "", "", "write", "rename", "sync-dir"}).Draw(rt, "failing")
			id := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "id")
			switch rapid.SampledFrom([]string{"add", "remove", "move", "take", "kill"}).Draw(rt, "verb") {
			case "add":
				status, err := q.Add(item(id))
				if err == nil && status.Outcome == queue.Queued {
					acked[id] = true
				}
			case "remove":
				if q.Remove(id, noon) == nil {
					delete(acked, id)
				}
			case "move":
				_ = move(q, id, rapid.IntRange(0, 3).Draw(rt, "position"))
			case "take":
				if got, ok := q.Take(noon); ok {
					require.Zero(rt, logged[got.PromptID], "taken twice")
					seq++
					logged[got.PromptID] = seq
					delete(acked, got.PromptID)
					_ = enter(q, got.PromptID, seq)
				}
			case "kill":
				failing = ""
				q = reopen()
				known := q.LogSeq()
				for id, s := range logged { // like the owner after a restart
					if s > known {
						require.NoError(rt, q.Enter(queue.Entry{PromptID: id, Hash: hashOf(id), Outcome: queue.Received, Seq: s}))
					}
				}
			}
			waiting := map[string]bool{}
			for _, id := range ids(q) {
				require.False(rt, waiting[id], "in the queue twice")
				require.Zero(rt, logged[id], "in the queue and in the log")
				waiting[id] = true
			}
			for id := range acked {
				if !waiting[id] {
					// A removal whose directory sync failed was not acknowledged,
					// but may have happened.
					s, known, err := q.Lookup(id, hashOf(id))
					require.True(rt, known, "an acknowledged prompt was lost")
					require.True(rt, err != nil || s.Outcome == queue.Removed)
				}
			}
		}
	})
}

// TestAnyOrderOfWritesKeepsEveryPromptOnce has saves under way while the log goes on,
// clients ask for changes and the process is killed.
func TestAnyOrderOfWritesKeepsEveryPromptOnce(t *testing.T) {
	type pending struct {
		save    *queue.Save
		added   string // the prompt that the client added
		removed string
		written bool
	}
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		failing := ""
		logged := map[string]int64{}
		reopen := func() *queue.Queue {
			q, err := queue.Open(stepping(dir, func(step string) error {
				if step == failing {
					return errDisk
				}
				return nil
			}), queue.Options{})
			require.NoError(rt, err)
			require.Nil(rt, q.Damage())
			known := q.LogSeq()
			for id, s := range logged {
				if s > known {
					q.Enter(queue.Entry{PromptID: id, Hash: hashOf(id), Outcome: queue.Received, Seq: s})
				}
			}
			return q
		}
		q := reopen()
		var line []*pending
		seq, asked := int64(0), false
		acked, gone := map[string]bool{}, map[string]bool{}
		begin := func(p pending, err error) {
			if err == nil && p.save != nil {
				line = append(line, &p)
				asked = true
			}
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			failing = rapid.SampledFrom([]string{"", "", "", "write", "rename", "sync-dir"}).Draw(rt, "failing")
			id := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "id")
			switch rapid.SampledFrom([]string{"add", "add", "remove", "due", "write", "write", "settle", "settle", "take", "enter", "kill"}).Draw(rt, "step") {
			case "add":
				if !asked {
					save, err := q.Add(item(id))
					begin(pending{save: save, added: id}, err)
				}
			case "remove":
				if !asked {
					save, err := q.Remove(id, noon)
					begin(pending{save: save, removed: id}, err)
				}
			case "due":
				save := q.Due()
				if save == nil {
					save = q.Retry()
				}
				if save != nil {
					line = append(line, &pending{save: save})
				}
			case "write":
				for _, p := range line {
					if !p.written {
						p.save.Write()
						p.written = true
						break
					}
				}
			case "settle":
				if len(line) == 0 || !line[0].written {
					break
				}
				p := line[0]
				line = line[1:]
				err := q.Settle(p.save)
				asked = asked && p.added+p.removed == ""
				if err == nil && p.removed != "" {
					gone[p.removed] = true
				}
				if status, known, _ := q.Lookup(p.added, hashOf(p.added)); err == nil && p.added != "" {
					require.True(rt, known, "an acknowledged prompt is not known")
					acked[p.added] = acked[p.added] || status.Outcome == queue.Queued
				}
			case "take":
				if got, ok := q.Take(noon); ok {
					require.False(rt, asked, "taken while a client's change is being written")
					require.Zero(rt, logged[got.PromptID], "taken twice")
					require.False(rt, gone[got.PromptID], "a removed prompt was taken")
					seq++
					logged[got.PromptID] = seq
					q.Enter(queue.Entry{PromptID: got.PromptID, Outcome: queue.Received, Seq: seq, At: noon})
				}
			case "enter": // a prompt that did not wait
				seq++
				direct := fmt.Sprint("x", seq)
				logged[direct] = seq
				q.Enter(queue.Entry{PromptID: direct, Hash: hashOf(direct), Outcome: queue.Received, Seq: seq, At: noon})
			case "kill":
				failing, line, asked = "", nil, false
				q = reopen()
			}
			waiting := map[string]bool{}
			for _, i := range q.Items() {
				require.False(rt, waiting[i.PromptID], "in the queue twice")
				require.Zero(rt, logged[i.PromptID], "in the queue and in the log")
				require.False(rt, gone[i.PromptID], "a removed prompt waits again")
				waiting[i.PromptID] = true
			}
			for id := range acked {
				_, known, err := q.Lookup(id, hashOf(id))
				require.NoError(rt, err)
				require.True(rt, known, "an acknowledged prompt was lost")
			}
			for id := range logged {
				status, known, err := q.Lookup(id, hashOf(id))
				require.NoError(rt, err)
				require.True(rt, known && status.Outcome == queue.Received, "a prompt of the log is not in the ledger")
			}
			require.GreaterOrEqual(rt, q.LogSeq(), seq)
		}
	})
}
