package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// retain makes retention remove the oldest files of a session's log. It returns the
// first remaining seq.
func (h *hub) retain(s *session.BackgroundSession, bytes int64) event.Seq {
	h.t.Helper()
	h.store.SetKeep(bytes)
	require.Eventually(h.t, func() bool { return s.Log().Marks().Min > 2 }, patience, time.Millisecond, "nothing was removed")
	h.store.SetKeep(0)
	return s.Log().Marks().Min
}

func TestAClientBelowWhatIsKeptIsToldOnEveryWay(t *testing.T) {
	h := startHub(t, hubOptions{file: 4 << 10})
	s := h.session()
	h.prompt(s, "p1", "say 300")
	log := h.events(s)
	first := h.retain(s, 8<<10)
	last, epoch := log[len(log)-1].Seq, s.Log().Epoch()
	kept := log[first-1:]

	requireReset := func(t *testing.T, m *wire.EventsLoaded) {
		t.Helper()
		require.Equal(t, []any{wire.VerdictReset, wire.ResetBefore, first, last, epoch},
			[]any{m.Verdict, m.Reason, m.MinSeq, m.MaxSeq, m.Epoch})
		newest := kept[max(0, len(kept)-50):]
		require.Equal(t, seqs(newest), seqs(m.Events), "a reset brings the newest page")
		require.Equal(t, newest[0].Seq > first, m.HasMore)
	}
	one := "/api/sessions/" + s.ID()
	below := first - 2
	t.Run("observe", func(t *testing.T) {
		p := h.dial("/api/ws")
		p.send(&wire.Observe{RequestID: "r", SessionID: s.ID(), AfterSeq: &below, Epoch: epoch})
		requireReset(t, expect[*wire.EventsLoaded](p))
	})
	t.Run("a session's own socket", func(t *testing.T) {
		requireReset(t, expect[*wire.EventsLoaded](h.dial(fmt.Sprintf("%s/ws?after_seq=%d&epoch=%s", one, below, epoch))))
	})
	t.Run("from the very beginning", func(t *testing.T) {
		requireReset(t, expect[*wire.EventsLoaded](h.dial(one+"/ws?after_seq=0")))
	})
	t.Run("load_events", func(t *testing.T) {
		p := h.dial("/api/ws")
		p.send(&wire.LoadEvents{RequestID: "r", SessionID: s.ID(), AfterSeq: &below, Epoch: epoch})
		requireReset(t, expect[*wire.EventsLoaded](p))
	})
	t.Run("load_events before what is kept has nothing, and no more", func(t *testing.T) {
		for _, before := range []event.Seq{1, 2, first} {
			p := h.dial("/api/ws")
			p.send(&wire.LoadEvents{RequestID: "r", SessionID: s.ID(), BeforeSeq: &before, Epoch: epoch})
			m := expect[*wire.EventsLoaded](p)
			require.Equal(t, []any{wire.VerdictOK, first, 0, false}, []any{m.Verdict, m.MinSeq, len(m.Events), m.HasMore})
		}
	})
	t.Run("a page over HTTP", func(t *testing.T) {
		res := h.api("GET", fmt.Sprintf("%s/events?after_seq=%d&epoch=%s", one, below, epoch), nil)
		require.Contains(t, res.body, `"verdict":"reset","reason":"min_seq"`)
	})
	t.Run("a stream", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "GET", h.origin()+one+"/events", nil)
		require.NoError(t, err)
		r.Header = http.Header{
			"Authorization": {"Bearer " + h.token}, "Accept": {"text/event-stream"},
			"Last-Event-ID": {fmt.Sprintf("%s:%d", epoch, below)},
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		defer res.Body.Close()
		head := make([]byte, 400)
		n, err := res.Body.Read(head)
		require.NoError(t, err)
		require.Contains(t, string(head[:n]), `"verdict":"reset","reason":"min_seq"`)
	})
	t.Run("the oldest cursor that is good misses nothing", func(t *testing.T) {
		p := h.dial(fmt.Sprintf("%s/ws?after_seq=%d&epoch=%s", one, first-1, epoch))
		require.Equal(t, wire.VerdictOK, expect[*wire.EventsLoaded](p).Verdict)
		require.Equal(t, kept, p.collect(first-1, last))
	})
	t.Run("the list", func(t *testing.T) {
		require.Contains(t, h.api("GET", one, nil).body, fmt.Sprintf(`"min_seq":%d,"max_seq":%d`, first, last))
	})
}

