package machines

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

const (
	// mostReads limits the reads that wait at once.
	mostReads = 4096
	// mostReadWait limits how long a read waits for news.
	mostReadWait = 10 * time.Second
)

// Session is a session of this hub, as home reads it.
type Session interface {
	Log() journal.Log
	// State is the frame state as JSON; nil while it is not known. StateChanged is its bell:
	// take it before.
	State() ([]byte, error)
	StateChanged() <-chan struct{}
	// Done is closed when the session is closed here.
	Done() <-chan struct{}
}

// takeRead answers with what is new in a log.
func (s *serving) takeRead(m *nats.Msg) {
	var head readHead
	if _, err := parse(m.Data, &head); err != nil {
		return
	}
	s.mu.Lock()
	full := s.reads >= mostReads
	if !full {
		s.reads++
	}
	s.mu.Unlock()
	if full {
		_ = m.Respond(message(linesHead{Error: "too many reads at once"}, nil))
		return
	}
	s.wait.Go(func() {
		defer func() {
			s.mu.Lock()
			s.reads--
			s.mu.Unlock()
		}()
		_ = m.Respond(s.news(s.ctx, head))
	})
}

func (s *serving) news(ctx context.Context, q readHead) []byte {
	head, lines, err := s.await(ctx, q)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return message(linesHead{Error: readGone}, nil)
	case err != nil:
		s.member.o.Logger.Debug("a read by home failed", "session", q.SessionID, "err", err)
		return message(linesHead{Error: state.Words(err)}, nil)
	}
	return message(head, lines)
}

// await waits for what is new, at most as long as home wants.
func (s *serving) await(ctx context.Context, q readHead) (linesHead, []byte, error) {
	one, err := s.hub.Open(ctx, q.SessionID)
	if err != nil {
		return linesHead{}, nil, err
	}
	log := one.Log()
	if q.Sum != "" {
		switch sum, err := lineSum(ctx, log, q.After); {
		case err != nil:
			return linesHead{}, nil, err
		case sum != q.Sum:
			return linesHead{Other: true}, nil, nil
		}
	}
	over := time.NewTimer(min(time.Duration(q.Wait)*time.Millisecond, mostReadWait))
	defer over.Stop()
	for last := q.Wait <= 0; ; {
		changed, stateChanged := log.Changed(), one.StateChanged()
		if q.After == 0 {
			q.After = log.Marks().Min - 1 // what retention removed is in no copy
		}
		lines, err := log.ReadLines(ctx, q.After, min(max(q.Most, 1), partBytes))
		if errors.Is(err, journal.ErrRemoved) {
			return linesHead{Other: true}, nil, nil
		} else if err != nil {
			return linesHead{}, nil, err
		}
		now, err := one.State()
		if err != nil {
			return linesHead{}, nil, err
		}
		head := linesHead{File: lines.File, Last: lines.Last, Epoch: log.Epoch()}
		if len(now) > 0 && sumOf(now) != q.State {
			head.State = now
		}
		if last || len(lines.Lines) > 0 || head.State != nil {
			return head, lines.Lines, nil
		}
		select {
		case <-changed:
		case <-stateChanged:
		case <-one.Done():
			last = true
		case <-over.C:
			last = true
		case <-ctx.Done():
			return linesHead{}, nil, ctx.Err()
		}
	}
}
