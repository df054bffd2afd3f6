package snapshot_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/snapshot"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/transcript"
)

// shelf is a store with a session, and a book of it.
type shelf struct {
	t     *testing.T
	dir   string
	open  *store.Store
	store journal.Store
	log   journal.Log
	book  *snapshot.Book
	turn  int
}

func newShelf(t *testing.T) *shelf {
	s := &shelf{t: t, dir: t.TempDir()}
	s.start()
	id, err := s.store.Create(t.Context(), event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	s.lease(id)
	t.Cleanup(func() { require.NoError(t, s.open.Close()) })
	return s
}

func (s *shelf) start() {
	open, err := store.Open(s.dir, store.Options{FS: struct{ store.FS }{store.OS()}, SegmentBytes: 4 << 10})
	require.NoError(s.t, err)
	s.open, s.store = open, open.Journal()
	s.book = snapshot.NewBook(s.store, slog.New(slog.DiscardHandler))
}

func (s *shelf) lease(id string) {
	lease, err := s.store.Lease(s.t.Context(), id)
	require.NoError(s.t, err)
	s.log, err = lease.Log(s.t.Context())
	require.NoError(s.t, err)
}

// restart ends the store and opens it again.
func (s *shelf) restart() {
	id := s.log.ID()
	require.NoError(s.t, s.open.Close())
	s.start()
	s.lease(id)
}

func (s *shelf) append(list ...event.Payload) {
	s.t.Helper()
	for _, p := range list {
		if _, ok := p.(event.UserPrompt); ok {
			s.turn++
		}
		draft, err := event.NewDraft(p, s.turn, time.Now())
		require.NoError(s.t, err)
		_, _, err = s.log.Append(s.t.Context(), 0, draft)
		require.NoError(s.t, err)
	}
}

func (s *shelf) files() journal.Derived {
	files, err := s.store.DerivedOf(s.log.ID())
	require.NoError(s.t, err)
	return files
}

func (s *shelf) read() *state.Snapshot {
	s.t.Helper()
	got, stored, err := s.book.Read(s.t.Context(), s.log.ID())
	require.NoError(s.t, err)
	require.Positive(s.t, stored.Bytes)
	return got
}

// whole folds the log from its beginning.
func (s *shelf) whole() *state.Snapshot {
	s.t.Helper()
	f := snapshot.NewFold(s.log.Epoch())
	for after := event.Seq(0); ; {
		b, err := s.log.ReadAfter(s.t.Context(), after, 1<<20)
		require.NoError(s.t, err)
		if b.Empty() {
			f.AtSeq = after
			return f.Settled()
		}
		for g := range b.Headers() {
			e, err := g.Event()
			require.NoError(s.t, err)
			f.Take(e)
		}
		after = b.Last
	}
}

// present are the snapshot's files that exist.
func (s *shelf) present() (names []string) {
	for _, name := range []string{"snapshot.json", "snapshot.json.gz"} {
		if _, err := s.files().Read(name); err == nil {
			names = append(names, name)
		}
	}
	return names
}

func equal(t *testing.T, want, got *state.Snapshot) {
	t.Helper()
	a, err := json.MarshalIndent(want, "", " ")
	require.NoError(t, err)
	b, err := json.MarshalIndent(got, "", " ")
	require.NoError(t, err)
	require.Equal(t, string(a), string(b))
}

func prompt(text string) event.Payload {
	return event.UserPrompt{PromptID: "p", Text: event.Text(text)}
}

func end() event.Payload {
	return event.TurnEnd{PromptID: "p", StopReason: event.StopEndTurn, Usage: json.RawMessage(`{"inputTokens":90,"outputTokens":10,"totalTokens":100}`)}
}

func says(id, text string) event.Payload {
	return event.AgentMessage{MessageID: id, Text: event.Text(text)}
}

func edits(id, path, before, after string) event.Payload {
	content, _ := json.Marshal([]map[string]string{{"type": "diff", "path": path, "oldText": before, "newText": after}})
	return event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: id, Kind: "edit", Status: event.ToolCompleted, Content: content}}
}

func runs(id, command, output string, status event.ToolStatus) event.Payload {
	content, _ := json.Marshal([]any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": output}}})
	return event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: id, Title: command, Kind: "execute", Status: status, Content: content}}
}

func undone(n int, from event.Seq, what transcript.UndoWhat, redo bool) event.Payload {
	raw, _ := json.Marshal(transcript.Undo{N: n, Phase: transcript.UndoDone, Turn: 1, What: what, FromSeq: from, Redo: redo})
	return event.Note{Method: transcript.NoteUndo, Raw: raw}
}

