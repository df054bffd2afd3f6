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
	// sharedFrames and sharedBytes are how many frames, and of how many bytes in
	// all, are kept of one session for other clients at the same cursor while
	// anybody lags. Those who follow live are within a frame or two of each other;
	// when the agent outruns a hundred of them, they spread: with 16 frames, half
	// of all that were asked for had to be made again, with 64 a tenth.
	sharedFrames = 64
	sharedBytes  = sharedFrames * (liveBytes + 1<<10)
)

// frame is one events frame, shared by every client that needs it.
type frame struct {
	// key
	after    event.Seq
	maxSeq   event.Seq // the end of the log then
	maxBytes int

	batch event.Batch // its JSON is a part of bytes
	bytes []byte
}

// frames makes the events frames of one session, each once for all the clients
// at the same cursor, without decoding an event.
type frames struct {
	session *session.BackgroundSession

	mu      sync.Mutex
	recent  [sharedFrames]*frame
	next    int // where in recent the next one goes, over the oldest
	bytes   int // of recent
	users   int
	resting int // of the users, those who have all there is
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
	made := newFrame(f.session.ID(), log.Epoch(), batch, max(maxSeq, batch.Last))
	made.after, made.maxBytes = after, maxBytes
	f.keep(made)
	return made, nil
}

// newFrame lets what the batch was made of go: the frame has the same bytes.
func newFrame(sessionID, epoch string, batch event.Batch, maxSeq event.Seq) *frame {
	bytes := wire.AppendEvents(make([]byte, 0, len(batch.JSON)+256), sessionID, epoch, batch, maxSeq)
	end := len(bytes) - len("]}")
	batch.JSON = bytes[end-len(batch.JSON) : end : end]
	return &frame{maxSeq: maxSeq, batch: batch, bytes: bytes}
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

// keep takes a frame in for the others, over the oldest. One that could be of
// use to none, as all of them have what it says, goes with the next rest.
func (f *frames) keep(made *frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(f.next)
	f.recent[f.next] = made
	f.bytes += len(made.bytes)
	f.next = (f.next + 1) % sharedFrames
	// Of events larger than a frame, fewer are kept.
	for oldest := f.next; f.bytes > sharedBytes; oldest = (oldest + 1) % sharedFrames {
		f.forget(oldest)
	}
}

// forget drops what is kept at a place. The caller holds mu.
func (f *frames) forget(at int) {
	if old := f.recent[at]; old != nil {
		f.bytes -= len(old.bytes)
		f.recent[at] = nil
	}
}

// rest says that a user has all there is and sleeps until it wakes. Once all of
// them do, nobody needs what was kept, and an idle session holds no frames.
func (f *frames) rest() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resting++
	f.restIfAllDo()
}

// wake takes back what rest said.
func (f *frames) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resting--
}

func (f *frames) join() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users++
}

// leave says that a user which is awake is none any more, and returns how many
// remain.
func (f *frames) leave() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users--
	f.restIfAllDo()
	return f.users
}

// restIfAllDo lets the frames go when every user rests. The caller holds mu.
func (f *frames) restIfAllDo() {
	if f.resting == f.users && f.bytes > 0 {
		clear(f.recent[:])
		f.bytes = 0
	}
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
	f.join()
	return f
}

func (c *frameCache) release(f *frames) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.leave() == 0 {
		delete(c.sessions, f.session)
	}
}
