package server

import (
	"context"
	"sync"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

const (
	// liveBytes is how much of a log goes into one events frame. Larger frames
	// were not faster, and a slow link has to swallow each whole.
	liveBytes = 64 << 10
	// sharedFrames is how many frames are kept for other clients at the same
	// cursor, at most 1 MiB of them in all. Those who follow live are within a
	// frame or two of each other; when the agent outruns them all, each group at
	// one cursor goes on together, and with 4 frames there were soon none.
	sharedFrames = 16
)

// frame is one events frame, shared by every client that needs it.
type frame struct {
	// key
	after    event.Seq
	maxSeq   event.Seq // the end of the log then
	maxBytes int

	batch event.Batch
	bytes []byte
}

// frames makes the events frames of one session, each once for all the clients
// at the same cursor, without decoding an event.
type frames struct {
	session *session.BackgroundSession

	mu     sync.Mutex
	recent [sharedFrames]*frame
	next   int
	users  int // guarded by the frameCache's mu
}

// after returns the frame that follows a cursor, with an empty batch when there
// is none. The client was told already that the log reaches said: no frame says
// less to it.
func (f *frames) after(ctx context.Context, after, said event.Seq, maxBytes int) (*frame, error) {
	log := f.session.Log()
	maxSeq := log.Marks().Visible
	if after >= maxSeq {
		return &frame{}, nil
	}
	if made := f.find(after, said, maxSeq, maxBytes); made != nil {
		return made, nil
	}
	// Made without the lock: reading may go to the disk. Two clients may make
	// the same frame at once, which costs little and blocks nobody.
	batch, err := log.ReadAfter(ctx, after, maxBytes)
	if err != nil {
		return nil, err
	}
	if batch.Empty() {
		return &frame{}, nil
	}
	made := &frame{after: after, maxSeq: max(maxSeq, batch.Last), maxBytes: maxBytes, batch: batch}
	made.bytes = wire.AppendEvents(make([]byte, 0, len(batch.JSON)+256), f.session.ID(), log.Epoch(), batch, made.maxSeq)
	f.keep(made)
	return made, nil
}

// find returns a frame that serves. While the log grows, its end is another for
// each client that asks; a frame that is about full would hold the same events
// now, and its word on the end of the log is good for whoever has heard no
// later one.
func (f *frames) find(after, said, maxSeq event.Seq, maxBytes int) *frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, made := range f.recent {
		if made == nil || made.after != after || made.maxBytes != maxBytes {
			continue
		}
		full := len(made.batch.JSON) >= maxBytes/2
		if made.maxSeq == maxSeq || full && made.maxSeq >= said {
			return made
		}
	}
	return nil
}

func (f *frames) keep(made *frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent[f.next] = made
	f.next = (f.next + 1) % sharedFrames
}

// frameCache holds the frames of the sessions that are being followed.
type frameCache struct {
	mu       sync.Mutex
	sessions map[*session.BackgroundSession]*frames
}

func newFrameCache() *frameCache {
	return &frameCache{sessions: make(map[*session.BackgroundSession]*frames)}
}

// acquire returns the frames of a session; release them when done.
func (c *frameCache) acquire(s *session.BackgroundSession) *frames {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.sessions[s]
	if !ok {
		f = &frames{session: s}
		c.sessions[s] = f
	}
	f.users++
	return f
}

func (c *frameCache) release(f *frames) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.users--
	if f.users == 0 {
		delete(c.sessions, f.session)
	}
}
