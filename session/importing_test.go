package session_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/exchange"
	"github.com/abidehub/abide/session/export"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// exported returns a session exported in the format.
func exported(t *testing.T, b *session.BackgroundSession, format export.Format) []byte {
	t.Helper()
	s, err := exchange.Export(b.Log(), 0, 0)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, export.Write(t.Context(), &out, s, format, export.Redaction{}))
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
		})
	}
}

func TestWhatIsNoExportIsRefusedAndLeavesNothing(t *testing.T) {
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
