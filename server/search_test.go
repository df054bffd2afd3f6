package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/store"
)

type found struct {
	Hits       []search.Hit `json:"hits"`
	NextCursor string       `json:"next_cursor"`
	Searched   int64        `json:"searched"`
	Sessions   int          `json:"sessions"`
	Left       int          `json:"sessions_left"`
	Done       bool         `json:"done"`
	Skipped    []string     `json:"skipped"`

	Titles []wire.FoundTitle `json:"titles"`
}

func (h *hub) search(query string) found {
	var f found
	h.api("GET", "/api/search?"+query, nil).decode(h.t, &f)
	return f
}

func TestSearchFindsWhatWasSaidWhateverItsCase(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 3 ÄRGER with \"quotes\"")
	h.await(s, 0, event.TypeTurnEnd)

	f := h.search("q=" + url.QueryEscape("ärger WITH \"quotes\""))
	require.True(t, f.Done)
	require.NotZero(t, f.Searched)
	require.NotEmpty(t, f.Hits)
	hit := f.Hits[len(f.Hits)-1]
	require.Equal(t, event.TypeUserPrompt, hit.Type)
	require.Equal(t, s.ID(), hit.SessionID)
	var marked []string
	for _, r := range hit.Ranges {
		marked = append(marked, string([]rune(hit.Snippet)[r[0]:r[1]]))
	}
	require.ElementsMatch(t, []string{"ÄRGER", "with", "quotes"}, marked)
	require.Empty(t, h.search("q=nowhere-to-be-found").Hits)
	require.Empty(t, h.search("q="+url.QueryEscape(".*")).Hits, "a query must not be a pattern")
}

func TestSearchGoesOnByCursorAndFindsEachOnce(t *testing.T) {
	h := startHub(t, hubOptions{})
	want := map[string]bool{}
	for range 3 {
		s := h.session()
		h.prompt(s, "p", "say 1 needle")
		h.await(s, 0, event.TypeTurnEnd)
		want[s.ID()] = true
	}
	got, cursor, left := map[string]int{}, "", len(want)
	for range 20 {
		f := h.search("q=needle&limit=1&cursor=" + cursor)
		require.LessOrEqual(t, len(f.Hits), 1)
		require.Equal(t, len(want), f.Sessions)
		require.LessOrEqual(t, f.Left, left, "the remaining count grew")
		require.Equal(t, f.Done, f.Left == 0)
		left = f.Left
		for _, hit := range f.Hits {
			if hit.Type == event.TypeUserPrompt {
				got[hit.SessionID]++
			}
		}
		if cursor = f.NextCursor; f.Done {
			break
		}
	}
	require.Empty(t, cursor)
	require.Len(t, got, len(want))
	for id, times := range got {
		require.True(t, want[id])
		require.Equal(t, 1, times)
	}
}

func TestSearchShowsACredentialOnlyItsOwnSession(t *testing.T) {
	h := startHub(t, hubOptions{})
	mine, other := h.session(), h.session()
	h.prompt(mine, "a", "say 1 needle")
	h.prompt(other, "b", "say 1 needle")
	h.await(mine, 0, event.TypeTurnEnd)
	h.await(other, 0, event.TypeTurnEnd)
	token := h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: mine.ID()})
	var f found
	h.do("GET", "/api/search?q=needle", nil, http.Header{"Authorization": {"Bearer " + token}}).decode(t, &f)
	require.NotEmpty(t, f.Hits)
	for _, hit := range f.Hits {
		require.Equal(t, mine.ID(), hit.SessionID)
	}
}

func TestSearchRefusesWhatCannotBeSearchedFor(t *testing.T) {
	h := startHub(t, hubOptions{})
	for _, query := range []string{"", "q=", "q=%20", "q=a%00b", "q=%ff", "q=" + strings.Repeat("x", 257), "q=a&limit=0", "q=a&limit=101", "q=a&cursor=bogus"} {
		res := h.api("GET", "/api/search?"+query, nil)
		require.Equal(t, 400, res.status, query)
		require.Equal(t, "invalid", res.code(t), query)
	}
}

func TestASearchGoesPastASessionThatCannotBeRead(t *testing.T) {
	h := startHub(t, hubOptions{})
	before, broken, after := h.session(), h.session(), h.session()
	for _, s := range []*session.BackgroundSession{before, broken, after} {
		h.prompt(s, "p", "say 1 needle")
		h.await(s, 0, event.TypeTurnEnd)
	}
	whole := h.search("q=needle")
	require.Empty(t, whole.Skipped)
	log := h.eventsFile(broken.ID())
	require.NoError(t, os.Rename(log, log+".aside"))
	require.NoError(t, os.Mkdir(log, 0o700))
	f := h.search("q=needle")
	require.NoError(t, os.Remove(log))
	require.NoError(t, os.Rename(log+".aside", log))
	require.True(t, f.Done)
	require.Equal(t, []string{broken.ID()}, f.Skipped)
	found := map[string]bool{}
	for _, hit := range f.Hits {
		found[hit.SessionID] = true
	}
	require.Equal(t, map[string]bool{before.ID(): true, after.ID(): true}, found)
}

// slowFS is a file system on which one file cannot be opened before answers is closed.
type slowFS struct {
	store.FS
	slow    string
	answers chan struct{}
}

func (f slowFS) Open(name string) (store.File, error) {
	if name == f.slow {
		<-f.answers
	}
	return f.FS.Open(name)
}

func TestASearchThatWaitedTooLongForItsTurnIsRefusedAsBusy(t *testing.T) {
	dir := t.TempDir()
	const id = "20260221-140307-aaaaaaaa"
	own := filepath.Join(dir, "sessions", id)
	require.NoError(t, os.MkdirAll(own, 0o700))
	metadata, err := json.Marshal(journal.Metadata{Format: 1, SessionID: id, Status: "idle", MinSeq: 1, MaxSeq: 9})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(own, "metadata.json"), metadata, 0o600))
	slow, disk := filepath.Join(own, "events.jsonl"), make(chan struct{})
	require.NoError(t, os.WriteFile(slow, nil, 0o600))
	h := startHub(t, hubOptions{dir: dir, patience: 100 * time.Millisecond, fs: slowFS{store.OS(), slow, disk}})

	most := max(1, runtime.GOMAXPROCS(0)/2)
	answers := make(chan response, most+1)
	for range most + 1 {
		go func() { answers <- h.api("GET", "/api/search?q=nowhere", nil) }() // received below
	}
	refused := <-answers
	require.Equal(t, http.StatusServiceUnavailable, refused.status, refused.body)
	require.Equal(t, "busy", refused.code(t))
	require.Contains(t, refused.body, "try again in a moment")
	require.Contains(t, refused.body, `"retry_after_ms":`)

	close(disk)
	for range most {
		select {
		case found := <-answers:
			require.Equal(t, http.StatusOK, found.status, found.body)
		case <-time.After(patience):
			t.Fatal("a blocked search does not end")
		}
	}
	require.NoError(t, os.RemoveAll(own))
	require.True(t, h.search("q=nowhere").Done, "no search slot was freed")
}
