package index_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/index"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/store"
)

// childDir names the data directory of a process that fills an index until it is killed.
const childDir = "ABIDE_INDEX_CHILD"

// TestFillUntilKilled is the process of the test below.
func TestFillUntilKilled(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("it is run by another test")
	}
	st, err := store.Open(dir, store.Options{})
	require.NoError(t, err)
	x := index.New(index.Options{Store: st.Journal(), Dir: dir + "/derived", Most: 7})
	x.Run(context.Background(), list.NewChangeFeed())
}

// However often the process is killed while it fills the index, no text is missing and none is
// there twice.
func TestAnIndexThatWasKilledHasEachTextOnce(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(dir, store.Options{})
	require.NoError(t, err)
	s := &shelf{t: t, dir: dir + "/derived", store: st.Journal(), feed: list.NewChangeFeed()}
	for range 20 {
		log := s.session()
		for n := range 30 {
			s.append(log, event.AgentMessage{MessageID: fmt.Sprint(n / 9), Text: event.Text(fmt.Sprintf("needle %d ", n))}, event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "t", Title: "a needle"}})
		}
	}
	require.NoError(t, st.Close())
	for n := range 12 {
		child := exec.Command(os.Args[0], "-test.run=^TestFillUntilKilled$")
		child.Env = append(os.Environ(), childDir+"="+dir)
		require.NoError(t, child.Start())
		time.Sleep(time.Duration(40+15*n) * time.Millisecond) // a moment of its work, whichever
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait())
	}
	st, err = store.Open(dir, store.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	s.store = st.Journal()
	s.options = index.Options{Store: s.store, Dir: s.dir}
	s.start()
	defer s.halt()
	s.settled()
	r := search.Request{Text: "needle", Limit: 100}
	want := all(t, search.NewSessions(search.Options{Store: s.store}), r)
	require.Len(t, want, 20*60)
	require.Equal(t, want, all(t, s.by, r))
}