// The saved snapshot is the fold of the log, whenever it is saved, whatever becomes of its
// file, and however often the hub starts anew.
func TestTheSnapshotIsTheFoldOfTheLog(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			s := newShelf(t)
			word := func() string {
				return strings.Repeat([]string{"a", "<é>", "\x1b[1m", "line\n"}[r.IntN(4)], 1+r.IntN(300))
			}
			name := func() string { return fmt.Sprintf("/w/%d.go", r.IntN(4)) }
			undos, undoing := 0, 0
			for range 200 {
				switch r.IntN(20) {
				case 0, 1:
					s.append(prompt(word()), event.TurnStart{PromptID: "p"})
					undoing = 0
				case 2:
					s.append(end())
				case 3, 4, 5:
					s.append(says(fmt.Sprint(r.IntN(3)), word()))
				case 6:
					s.append(edits("e", name(), "", word()))
				case 7:
					s.append(edits("e", name(), "a", "b"))
				case 8:
					s.append(event.FileWrite{Path: name(), Bytes: 5, SHA256: strings.Repeat("5e", 32)})
				case 9, 10:
					s.append(runs(fmt.Sprint(r.IntN(3)), word(), word(), []event.ToolStatus{event.ToolInProgress, event.ToolCompleted, event.ToolFailed}[r.IntN(3)]))
				case 11:
					s.append(event.TerminalOutput{TerminalID: fmt.Sprint(r.IntN(2)), Data: event.Text(word())})
				case 12:
					s.append(event.Plan{Entries: []event.PlanEntry{{Content: word(), Status: "completed"}, {Content: word(), Status: "in_progress"}, {Content: word(), Status: "pending"}}})
				case 13:
					s.append(event.Error{Code: "x", Message: "y"}, event.Usage{Used: int64(r.IntN(9)), Size: 10})
				case 14:
					if r.IntN(2) == 0 || undoing == 0 {
						undos, undoing = undos+1, undoing+1
						s.append(undone(undos, event.Seq(1+r.IntN(int(s.log.Marks().Visible))), transcript.UndoBoth, false))
					} else {
						undos, undoing = undos+1, undoing-1
						s.append(undone(undos, 0, transcript.UndoBoth, true))
					}
				case 15:
					s.damage(r)
				case 16:
					require.NoError(t, s.files().Remove())
				case 17:
					s.restart()
				default:
					equal(t, s.whole(), s.read())
					require.Len(t, s.present(), 1)
					kept, _, err := s.book.Kept(s.log.ID())
					require.NoError(t, err)
					equal(t, s.whole(), kept)
				}
			}
		})
	}
}

// damage changes or cuts the snapshot's files, or leaves an older one beside the newer, as a
// kill between two steps does.
func (s *shelf) damage(r *rand.Rand) {
	for _, name := range s.present() {
		data, err := s.files().Read(name)
		require.NoError(s.t, err)
		switch r.IntN(3) {
		case 0:
			data = data[:r.IntN(len(data))]
		case 1:
			data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
		case 2:
			name = map[string]string{"snapshot.json": "snapshot.json.gz", "snapshot.json.gz": "snapshot.json"}[name]
		}
		require.NoError(s.t, s.files().Write(name, data))
	}
}

// A snapshot above 10 KiB is compressed; there is one file, never both.
func TestALargeSnapshotIsCompressed(t *testing.T) {
	s := newShelf(t)
	s.append(prompt("short"))
	s.read()
	require.Equal(t, []string{"snapshot.json"}, s.present())
	s.append(says("m", strings.Repeat("the same again ", 5000)))
	got, stored, err := s.book.Read(t.Context(), s.log.ID())
	require.NoError(t, err)
	require.Equal(t, []string{"snapshot.json.gz"}, s.present())
	require.Less(t, stored.Bytes, stored.Size/10)
	require.Len(t, got.AgentContext.ConversationHistory, 2)
	s.append(undone(1, 1, transcript.UndoTalk, false))
	s.append(prompt("again"), event.TurnStart{PromptID: "p"})
	s.read()
	require.Equal(t, []string{"snapshot.json"}, s.present())
}

