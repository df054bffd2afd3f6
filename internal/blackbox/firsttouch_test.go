package blackbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestALongSessionIsOnAScreenBeforeItsStateIsKnown kills the hub with kill -9 in the
// middle of a turn of a long session whose fold is missing. After the start a client
// gets the newest events first. The prompt that it sends at once is answered when the
// state is known, and given to the agent once. In the soak, with the production build
// and 300,000 events, the newest 50 take at most 50 ms from the dial, and the hub
// reports its progress.
func TestALongSessionIsOnAScreenBeforeItsStateIsKnown(t *testing.T) {
	soaking := soak.On()
	events, program := 20_000, binary()
	if soaking {
		events, program = 300_000, filepath.Join(t.TempDir(), "abide") // no race detector
		buildProgram(t, program, "../../cmd/abide")
	} else {
		t.Parallel()
	}
	data := filepath.Join(t.TempDir(), "data")
	id := writeLongSession(t, data, events)
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{data: data, program: program, agents: map[string]agent{"demo": tapped(t, record, paced())}})
	openOnce(t, h, id)
	_, err := h.hub.Ask(t.Context(), id, wire.NewPrompt{PromptID: "cut", Text: "Count to a hundred (1.0.0)."})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		page, err := h.hub.EventsAfter(t.Context(), id, event.Seq(events), wire.MaxPage)
		return err == nil && ofType(page.Events, event.TypeTurnStart) > 0
	}, patience, 10*time.Millisecond, "the turn does not begin")
	h.kill()
	require.NoError(t, os.RemoveAll(filepath.Join(data, "sessions", id, "derived")))
	h.start()

	began := time.Now()
	socket, err := h.hub.DialSession(t.Context(), id, client.Cursor{})
	require.NoError(t, err)
	answers := make(chan error, 1)
	var newest time.Duration
	var shown, progress int
	var received []string
	errKnown := errors.New("the state is known and the prompt is answered")
	known := false
	err = socket.Run(t.Context(), func(m wire.Message) error {
		switch m := m.(type) {
		case *wire.EventsLoaded:
			newest, shown = time.Since(began), len(m.Events)
			go func() {
				answers <- socket.Send(context.Background(), &wire.Prompt{RequestID: "r", SessionID: id, PromptID: "at once", Text: "Go on (1.0.1)."})
			}()
		case *wire.Reading:
			progress++
		case *wire.State:
			known = true
		case *wire.PromptReceived, *wire.PromptQueued:
			received = append(received, m.MessageType())
		case *wire.Error:
			return errors.New(m.Message)
		}
		if known && len(received) > 0 {
			return errKnown
		}
		return nil
	})
	require.ErrorIs(t, err, errKnown)
	require.NoError(t, <-answers)
	require.Equal(t, 50, shown)
	require.Len(t, received, 1)
	t.Logf("dial to the newest 50 of %d events: %s; %d reports of progress", events, newest, progress)
	if soaking {
		require.LessOrEqual(t, newest, 50*time.Millisecond)
		require.Positive(t, progress)
	}
	require.Eventually(t, func() bool {
		page, err := h.hub.EventsAfter(t.Context(), id, event.Seq(events), wire.MaxPage)
		if err != nil {
			return false
		}
		require.LessOrEqual(t, ofType(page.Events, event.TypeUserPrompt), 2, "a prompt is in the log twice")
		return ofType(page.Events, event.TypeTurnInterrupted) == 1 && ofType(page.Events, event.TypeTurnStart) == 2
	}, patience, 20*time.Millisecond, "the prompt is not given")
	requireGivenOnce(t, readRecord(t, record))
}

func ofType(events []event.Event, of event.Type) (n int) {
	for _, e := range events {
		if e.Type == of {
			n++
		}
	}
	return n
}
