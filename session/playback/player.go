package playback

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
)

const (
	// keyEvery is how many events lie between two places that are held at first, and
	// maxKeys how many there are before every second one is dropped.
	keyEvery = 500
	maxKeys  = 4096
	// loadBytes and seekBytes are how much of a log is read at once.
	loadBytes, seekBytes = 1 << 20, 64 << 10
)

// ErrEnd reports a step beyond either end of the log.
var ErrEnd = errors.New("the session has no event there")

// Player moves through a session's events. It holds some of the places in the log,
// and reads the events between them from the source when they are asked for. One
// goroutine uses it.
type Player struct {
	source      observer.Source
	first, last event.Seq
	every       event.Seq
	keys        []place // at first-1, and then after every `every` events
	end         place   // at last
	fold        *Fold
	now         place
}

// place is the moment after an event. At is the latest time up to it: clocks may go
// back.
type place struct {
	Seq event.Seq
	At  time.Time
}

func (p *place) pass(e event.Event) {
	p.Seq = e.Seq
	if e.Time.After(p.At) {
		p.At = e.Time
	}
}

// NewPlayer returns a player of the log that begins at the seq first. It stands
// before it.
func NewPlayer(source observer.Source, first event.Seq) *Player {
	start := place{Seq: first - 1}
	return &Player{source: source, first: first, last: first - 1, every: keyEvery, keys: []place{start}, end: start, fold: NewFold(""), now: start}
}

// Load reads the source's events so far. Again, it goes on from where it ended: a
// live session is followed by that.
func (p *Player) Load(ctx context.Context) error {
	err := observer.New(p.source, p, p.last, loadBytes).CatchUp(ctx)
	if err != nil {
		return fmt.Errorf("load a session: %w", err)
	}
	return nil
}

// Deliver implements observer.Sink for Load.
func (p *Player) Deliver(_ context.Context, b event.Batch) error {
	if err := p.fold.Apply(b); err != nil {
		return err
	}
	for g := range b.Headers() {
		e, err := g.Event()
		if err != nil {
			return err
		}
		p.end.pass(e)
		p.last = e.Seq
		if (p.last-p.first+1)%p.every == 0 {
			p.keep()
		}
	}
	return nil
}

// keep keeps the place. Where there are too many, they become fewer.
func (p *Player) keep() {
	p.keys = append(p.keys, p.end)
	if len(p.keys) <= maxKeys {
		return
	}
	kept := p.keys[:0]
	for i, key := range p.keys {
		if i%2 == 0 {
			kept = append(kept, key)
		}
	}
	p.keys, p.every = kept, p.every*2
}

// Seq is the last event that has been played; Last the last that is loaded.
func (p *Player) Seq() event.Seq { return p.now.Seq }

// First is the first event of the log.
func (p *Player) First() event.Seq { return p.first }

// Last is the last event that is loaded.
func (p *Player) Last() event.Seq { return p.last }

// Overview covers the loaded events. It is not to be changed.
func (p *Player) Overview() *Overview { return &p.fold.Overview }

// Seek goes to the moment after an event; first-1 is the beginning. ErrEnd for an
// event that is not loaded.
func (p *Player) Seek(ctx context.Context, to event.Seq) error {
	if to < p.first-1 || to > p.last {
		return fmt.Errorf("%w: %d of %d to %d", ErrEnd, to, p.first, p.last)
	}
	at := sort.Search(len(p.keys), func(i int) bool { return p.keys[i].Seq > to }) - 1
	from := p.keys[at]
	if p.now.Seq <= to && p.now.Seq >= from.Seq {
		from = p.now
	}
	err := p.read(ctx, from.Seq, to, func(e event.Event) error { from.pass(e); return nil })
	if err != nil {
		return fmt.Errorf("go to event %d: %w", to, err)
	}
	p.now = from
	return nil
}

// read hands the events after one up to another to f.
func (p *Player) read(ctx context.Context, after, to event.Seq, f func(event.Event) error) error {
	sink := observer.Each(func(g event.Header) error {
		e, err := g.Event()
		if err != nil {
			return err
		}
		return f(e)
	})
	reader := observer.New(observer.UpTo(p.source, to), sink, after, seekBytes)
	if err := reader.CatchUp(ctx); err != nil {
		return err
	}
	if reader.Cursor() < to {
		return fmt.Errorf("%w: event %d is gone", ErrEnd, reader.Cursor()+1)
	}
	return nil
}

// Reset goes to the beginning.
func (p *Player) Reset(ctx context.Context) error { return p.Seek(ctx, p.first-1) }

// SeqAt is the first event at or after a time, by the latest time up to each event:
// clocks may go back. ErrEnd where all events are earlier.
func (p *Player) SeqAt(ctx context.Context, at time.Time) (event.Seq, error) {
	if p.last < p.first || p.end.At.Before(at) {
		return 0, fmt.Errorf("%w: all events are before %s", ErrEnd, at.Format(time.RFC3339))
	}
	i := sort.Search(len(p.keys), func(i int) bool { return p.keys[i].Seq >= p.first && !p.keys[i].At.Before(at) }) - 1
	found := event.Seq(0)
	err := p.read(ctx, p.keys[i].Seq, p.last, func(e event.Event) error {
		if e.Time.Before(at) {
			return nil
		}
		found = e.Seq
		return errFound
	})
	if errors.Is(err, errFound) {
		return found, nil
	}
	return 0, fmt.Errorf("look for %s: %w", at.Format(time.RFC3339), errors.Join(err, ErrEnd))
}

var errFound = errors.New("found")

// Pace is how Play goes.
type Pace struct {
	// Speed divides every pause; 0 is 1.
	Speed float64
	// Idle is the longest pause before Speed; 0 is Idle's default.
	Idle time.Duration
	// Loop begins again at the end.
	Loop bool
	// Wait returns after a pause, or when ctx ends. Gap is the pause as it was, longer
	// than Idle where it was squeezed. Nil waits.
	Wait func(ctx context.Context, pause, gap time.Duration) error
}

// Play shows the events after the player's place, each when it is due, until the last
// that is loaded.
func (p *Player) Play(ctx context.Context, pace Pace, show func(event.Event) error) error {
	if pace.Speed <= 0 {
		pace.Speed = 1
	}
	if pace.Idle == 0 {
		pace.Idle = Idle
	}
	if pace.Wait == nil {
		pace.Wait = wait
	}
	for {
		err := p.read(ctx, p.now.Seq, p.last, func(e event.Event) error {
			if gap := e.Time.Sub(p.now.At); gap > 0 && !p.now.At.IsZero() {
				pause := time.Duration(float64(min(gap, pace.Idle)) / pace.Speed)
				if err := pace.Wait(ctx, pause, gap); err != nil {
					return err
				}
			}
			p.now.pass(e)
			return show(e)
		})
		if err != nil || !pace.Loop || p.last < p.first {
			return err
		}
		if err := p.Reset(ctx); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, pause, _ time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
