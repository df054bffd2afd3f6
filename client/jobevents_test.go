package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// A stream that breaks off, in the middle of an event too, goes on after the last whole one.
func TestTheEventsOfAJobComeOnceHoweverOftenTheStreamIsLost(t *testing.T) {
	asked := []string{}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-ID")
		asked = append(asked, r.URL.RequestURI()+" "+last)
		from := 1
		if last != "" {
			_, err := fmt.Sscanf(last, "e:%d", &from)
			require.NoError(t, err)
			from++
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": here\n\n")
		for seq := from; seq <= from+1; seq++ {
			fmt.Fprintf(w, "event: log\nid: e:%d\ndata: {\"type\":\"log\",\"message\":\"m%d\",\"seq\":%d}\n\n", seq, seq, seq)
		}
		fmt.Fprintf(w, "event: log\nid: e:%d\n", from+2)
	}))
	defer hub.Close()
	h, err := client.New(hub.URL, "token")
	require.NoError(t, err)
	defer h.Close()
	enough := errors.New("enough")
	var got []event.Seq
	require.ErrorIs(t, h.JobEvents(t.Context(), "j", true, func(e wire.JobEvent) error {
		require.Equal(t, fmt.Sprint("m", e.Seq), e.Message)
		if got = append(got, e.Seq); e.Seq == 5 {
			return enough
		}
		return nil
	}), enough)
	require.Equal(t, []event.Seq{1, 2, 3, 4, 5}, got)
	require.Equal(t, []string{"/api/jobs/j/events?full=true ", "/api/jobs/j/events?full=true e:2", "/api/jobs/j/events?full=true e:4"}, asked)
}

func TestTheEventsOfAJobThatIsNotThereAreRefused(t *testing.T) {
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"not_found","message":"no such job"}`)
	}))
	defer hub.Close()
	h, err := client.New(hub.URL, "token")
	require.NoError(t, err)
	defer h.Close()
	var refused *client.RefusedError
	require.ErrorAs(t, h.JobEvents(t.Context(), "j", false, func(wire.JobEvent) error { return nil }), &refused)
	require.Equal(t, http.StatusNotFound, refused.Status)
}