// What a snapshot says of files is what the log has of them.
func TestFilesAreWhatTheLogHasOfThem(t *testing.T) {
	s := newShelf(t)
	one := func() state.SnapshotFile {
		files := s.read().Files
		require.NotEmpty(t, files)
		return files[len(files)-1]
	}
	s.append(prompt("write"), edits("1", "/w/new.go", "", "one\ntwo\n"))
	require.Equal(t, "one\ntwo\n", *one().Content)
	require.EqualValues(t, 8, *one().Size)
	s.append(edits("2", "/w/new.go", "two", "three"))
	require.Equal(t, "one\nthree\n", *one().Content)
	s.append(edits("3", "/w/new.go", "nowhere", "four"))
	require.Nil(t, one().Content)
	require.Empty(t, one().Hash)
	s.append(event.FileWrite{Path: "/w/hub.go", Bytes: 3, SHA256: strings.Repeat("ab", 32)})
	require.Equal(t, strings.Repeat("ab", 32), one().Hash)
	s.append(edits("4", "/w/big.go", "", strings.Repeat("x", 65<<10)))
	require.Nil(t, one().Content)
	require.Len(t, one().Hash, 64)
	s.append(event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "5", Kind: "edit"}},
		event.FileWrite{Path: "/w/both.go", Bytes: 3, SHA256: strings.Repeat("cd", 32)}, edits("5", "/w/both.go", "x", "y"))
	require.Equal(t, strings.Repeat("cd", 32), one().Hash, "the hub wrote it for this call")
	require.Len(t, s.read().Files, 4)
	s.append(undone(1, 1, transcript.UndoFiles, false))
	require.Empty(t, one().Hash)
	failed := edits("6", "/w/failed.go", "", "x").(event.ToolCallUpdate)
	failed.Status = event.ToolFailed
	s.append(failed)
	require.Len(t, s.read().Files, 4)
}

// A session of any size has a snapshot of at most 10 MB, which says what is left out.
func TestASnapshotHasABound(t *testing.T) {
	f, seq := snapshot.NewFold("0123456789abcdef"), event.Seq(0)
	take := func(list ...event.Payload) {
		for _, p := range list {
			data, err := json.Marshal(p)
			require.NoError(t, err)
			seq++
			f.Take(event.Event{Seq: seq, Type: p.EventType(), Turn: 1, Data: data})
		}
	}
	escapes := strings.Repeat("\x1b\"", 4<<10)
	for i := range 30 {
		take(prompt(strings.Repeat("p\n", 70<<10)), edits(fmt.Sprint(i), fmt.Sprintf("/w/%d.go", i), "", strings.Repeat("\"", 60<<10)))
		for j := range 6 {
			take(runs(fmt.Sprintf("%d/%d", i, j), escapes, escapes, event.ToolCompleted))
		}
	}
	for range 3 {
		take(says("m", strings.Repeat("x", 200<<10)))
	}
	got := f.Settled()
	data, err := json.Marshal(got)
	require.NoError(t, err)
	require.Less(t, len(data), 10_000_000)
	require.Greater(t, len(data), 5_000_000)
	require.Positive(t, got.LeftOut.Conversation)
	require.Positive(t, got.LeftOut.Outputs)
	require.Positive(t, got.LeftOut.Contents)
	require.Contains(t, got.Notice, "They are in the session's log")
	talk := got.AgentContext.ConversationHistory
	require.True(t, talk[len(talk)-1].Cut)
	require.Len(t, talk[len(talk)-1].Content, 512<<10)
}

// A text that is too large for the log's lines is its beginning, and the snapshot says so.
func TestTheBeginningOfALargeTextIsToldAsOne(t *testing.T) {
	s := newShelf(t)
	s.append(prompt(strings.Repeat("p", 400<<10)), event.TurnStart{PromptID: "p"}, says("m", "first "), says("m", strings.Repeat("q", 300<<10)), says("m", "last"))
	got := s.read()
	talk := got.AgentContext.ConversationHistory
	require.Len(t, talk, 2)
	require.Equal(t, strings.Repeat("p", 4<<10), string(talk[0].Content))
	require.Equal(t, "first "+strings.Repeat("q", 4<<10), string(talk[1].Content))
	require.True(t, talk[0].Cut && talk[1].Cut)
	require.Equal(t, 2, got.LeftOut.Rests)
	require.Contains(t, got.Notice, "the rests of 2 long messages")
	equal(t, s.whole(), got)
}

func TestASnapshotIsReadOnlyWhileItsSessionExists(t *testing.T) {
	s := newShelf(t)
	_, _, err := s.book.Kept(s.log.ID())
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, ok := s.book.Preview(s.log.ID())
	require.False(t, ok)
	_, _, err = s.book.Read(t.Context(), "20200101-000000-00000000")
	require.ErrorIs(t, err, journal.ErrNotFound)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.append(prompt("x"))
	_, _, err = s.book.Read(gone, s.log.ID())
	require.ErrorIs(t, err, context.Canceled)
	s.append(event.Plan{Entries: []event.PlanEntry{{Content: "first", Status: "completed"}, {Content: "second", Status: "pending"}}}, runs("1", "ls", "a", event.ToolCompleted))
	s.read()
	p, ok := s.book.Preview(s.log.ID())
	require.True(t, ok)
	require.Equal(t, "first", p.LastTask)
	require.Equal(t, 1, p.Outputs)
}
