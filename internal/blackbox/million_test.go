package blackbox_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestALongSessionOpensListsAndPagesToItsFirstEvent reads a session of a million
// events (20,000 in the sample) like the app: the list, the last fifty events, then
// page by page back to the first. Meanwhile another client sends small requests. In
// the soak, with the production build, no answer to either client may take over 100
// ms.
func TestALongSessionOpensListsAndPagesToItsFirstEvent(t *testing.T) {
	soaking := soak.On()
	events, program := 20_000, binary()
	if soaking {
		events, program = 1_000_000, filepath.Join(t.TempDir(), "abide") // no race detector
		buildProgram(t, program, "../../cmd/abide")
	} else {
		t.Parallel()
	}
	data := filepath.Join(t.TempDir(), "data")
	id := writeLongSession(t, data, events)
	h := newHub(t, settings{data: data, program: program, more: "log_file_mib: 64\n"})
	// The first opening of a session from elsewhere reads all of it. The test
	// measures later openings.
	openOnce(t, h, id)
	h.stop()
	h.start()
	p := newProber(t, h)
	quiet := p.during(func() { time.Sleep(time.Duration(events/200) * time.Millisecond) }) // to measure the machine
	var own roundTrips
	busy := p.during(func() { own = readBackwards(t, h, id, events) })
	t.Logf("round trips of others, the hub being idle: %s; while a session of %d events is read: %s", quiet, events, busy)
	t.Logf("the reader's round trips: %s", own)
	require.Greater(t, len(busy), 5, "the other client did not ask meanwhile")
	if soaking {
		require.LessOrEqual(t, busy.at(0.99), 100*time.Millisecond, "the hub pauses")
	}
	if !soaking {
		return // the race detector distorts the maximum
	}
	require.LessOrEqual(t, own.at(0.99), 100*time.Millisecond, "the reader waits")
	if quiet.at(1) >= 10*time.Millisecond {
		t.Skipf("the maximum is not checked: an idle hub's longest answer took %s on this machine", quiet.at(1))
	}
	require.LessOrEqual(t, busy.at(1), 100*time.Millisecond, "the hub paused")
	require.LessOrEqual(t, own.at(1), 100*time.Millisecond, "the reader waited")
}

// writeLongSession creates a data directory with one session and returns its id.
func writeLongSession(t *testing.T, data string, events int) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "longsession")
	buildProgram(t, program, "../tools/longsession")
	cmd := exec.Command(program, "--data", data, "--events", strconv.Itoa(events), "--workspace", t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// buildProgram builds a command with the flags of make, so that compiled packages
// come from the cache.
func buildProgram(t *testing.T, path, source string) {
	t.Helper()
	out, err := exec.Command("go", "build", "-trimpath", "-o", path, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// openOnce waits until the hub has opened the session.
func openOnce(t *testing.T, h *hub, id string) {
	t.Helper()
	began := time.Now()
	require.Eventually(t, func() bool {
		socket, err := h.hub.DialSession(t.Context(), id, client.Cursor{})
		if err != nil {
			return false // the request timed out; the hub continues to open it
		}
		errOpen := errors.New("it is open")
		return errors.Is(socket.Run(t.Context(), func(wire.Message) error { return errOpen }), errOpen)
	}, patience, 50*time.Millisecond, "the session cannot be opened")
	t.Logf("the first opening took %s", time.Since(began))
}

// readBackwards reads the session back to its first event. It returns the duration
// of each request: the list, the newest events, and every page.
func readBackwards(t *testing.T, h *hub, id string, events int) (took roundTrips) {
	asked := time.Now()
	answered := func() { took = append(took, time.Since(asked)) }
	list, err := h.hub.Sessions(t.Context(), 30, "")
	answered()
	require.NoError(t, err)
	require.Len(t, list.Sessions, 1)
	require.EqualValues(t, events, list.Sessions[0].MaxSeq)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked = time.Now()
	socket, err := h.hub.DialSession(ctx, id, client.Cursor{})
	require.NoError(t, err)
	opened := make(chan *wire.EventsLoaded, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- socket.Run(ctx, func(m wire.Message) error {
			if page, ok := m.(*wire.EventsLoaded); ok && !page.Prepend {
				opened <- page
			}
			return nil
		})
	}()
	defer func() { cancel(); require.ErrorIs(t, <-ended, context.Canceled) }()
	first := <-opened
	answered()
	require.EqualValues(t, events, first.LastSeq, "the hub changed the log")
	require.GreaterOrEqual(t, len(first.Events), 50)
	seen := len(first.Events)
	for before := first.FirstSeq; before > 1; {
		asked = time.Now()
		page, err := socket.Load(ctx, wire.LoadEvents{SessionID: id, BeforeSeq: &before, Limit: wire.MaxPage})
		answered()
		require.NoError(t, err)
		require.NotEmpty(t, page.Events)
		for i, e := range page.Events {
			require.Equal(t, page.FirstSeq+event.Seq(i), e.Seq)
		}
		require.Equal(t, before-1, page.LastSeq)
		before, seen = page.FirstSeq, seen+len(page.Events)
	}
	require.EqualValues(t, first.LastSeq, seen)
	slices.Sort(took)
	return took
}

// prober sends small requests to a hub, one after another.
type prober struct {
	t      *testing.T
	socket *client.Socket
	pongs  chan struct{}
}

func newProber(t *testing.T, h *hub) *prober {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	socket, err := h.hub.Dial(ctx)
	require.NoError(t, err)
	p := &prober{t: t, socket: socket, pongs: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() {
		ended <- socket.Run(ctx, func(m wire.Message) error {
			if _, ok := m.(*wire.Pong); ok {
				p.pongs <- struct{}{}
			}
			return nil
		})
	}()
	t.Cleanup(func() { cancel(); require.ErrorIs(t, <-ended, context.Canceled) })
	return p
}

// during probes every 10 ms while f runs and returns each duration.
func (p *prober) during(f func()) (took roundTrips) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	ended := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			asked := time.Now()
			if err := p.socket.Send(context.Background(), &wire.Ping{Nonce: "probe"}); err != nil {
				ended <- err
				return
			}
			select {
			case <-p.pongs:
			case <-time.After(30 * time.Second):
				ended <- errors.New("the hub does not answer a ping")
				return
			}
			took = append(took, time.Since(asked))
			rest(ctx, 10*time.Millisecond)
		}
		ended <- nil
	}()
	f()
	cancel()
	require.NoError(p.t, <-ended)
	slices.Sort(took)
	return took
}

// roundTrips are durations in ascending order.
type roundTrips []time.Duration

// at returns the quantile of the durations; at(1) is the longest.
func (r roundTrips) at(share float64) time.Duration {
	return r[int(share*float64(len(r)-1))]
}

// String returns the quantiles of interest.
func (r roundTrips) String() string {
	return "p50 " + r.at(0.5).String() + ", p99 " + r.at(0.99).String() + ", longest " + r.at(1).String()
}
