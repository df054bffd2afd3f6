package session_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/exchange"
	"github.com/abidehub/abide/session/export"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// exported returns a session exported in the format.
func exported(t *testing.T, b *session.BackgroundSession, format export.Format) []byte {
	t.Helper()
	s, err := exchange.Export(b.Log(), 0, 0)
	require.NoError(t, err)
	var out bytes.Buffer
	prepared, err := export.Prepare(t.Context(), s, export.Redaction{})
	require.NoError(t, err)
	require.NoError(t, prepared.Write(t.Context(), &out, format))
	return out.Bytes()
}

// Proof 3: a session exported and imported into another hub has the same events,
// also with an open turn.
func TestAnExportInAnotherHubIsTheSameSession(t *testing.T) {
	for _, format := range []export.Format{export.Zip, export.JSONL} {
		t.Run(string(format), func(t *testing.T) {
			h := newHub(t)
			b, _ := h.busy()
			blob, err := b.Log().PutBlobFrom(ctxOf(t), "text/plain", strings.NewReader("a large value"))
			require.NoError(t, err)
			_, err = b.Comments().Add(commentOf("c1", "why?"), false)
			require.NoError(t, err)
			require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Name: ptr("Given")}))
			file := exported(t, b, format)

			other := newHub(t)
			came, made, err := other.manager.Import(ctxOf(t), bytes.NewReader(file))
			require.NoError(t, err)
			require.True(t, made)
			require.Equal(t, b.ID(), came.ID())
			require.Equal(t, b.Log().Epoch(), came.Log().Epoch())
			require.Equal(t, string(exported(t, b, export.JSONL)), string(exported(t, came, export.JSONL)))
			require.True(t, came.Info().Imported)
			require.Equal(t, state.StatusImported, came.Info().Status, "its open turn is no work of this hub")
			require.Equal(t, session.TurnIdle, came.State().Turn.State)
			require.Nil(t, came.State().Interruption)
			if format == export.Zip {
				require.Equal(t, "Given", came.Info().Name)
				list, _, err := came.Comments().List()
				require.NoError(t, err)
				require.Len(t, list, 1)
				there, err := came.OpenBlob(blob.SHA256)
				require.NoError(t, err)
				require.NoError(t, there.Close())
			}
			_, err = came.Prompt(ctxOf(t), session.PromptRequest{PromptID: "p", Text: "go on"})
			require.ErrorIs(t, err, state.ErrConflict)
			require.ErrorIs(t, came.Cancel(ctxOf(t), person("ann")), state.ErrConflict)

			again, made, err := other.manager.Import(ctxOf(t), bytes.NewReader(file))
			require.NoError(t, err)
			require.False(t, made)
			require.Equal(t, came, again)

			last := came.Log().Marks().Visible
			crashed := other.copyOf(t)
			found, err := crashed.manager.Session(ctxOf(t), b.ID())
			require.NoError(t, err)
			require.Equal(t, last, found.Log().Marks().Visible, "the import changed the log")
			require.True(t, found.Info().Imported)
			require.Equal(t, state.StatusImported, found.Info().Status)
		})
	}
}

func TestAFileThatIsNotAnExportIsRefusedAndLeavesNothing(t *testing.T) {
	h := newHub(t)
	b := h.create()
	whole := exported(t, b, export.JSONL)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	other := newHub(t)
	for name, file := range map[string][]byte{
		"nothing":           {},
		"no JSON":           []byte("hello\n"),
		"another file":      []byte("{}\n"),
		"a cut zip":         exported(t, b, export.Zip)[:60],
		"a hole":            append(bytes.Clone(lines[0]), []byte(`{"seq":5,"time":"2026-02-21T14:03:07Z","type":"note","data":{"method":"x"}}`+"\n")...),
		"data that is none": append(bytes.Clone(lines[0]), []byte(`{"seq":2,"time":"2026-02-21T14:03:07Z","type":"note"}`+"\n")...),
		"another session":   bytes.Replace(whole, []byte(`"session_id":"2`), []byte(`"session_id":"../`), 1),
	} {
		_, _, err := other.manager.Import(ctxOf(t), bytes.NewReader(file))
		require.ErrorIs(t, err, state.ErrInvalid, name)
	}
	page, err := other.manager.List(list.Options{})
	require.NoError(t, err)
	require.Empty(t, page.Sessions)

	went, err := b.Log().ReadAfter(ctxOf(t), 0, 1<<20)
	require.NoError(t, err)
	require.Equal(t, event.Seq(1), went.First)
	longer := append(bytes.Clone(whole), []byte(`{"seq":2,"time":"2026-02-21T14:03:07Z","type":"note","data":{"method":"x"}}`+"\n")...)
	_, _, err = h.manager.Import(ctxOf(t), bytes.NewReader(longer))
	require.ErrorIs(t, err, state.ErrConflict, "a session with fewer events exists")
}

