package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/search"
)

type found struct {
	Hits       []search.Hit `json:"hits"`
	NextCursor string       `json:"next_cursor"`
	Searched   int64        `json:"searched"`
	Sessions   int          `json:"sessions"`
	Left       int          `json:"sessions_left"`
	Done       bool         `json:"done"`
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
	require.Equal(t, `ÄRGER with "quotes"`, string([]rune(hit.Snippet)[hit.Ranges[0][0]:hit.Ranges[0][1]]))
	require.Empty(t, h.search("q=nowhere-to-be-found").Hits)
	require.Empty(t, h.search("q="+url.QueryEscape(".*")).Hits, "a query is no pattern")
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
		require.LessOrEqual(t, f.Left, left, "what is left only shrinks")
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
