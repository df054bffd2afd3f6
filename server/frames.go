package server

import (
	"context"
	"slices"
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
	// all, are kept of one session for other clients at the same cursor while any
	// client lags. Clients that follow live are within a frame or two of each
	// other; when the agent outruns a hundred of them, they spread: with 16 frames,
	// half of all that were asked for had to be made again, with 64 a tenth.
	sharedFrames = 64
	sharedBytes  = sharedFrames * (liveBytes + 1<<10)
)

// frame is one events frame, shared by every client that needs it.
type frame struct {
	// key
	after    event.Seq
	maxSeq   event.Seq // the end of the log then
	maxBytes int

	batch   event.Batch // its JSON is a part of the message
	message message
}

// full reports whether there were about as many events as a frame takes.
func (f *frame) full() bool { return len(f.batch.JSON) >= f.maxBytes/2 }

// making is a frame that one client makes and others wait for.
type making struct {
	after    event.Seq
	maxBytes int

	made *frame        // nil if it failed; readable once done is closed
	done chan struct{} // nil while no user waits
}

// buffer is a frame of one user alone, and the bytes it is made in.
type buffer struct {
	frame frame
	bytes []byte
}

// frames makes the events frames of one session, each once for all the clients
// at the same cursor, without decoding an event.
type frames struct {
	session *session.BackgroundSession
	buffers *sync.Pool

	mu      sync.Mutex
	recent  [sharedFrames]*frame
	next    int // where in recent the next one goes, over the oldest
	bytes   int // of recent
	making  []*making
	users   int
	resting int // users that have read everything
}

// after returns the frame that follows a cursor, or nil when there is none. The
// client was told already that the log reaches said, and no frame tells it less. A
// frame that no other client can need is made in own, which is lent where it is
// nil; the frame is valid until own is used again.
func (f *frames) after(ctx context.Context, after, said event.Seq, maxBytes int, own **buffer) (*frame, error) {
	for {
		maxSeq := f.session.Log().Marks().Visible
		if after >= maxSeq {
			return nil, nil
		}
		made, others, mine := f.find(after, said, maxSeq, maxBytes)
		switch {
		case made != nil:
			return made, nil
		case others == nil && mine == nil:
			if *own == nil {
				*own = f.buffers.Get().(*buffer)
			}
			return f.read(ctx, after, maxSeq, maxBytes, *own)
		case mine != nil:
			made, err := f.read(ctx, after, maxSeq, maxBytes, &buffer{})
			f.finish(mine, made)
			return made, err
		}
		// Its maker reads the log and writes to no socket, so it never takes long.
		select {
		case <-others.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if made := others.made; made != nil && made.maxSeq >= said {
			return made, nil
		}
	}
}

// read makes a frame in the given buffer, or none if there is nothing. It holds no
// lock: reading may go to the disk.
func (f *frames) read(ctx context.Context, after, maxSeq event.Seq, maxBytes int, in *buffer) (*frame, error) {
	log := f.session.Log()
	batch, err := log.ReadAfter(ctx, after, maxBytes)
	if err != nil || batch.Empty() {
		return nil, f.session.ReadError(err)
	}
	maxSeq = max(maxSeq, batch.Last)
	bytes := slices.Grow(in.bytes[:0], headroom+len(batch.JSON)+256)[:headroom]
	bytes = wire.AppendEvents(bytes, f.session.ID(), log.Epoch(), batch, maxSeq)
	in.bytes = bytes
	// The batch's own memory is freed: the frame has the same bytes.
	end := len(bytes) - len("]}")
	batch.JSON = bytes[end-len(batch.JSON) : end : end]
	in.frame = frame{after: after, maxBytes: maxBytes, maxSeq: maxSeq, batch: batch, message: seal(bytes)}
	return &in.frame, nil
}

// find returns a frame that serves; or one that others make, to wait for; or, where
// others may want it, one to make and to finish. While the log grows, max_seq
// differs between callers. A nearly full frame is reused anyway: its events are the
// same, and its max_seq is right for a client that was told no later one.
func (f *frames) find(after, said, maxSeq event.Seq, maxBytes int) (made *frame, others, mine *making) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == 1 {
		return nil, nil, nil
	}
	for _, made := range f.recent {
		if made == nil || made.after != after || made.maxBytes != maxBytes {
			continue
		}
		if made.maxSeq == maxSeq || made.full() && made.maxSeq >= said {
			return made, nil, nil
		}
	}
	for _, m := range f.making {
		if m.after == after && m.maxBytes == maxBytes {
			if m.done == nil {
				m.done = make(chan struct{})
			}
			return nil, m, nil
		}
	}
	mine = &making{after: after, maxBytes: maxBytes}
	f.making = append(f.making, mine)
	return nil, nil, mine
}

// finish gives the frame, if one was made, to the waiting users and to later ones.
func (f *frames) finish(m *making, made *frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.making = slices.DeleteFunc(f.making, func(other *making) bool { return other == m })
	if made != nil {
		m.made = made
		f.keep(made)
	}
	if m.done != nil {
		close(m.done)
	}
}

// keep takes a frame in for the others, over the oldest. A frame whose events all
// users have is dropped at the next rest. The caller holds mu.
func (f *frames) keep(made *frame) {
	f.forget(f.next)
	f.recent[f.next] = made
	f.bytes += len(made.message)
	f.next = (f.next + 1) % sharedFrames
	// Of events larger than a frame, fewer are kept.
	for oldest := f.next; f.bytes > sharedBytes; oldest = (oldest + 1) % sharedFrames {
		f.forget(oldest)
	}
}

// forget drops the frame that is kept at a place. The caller holds mu.
func (f *frames) forget(at int) {
	if old := f.recent[at]; old != nil {
		f.bytes -= len(old.message)
		f.recent[at] = nil
	}
}

// rest says that a user has read everything and sleeps until it is woken. It gives
// back the buffer it was lent, if any. When all users sleep, the kept frames are
// dropped: an idle session holds none.
func (f *frames) rest(own **buffer) {
	if *own != nil {
		if cap((*own).bytes) <= 2*liveBytes { // made for a huge event, it would stay huge
			(*own).frame = frame{}
			f.buffers.Put(*own)
		}
		*own = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resting++
	f.restIfAllDo()
}

// wake undoes rest.
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
	buffers sync.Pool // of *buffer, for all sessions

	mu       sync.Mutex
	sessions map[*session.BackgroundSession]*frames
}

func newFrameCache() *frameCache {
	return &frameCache{
		buffers:  sync.Pool{New: func() any { return new(buffer) }},
		sessions: make(map[*session.BackgroundSession]*frames),
	}
}

// acquire returns the frames of a session; release them when done.
func (c *frameCache) acquire(s *session.BackgroundSession) *frames {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.sessions[s]
	if !ok {
		f = &frames{session: s, buffers: &c.buffers}
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