// An import with an open question and an interruption waits for nobody.
func TestAnImportIsImportedWhateverItsLastEvents(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(question("q1")))
	await(t, b, "a question", func(s session.State) bool { return len(s.PendingPermissions) == 1 })
	asking := exported(t, b, export.JSONL)
	a.die(crash)
	interruptionOf(t, b)
	for name, file := range map[string][]byte{"asking": asking, "interrupted": exported(t, b, export.JSONL)} {
		other := newHub(t)
		came, _, err := other.manager.Import(ctxOf(t), bytes.NewReader(file))
		require.NoError(t, err)
		require.Equal(t, state.StatusImported, came.Info().Status, name)
		require.NotEqual(t, "May I q1?", came.Info().LastLine, name)
		require.Empty(t, came.State().PendingPermissions, name)
		require.Nil(t, came.State().Interruption, name)
		_, err = came.Interruption(ctxOf(t))
		require.ErrorIs(t, err, state.ErrNotFound, name)
		page, err := other.copyOf(t).manager.List(list.Options{})
		require.NoError(t, err)
		require.Equal(t, state.StatusImported, page.Sessions[0].Status, name)
	}
}

// TestAnAlteredExportIsNotTheSameOne changes one thing of each event.
func TestAnAlteredExportIsNotTheSameOne(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(message("a word")))
	_, err := b.Log().PutBlobFrom(ctxOf(t), "text/plain", strings.NewReader("a large value"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return bytes.Contains(exported(t, b, export.JSONL), []byte("a word")) }, patience, time.Millisecond)
	whole := exported(t, b, export.JSONL)
	other := newHub(t)
	_, made, err := other.manager.Import(ctxOf(t), bytes.NewReader(whole))
	require.NoError(t, err)
	require.True(t, made)
	lines := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
	for _, in := range []*hub{h, other} {
		_, made, err := in.manager.Import(ctxOf(t), bytes.NewReader(whole))
		require.NoError(t, err)
		require.False(t, made)
		_, made, err = in.manager.Import(ctxOf(t), bytes.NewReader(exported(t, b, export.Zip)))
		require.NoError(t, err)
		require.False(t, made)
		for i, line := range lines {
			for name, altered := range map[string][]byte{
				"data": bytes.Replace(line, []byte(`"data":{`), []byte(`"data":{"more":1,`), 1),
				"time": bytes.Replace(line, []byte(`"time":"20`), []byte(`"time":"21`), 1),
				"type": bytes.Replace(line, []byte(`"type":"`), []byte(`"type":"x`), 1),
			} {
				if i == 0 && name == "type" {
					continue // no session begins so
				}
				require.NotEqual(t, string(line), string(altered))
				file := slices.Concat(bytes.Join(lines[:i], nil), altered, bytes.Join(lines[i+1:], nil))
				_, _, err := in.manager.Import(ctxOf(t), bytes.NewReader(file))
				require.ErrorIs(t, err, state.ErrConflict, "%s of event %d", name, i+1)
			}
		}
	}
}

