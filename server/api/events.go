package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/backlog"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// eventRows are the routes of this file.
func eventRows() section {
	return section{
		title: "Events over HTTP",
		about: []string{
			"The answer to a request for a page is the frame `events_loaded`. [An event stream](#an-event-stream) is the other form.",
		},
		rows: []route{
			{
				"GET", one + "/events", auth.Credential, auth.Read, false, eventsRoute,
				doc{
					summary: "A page of events, the newest when neither seq is given; or, for Accept: text/event-stream, a live stream: first events_loaded with the verdict, then an unnamed message for each event, its id epoch:seq.",
					out:     wire.EventsLoaded{}, status: 200, stream: "text/event-stream",
					query: []param{
						{"after_seq", "events after this one, oldest first", event.Seq(0)},
						{"before_seq", "events before this one", event.Seq(0)},
						{"epoch", "the epoch the seq belongs to", ""},
						{"limit", "from 1 to 500; 50 when absent", 0},
						{"merge", "join runs of chunks of one message", false},
					},
					headers: []param{{"Last-Event-ID", "continue the stream after epoch:seq", ""}},
				},
			},
		},
	}
}

// eventsRoute returns one page of events, or a stream of events.
func eventsRoute(s *API, c *call) error {
	own, err := c.readable()
	if err != nil {
		return err
	}
	return eventsOf(s, c, own)
}

func eventsOf(s *API, c *call, own Watched) error {
	q := c.r.URL.Query()
	if wantsStream(c.r) {
		from, err := streamPlace(c.r)
		if err != nil {
			return err
		}
		c.over() // a stream does not count as a running request: it has its own limit
		return s.live.Stream(c.w, c.r, Given{Grant: c.grant, Now: c.with.Now}, own, from, nil)
	}
	after, err := seqOf(q, "after_seq")
	if err != nil {
		return err
	}
	before, err := seqOf(q, "before_seq")
	if err != nil {
		return err
	}
	limit, err := numberOf(q, "limit")
	if err != nil {
		return err
	}
	most := wire.DefaultPage
	if limit != nil {
		if most = *limit; most == 0 {
			return Invalid("limit is not between 1 and %d", wire.MaxPage)
		}
	}
	log := backlog.SpanOf(own)
	if after == nil && before == nil {
		next := log.Max + 1
		before = &next // the newest page
	}
	loaded, page, err := log.Load(c.r.Context(), after, before, q.Get("epoch"), most)
	if err != nil {
		return err
	}
	body, err := backlog.Encode(loaded, page, q.Get("merge") == "true")
	if err != nil {
		return err
	}
	return c.replyRaw(http.StatusOK, body)
}

func wantsStream(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// streamPlace returns where a stream begins: after the last event of a reconnecting
// browser, at the place in the URL, or at the beginning.
func streamPlace(r *http.Request) (backlog.Place, error) {
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		q := r.URL.Query()
		after, err := seqOf(q, "after_seq")
		if err != nil {
			return backlog.Place{}, err
		}
		if after == nil {
			after = new(event.Seq)
		}
		return backlog.NewPlace(after, q.Get("epoch"), nil, false)
	}
	epoch, text, ok := strings.Cut(last, ":")
	n, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return backlog.Place{}, Invalid("Last-Event-ID is not epoch:seq")
	}
	seq := event.Seq(n)
	return backlog.NewPlace(&seq, epoch, nil, false)
}
