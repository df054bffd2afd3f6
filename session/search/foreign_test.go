package search_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/store"
)

func TestNothingIsFoundInAFileOfAnotherSession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "20260221-140307-aaaaaaaa")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for name, text := range map[string]string{
		"events-000000000001-000000000002.jsonl": line(1, "session_start", `{"format":1,"session_id":"20260221-140307-aaaaaaaa","epoch":"00000000000000aa"}`) + line(2, "user_prompt", `{"text":"needle"}`),
		"events-000000000003-000000000004.jsonl": line(3, "segment_start", `{"format":1,"session_id":"20260221-140307-bbbbbbbb","epoch":"00000000000000bb","first_seq":3}`) + line(4, "user_prompt", `{"text":"needle of another"}`),
		"events.jsonl":                           line(5, "segment_start", `{"format":1,"session_id":"20260221-140307-aaaaaaaa","epoch":"00000000000000aa","first_seq":5}`) + line(6, "user_prompt", `{"text":"needle"}`),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	sources := []search.Source{{SessionID: "20260221-140307-aaaaaaaa", Lines: func() ([]journal.Part, error) { return store.Lines(store.OS(), dir) }, MaxSeq: 6}}
	require.Equal(t, []event.Seq{6, 2}, all(t, sources, "needle", 10))
}