func TestAPageThatRetentionOvertakesIsAnsweredAsIfItCameLater(t *testing.T) {
	for name, query := range map[string]string{
		"after a cursor": "after_seq=0&limit=500", "before a seq": "before_seq=10000&limit=500", "the newest": "limit=500",
	} {
		t.Run(name, func(t *testing.T) {
			files := &countedFS{FS: store.OS()}
			h := startHub(t, hubOptions{fs: files, file: 4 << 10, tail: 1, untold: true})
			s := h.session()
			h.prompt(s, "p1", "say 300")
			first := event.Seq(0)
			remove := func() { first = h.retain(s, 8<<10) }
			files.next.Store(&remove) // while the page is read
			res := h.api("GET", "/api/sessions/"+s.ID()+"/events?"+query, nil)
			require.Equal(t, http.StatusOK, res.status, res.body)
			require.Positive(t, first, "nothing was read from a file")
			require.Contains(t, res.body, fmt.Sprintf(`"first_seq":%d,`, first), "the page does not begin with the first remaining event")
			if name == "after a cursor" {
				require.Contains(t, res.body, `"verdict":"reset","reason":"min_seq"`)
			}
		})
	}
}

func TestAClientOvertakenWhileItReadsIsToldAndFollowsOn(t *testing.T) {
	for name, observe := range map[string]func(h *hub, id string) *peer{
		"a session's own socket": func(h *hub, id string) *peer {
			return h.dial("/api/sessions/" + id + "/ws?after_seq=0")
		},
		"observe": func(h *hub, id string) *peer {
			p := h.dial("/api/ws")
			p.send(&wire.Observe{RequestID: "asked", SessionID: id, AfterSeq: ptr(event.Seq(0))})
			return p
		},
		"observe of no page": func(h *hub, id string) *peer {
			p := h.dial("/api/ws")
			p.send(&wire.Observe{RequestID: "asked", SessionID: id, Tail: ptr(0)})
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHub(t, hubOptions{file: 1 << 20, tail: 1})
			s := h.session()
			overtake(t, h, s, func() *peer { return observe(h, s.ID()) })
		})
	}
}

// overtake makes retention remove events before they were sent to a client that
// does not read.
func overtake(t *testing.T, h *hub, s *session.BackgroundSession, observe func() *peer) {
	p := observe()
	verdict := expect[*wire.EventsLoaded](p)
	require.Equal(t, wire.VerdictOK, verdict.Verdict)
	for i := range 40 { // more than the socket buffers hold
		h.prompt(s, fmt.Sprint("p", i), "big 200")
	}
	last := s.Log().Marks().Visible
	other := h.dial("/api/sessions/" + s.ID() + "/ws")
	first := h.retain(s, 1<<20)
	h.prompt(s, "after", "say 10")
	end := s.Log().Marks().Visible
	require.Equal(t, wire.VerdictOK, find[*wire.EventsLoaded](other, nil).Verdict) // frames of the session list may come first
	other.collect(last, end)

	cursor := verdict.LastSeq
	var reset *wire.EventsLoaded
	for reset == nil {
		switch m := p.next().(type) {
		case *wire.Events:
			require.Equal(t, cursor+1, m.FirstSeq, "a gap before the reset")
			cursor = m.LastSeq
		case *wire.EventsLoaded:
			reset = m
		}
	}
	require.Equal(t, []any{wire.VerdictReset, wire.ResetBefore, first}, []any{reset.Verdict, reset.Reason, reset.MinSeq})
	require.Empty(t, reset.RequestID, "the reset must not have a request id")
	require.NotEmpty(t, reset.Events, "a reset must bring events, because none may follow")
	require.Equal(t, []event.Seq{reset.FirstSeq, reset.LastSeq}, []event.Seq{reset.Events[0].Seq, reset.Events[len(reset.Events)-1].Seq})
	cursor = reset.LastSeq
	if cursor < end {
		p.collect(cursor, end)
	}
	p.send(&wire.Ping{Nonce: "alive"})
	find(p, func(m *wire.Pong) bool { return m.Nonce == "alive" })
	require.NotContains(t, strings.ToLower(h.log.String()), "following failed")
}
