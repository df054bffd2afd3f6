package state_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func TestTheTaskIsWhatWasAskedForSinceTheCommit(t *testing.T) {
	var f state.Fold
	seq := event.Seq(0)
	apply := func(p event.Payload) {
		seq++
		f.Apply(seq, time.Unix(int64(seq), 0), int(seq), p)
	}
	asked := func(text, want string) {
		t.Helper()
		apply(event.UserPrompt{PromptID: "p", Text: event.Text(text)})
		require.Equal(t, want, f.Task.Subject)
	}
	acted := func(act string, stage state.ActStage) {
		raw, err := json.Marshal(state.BranchAct{Act: act, Stage: stage, Key: "k"})
		require.NoError(t, err)
		apply(event.Note{Method: state.NoteBranch, Raw: raw})
	}
	asked("Review comments:\n\n- a.go:3: too long", "")
	asked("Spread the retries. They come at once.", "Spread the retries")
	asked("Review comments:\n\n- a.go:3: too long", "Spread the retries")
	asked("Now the tests.", "Spread the retries")
	acted("commit", state.ActBegun)
	asked("Run them.", "Spread the retries")
	acted("commit", state.ActDone)
	acted("merge", state.ActDone)
	require.Equal(t, "Spread the retries", f.Task.Subject, "a squash of what was committed is still about it")
	asked("Review comments:\n\n- a.go:3: too long", "Spread the retries")
	asked(strings.Repeat("Wait longer ", 20), strings.TrimSpace(strings.Repeat("Wait longer ", 6)))
	asked("And more.", strings.TrimSpace(strings.Repeat("Wait longer ", 6)))
}
