package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	sessionstate "github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// readAgain starts a hub on a directory whose session s must be read from its first
// event. The hub stops reading, short of the state, until release is called.
func readAgain(t *testing.T, dir string, s *session.BackgroundSession) (h *hub, release func()) {
	files := filepath.Join(dir, "sessions", s.ID())
	require.NoError(t, os.RemoveAll(filepath.Join(files, "derived")))
	require.NoError(t, os.Remove(filepath.Join(files, "queue.json")))
	held := make(chan struct{})
	h = startHub(t, hubOptions{dir: dir, untold: true, fs: heldQueue{store.OS(), held}})
	release = func() { close(held) }
	return h, release
}

// heldQueue is a file system that creates no queue.json until held is closed.
type heldQueue struct {
	store.FS
	held chan struct{}
}

func (f heldQueue) Create(name string) (store.File, error) {
	if filepath.Base(name) == "queue.json.tmp" {
		<-f.held
	}
	return f.FS.Create(name)
}

func longSession(t *testing.T) (dir string, s *session.BackgroundSession) {
	h := startHub(t, hubOptions{untold: true})
	s = h.session()
	h.prompt(s, "p1", fmt.Sprintf("say %d", 5000))
	h.stop()
	return h.dir, s
}

func TestTheNewestEventsOfALongSessionComeBeforeItsState(t *testing.T) {
	dir, s := longSession(t)
	h, release := readAgain(t, dir, s)
	p := h.dial("/api/sessions/" + s.ID() + "/ws")

	loaded := find[*wire.EventsLoaded](p, nil)
	require.Len(t, loaded.Events, wire.DefaultPage)
	require.Equal(t, s.Log().Marks().Visible, loaded.LastSeq)
	reading := find[*wire.Reading](p, nil)
	require.Equal(t, s.ID(), reading.SessionID)
	require.Equal(t, loaded.MaxSeq, reading.MaxSeq)

	// Older events and pings are answered, and verbs wait.
	for _, id := range []string{"p2", "p3"} {
		p.send(&wire.Prompt{RequestID: id, SessionID: s.ID(), PromptID: id, Text: "hold"})
	}
	p.send(&wire.LoadEvents{RequestID: "r1", SessionID: s.ID(), BeforeSeq: &loaded.FirstSeq, Limit: 10})
	p.send(&wire.Ping{Nonce: "n"})
	for answered := false; !answered; {
		switch m := p.next().(type) {
		case *wire.EventsLoaded:
			require.Equal(t, loaded.FirstSeq-1, m.LastSeq)
		case *wire.Pong:
			answered = true
		case *wire.Reading:
		default:
			require.Failf(t, "a session that is being read says more", "%s", m.MessageType())
		}
	}
	require.Equal(t, 200, h.api("GET", "/api/sessions/"+s.ID()+"/events", nil).status)

	release()
	received, queued := find[*wire.PromptReceived](p, nil), find[*wire.PromptQueued](p, nil)
	require.Equal(t, "p2", received.PromptID)
	require.Equal(t, "p3", queued.PromptID)
	found, err := h.manager.Session(t.Context(), s.ID())
	require.NoError(t, err)
	given := 0
	for _, e := range h.events(found) {
		if e.Type == event.TypeUserPrompt {
			given++
		}
	}
	require.Equal(t, 2, given, "p1 and p2")
}

func TestTheStateOfALongSessionFollowsItsEvents(t *testing.T) {
	dir, s := longSession(t)
	h, release := readAgain(t, dir, s)
	p := h.dial("/api/ws")
	p.send(&wire.Observe{RequestID: "o", SessionID: s.ID()})
	require.Equal(t, "o", find[*wire.EventsLoaded](p, nil).RequestID)
	release()
	state := find[*wire.State](p, nil)
	require.Equal(t, s.Log().Marks().Visible, state.AtSeq)
	require.Equal(t, sessionstate.TurnIdle, state.Turn.State)
}

// brittleDisk cannot read the beginning of a log, as recovery does.
type brittleDisk struct{ store.FS }

func (d brittleDisk) Open(name string) (store.File, error) {
	f, err := d.FS.Open(name)
	return brittleFile{f}, err
}

func (d brittleDisk) OpenRW(name string) (store.File, error) {
	f, err := d.FS.OpenRW(name)
	return brittleFile{f}, err
}

func (d brittleDisk) Means(name string, f store.File) (bool, error) {
	return d.FS.Means(name, f.(brittleFile).File)
}

type brittleFile struct{ store.File }

func (f brittleFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 64<<10 && len(p) > 16<<10 {
		return 0, syscall.EIO
	}
	return f.File.ReadAt(p, off)
}

func TestALongSessionThatCannotBeReadSaysSoToItsFollowers(t *testing.T) {
	dir, s := longSession(t)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "sessions", s.ID(), "derived")))
	h := startHub(t, hubOptions{dir: dir, untold: true, fs: brittleDisk{store.OS()}})
	p := h.dial("/api/sessions/" + s.ID() + "/ws")
	require.Len(t, find[*wire.EventsLoaded](p, nil).Events, wire.DefaultPage)
	refused := find[*wire.Error](p, nil)
	require.Equal(t, wire.CodeUnavailable, refused.Code)
	require.Equal(t, s.ID(), refused.SessionID)
	p.send(&wire.Ping{Nonce: "n"})
	find[*wire.Pong](p, nil)
}
