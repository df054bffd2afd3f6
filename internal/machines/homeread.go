package machines

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/abidehub/abide/session/store/logfile"
)

// read asks the machine for what is new in a log.
func (l *link) read(ctx context.Context, q readHead) (a linesHead, lines []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(q.Wait)*time.Millisecond+readGrace)
	defer cancel()
	stop := context.AfterFunc(l.ctx, cancel)
	defer stop()
	m, err := l.conn.RequestWithContext(ctx, below(l.id, "read"), message(q, nil))
	if err != nil {
		return a, nil, err
	}
	lines, err = parse(m.Data, &a)
	switch {
	case err != nil:
	case len(a.State) > 0 && !json.Valid(a.State):
		err = errors.New("a state that is no JSON")
	case a.Epoch != "" && !logfile.IsEpoch(a.Epoch):
		err = errors.New("an epoch that is none")
	case len(lines) > partBytes+logfile.MaxLine:
		err = errors.New("more than was asked for")
	}
	if err != nil {
		l.home.refuse(l, "a wrong answer of a read: "+err.Error())
	}
	return a, lines, err
}

// met returns a machine's connection, once it said hello.
func (h *Home) met(machine string) *link {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.links[machine]; l != nil && l.met() {
		return l
	}
	return nil
}

// reader implements elsewhere.
func (h *Home) reader(machine string) logReader {
	if l := h.met(machine); l != nil {
		return l
	}
	return nil
}

func (l *link) ended() <-chan struct{} { return l.ctx.Done() }

func (l *link) refuse(why string) { l.home.refuse(l, why) }

// cutsApart is the shortest time between two cuts of one copy over one connection. A machine
// loses events at its start, and removes old ones about once a day.
const cutsApart = 10 * time.Minute

// mayCut reports whether a session's log may have lost events.
func (l *link) mayCut(id string) bool {
	l.cutting.Lock()
	defer l.cutting.Unlock()
	now := l.home.now()
	if at, before := l.cut[id]; before && now.Sub(at) < cutsApart {
		return false
	}
	if l.cut == nil {
		l.cut = map[string]time.Time{}
	}
	l.cut[id] = now
	return true
}

// uncut takes back that a session's log lost events.
func (l *link) uncut(id string) {
	l.cutting.Lock()
	defer l.cutting.Unlock()
	delete(l.cut, id)
}