func TestALineOfAnImportWithAWrongChecksumOrAnImpossibleTimeIsRefused(t *testing.T) {
	h := newDiskHub(t)
	b := h.create()
	log, err := os.ReadFile(filepath.Join(h.dir, "sessions", b.ID(), "events.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(log), `"crc":"`)
	at := regexp.MustCompile(`"time":"[^"]*"`)
	plain := exported(t, b, export.JSONL)
	other := newHub(t)
	for name, file := range map[string][]byte{
		"another byte":      bytes.Replace(log, []byte(`"agent":"fake"`), []byte(`"agent":"fakf"`), 1),
		"another checksum":  regexp.MustCompile(`"crc":"."`).ReplaceAll(bytes.Replace(log, []byte(`"crc":"`), []byte(`"crc":"0`), 1), nil),
		"no checksum":       bytes.Replace(log, []byte(`"crc":"`), []byte(`"crc":7,"x":"`), 1),
		"year 0":            at.ReplaceAll(plain, []byte(`"time":"0000-01-01T00:00:00Z"`)),
		"year 9999":         at.ReplaceAll(plain, []byte(`"time":"9999-12-31T23:59:59.999999Z"`)),
		"year 10000 in UTC": at.ReplaceAll(plain, []byte(`"time":"9999-12-31T23:59:59-14:00"`)),
	} {
		_, _, err := other.manager.Import(ctxOf(t), bytes.NewReader(file))
		require.ErrorIs(t, err, state.ErrInvalid, name)
	}
	_, made, err := other.manager.Import(ctxOf(t), bytes.NewReader(log))
	require.NoError(t, err, "the log file itself is an export")
	require.True(t, made)
}

func TestAnImportTakesAtMostHalfOfTheFreeDisk(t *testing.T) {
	h := newHub(t)
	b, _ := h.busy()
	_, err := b.Log().PutBlobFrom(ctxOf(t), "text/plain", strings.NewReader(strings.Repeat("a", 1<<20))) // a zip makes it small
	require.NoError(t, err)
	for name, file := range map[string][]byte{"lines": exported(t, b, export.JSONL), "a zip": exported(t, b, export.Zip)} {
		needed := int64(len(file))
		if name == "a zip" {
			needed = 1<<20 + 2000
		}
		for _, free := range []int64{2*needed - 2000, 2*needed + 10_000} {
			other := newHub(t, func(o *session.Options, _ *store.Options) {
				o.FreeDisk = func(string) (int64, error) { return free, nil }
			})
			_, _, err := other.manager.Import(ctxOf(t), bytes.NewReader(file))
			if free < 2*needed {
				require.ErrorIs(t, err, state.ErrTooLarge, name)
				require.ErrorContains(t, err, "half of the free disk")
				continue
			}
			require.NoError(t, err, name)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestMetadataOfAnExportHasNothingOfTheMachine(t *testing.T) {
	h := newHub(t)
	b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Actor: event.Actor{Name: "command line", ID: "uid:1000"}, Key: "a key"})
	require.NoError(t, err)
	file := exported(t, b, export.Zip)
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	part, err := archive.Open("metadata.json")
	require.NoError(t, err)
	defer part.Close()
	var fields map[string]any
	require.NoError(t, json.NewDecoder(part).Decode(&fields))
	require.Subset(t, []string{
		"format", "session_id", "name", "named", "agent", "workspace", "project_root", "created_by", "created_at", "updated_at", "status", "archived",
		"imported", "forked_from", "last_line", "mode", "event_count", "min_seq", "max_seq", "epoch",
	}, slices.Collect(maps.Keys(fields)))
	require.NotContains(t, fmt.Sprint(fields), "uid:1000")
}

// The last line is of the newest event.
func TestAnExportOfEarlierEventsHasNoLastLine(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(event.AgentMessage{MessageID: "m", Text: "said at the end"}))
	require.Eventually(t, func() bool { return b.Log().Metadata().LastLine == "said at the end" }, patience, time.Millisecond)
	for to, has := range map[event.Seq]bool{0: true, 2: false} {
		s, err := exchange.Export(b.Log(), 0, to)
		require.NoError(t, err)
		require.Equal(t, has, strings.Contains(string(s.Files[0].Data), "said at the end"))
	}
}
