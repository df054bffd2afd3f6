package server

import (
	"context"
	"slices"
	"sync"
	"weak"

	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

const (
	// liveBytes is how much of a log goes into one events frame. Larger frames were
	// not faster, and a slow link must take each as a whole.
	liveBytes = 64 << 10
	// sharedFrames and sharedBytes limit the frames of one session that are cached
	// for other clients at the same cursor while any client lags. Clients that
	// follow live are within a frame or two of each other. When the agent is faster
	// than a hundred of them, they spread: with 16 frames, half of all requested
	// frames were made again, with 64 a tenth.
	sharedFrames = 64
	sharedBytes  = sharedFrames * (liveBytes + 1<<10)
)

// frame is one events frame, shared by every client that needs it.
type frame struct {
	// key
	after    event.Seq
	maxSeq   event.Seq // end of the log when the frame was made
	maxBytes int

	batch   event.Batch // its JSON is a part of the message
	message message
}

// full reports whether the frame is about as large as a frame may be.
func (f *frame) full() bool { return len(f.batch.JSON) >= f.maxBytes/2 }

// making is a frame that one client makes while others wait for it.
type making struct {
	after    event.Seq
	maxBytes int

	made *frame        // nil if it failed; valid once done is closed
	done chan struct{} // nil while no client waits
}

// buffer holds a frame of one client, and the bytes it is made in.
type buffer struct {
	frame frame
	bytes []byte
}

// frames makes the events frames of one session, each once for all clients at the
// same cursor. It decodes no event.
type frames struct {
	session api.Watched
	buffers *sync.Pool

	mu      sync.Mutex
	recent  [sharedFrames]*frame
	next    int // index in recent of the next entry, which replaces the oldest
	bytes   int // of recent
	making  []*making
	users   int
	resting int // clients that have read everything

	// shown is the state that was encoded last, while a client sends it: a queue may have
	// many MiB.
	stateMu sync.Mutex
	shown   weak.Pointer[shownState]
}

// shownState is a state as a message, shared by every client that needs it.
type shownState struct {
	of      *session.State
	message message
}

// state returns the session's state, which must be known.
func (f *frames) state() (*shownState, error) {
	f.stateMu.Lock()
	defer f.stateMu.Unlock()
	now := f.session.Shown()
	if made := f.shown.Value(); made != nil && made.of == now {
		return made, nil
	}
	b, err := wire.AppendState(make([]byte, headroom, 2<<10), *api.StateOf(*now))
	if err != nil {
		return nil, err
	}
	made := &shownState{now, seal(b)}
	f.shown = weak.Make(made)
	return made, nil
}

// after returns the frame after a cursor, or nil if there is none. The client
// already knows that the log reaches said, and no frame may say less. A frame that
// no other client can need is made in own, which is allocated if nil. The frame is
// valid until own is used again.
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
		// The client that makes it reads the log and writes to no socket, so it is
		// never slow.
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

// read makes a frame in the given buffer, or returns nil if there are no events. It
// holds no lock, because reading may access the disk.
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
	// The frame has a copy of the bytes, so the batch's own memory can be freed.
	end := len(bytes) - len("]}")
	batch.JSON = bytes[end-len(batch.JSON) : end : end]
	in.frame = frame{after: after, maxBytes: maxBytes, maxSeq: maxSeq, batch: batch, message: seal(bytes)}
	return &in.frame, nil
}

// find returns a cached frame; or a frame that another client is making, to wait
// for; or, if others may need it, a new frame to make and finish. max_seq differs
// between callers while the log grows. A nearly full frame is reused anyway: its
// events are the same, and its max_seq is valid for a client that was told no later
// one.
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

// finish delivers the frame, if it was made, to the waiting clients and caches it.
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

// keep caches a frame in place of the oldest. A frame whose events all clients have
// is dropped at the next rest. The caller holds mu.
func (f *frames) keep(made *frame) {
	f.forget(f.next)
	f.recent[f.next] = made
	f.bytes += len(made.message)
	f.next = (f.next + 1) % sharedFrames
	// If events are larger than a frame, fewer frames are cached.
	for oldest := f.next; f.bytes > sharedBytes; oldest = (oldest + 1) % sharedFrames {
		f.forget(oldest)
	}
}

// forget drops the cached frame at an index. The caller holds mu.
func (f *frames) forget(at int) {
	if old := f.recent[at]; old != nil {
		f.bytes -= len(old.message)
		f.recent[at] = nil
	}
}

// rest records that a client has read everything and will sleep. It takes back the
// client's buffer, if any. When all clients sleep, the cached frames are dropped,
// so an idle session holds none.
func (f *frames) rest(own **buffer) {
	if *own != nil {
		if cap((*own).bytes) <= 2*liveBytes { // a buffer grown for a huge event is not reused
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

// leave removes a client that is awake, and returns how many clients remain.
func (f *frames) leave() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users--
	f.restIfAllDo()
	return f.users
}

// restIfAllDo drops the cached frames when every client sleeps. The caller holds
// mu.
func (f *frames) restIfAllDo() {
	if f.resting == f.users && f.bytes > 0 {
		clear(f.recent[:])
		f.bytes = 0
	}
}

// frameCache holds the frames of all followed sessions.
type frameCache struct {
	buffers sync.Pool // of *buffer, for all sessions

	mu       sync.Mutex
	sessions map[api.Watched]*frames
}

func newFrameCache() *frameCache {
	return &frameCache{
		buffers:  sync.Pool{New: func() any { return new(buffer) }},
		sessions: make(map[api.Watched]*frames),
	}
}

// acquire returns the frames of a session. release them when done.
func (c *frameCache) acquire(s api.Watched) *frames {
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
