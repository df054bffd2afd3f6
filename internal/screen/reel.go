package screen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/playback"
)

// reel plays a session: it shows each event when it is due. The goroutine of run has all of
// it but orders; the screen gives it orders, and takes what it shows.
type reel struct {
	pages  pages
	player *playback.Player
	pace   playback.Pace
	moving bool
	orders chan order
	next   order // the one that ended what played
	send   func(tea.Msg)
}

// order is a key of a person who watches. They are those of the app's Play.
type order string

// orders are what the keys do.
func orders() []order {
	return []order{orderToggle, orderBack, orderStep, orderLastTurn, orderNextTurn, orderSlower, orderFaster, orderLoop, orderBegin, orderEnd}
}

const (
	orderToggle   order = "space"
	orderBack     order = ","
	orderStep     order = "."
	orderLastTurn order = "{"
	orderNextTurn order = "}"
	orderSlower   order = "<"
	orderFaster   order = ">"
	orderLoop     order = "r"
	orderBegin    order = "home"
	orderEnd      order = "end"
)

// speeds are those that the keys choose from.
func speeds() []float64 { return []float64{0.5, 1, 2, 4, 8, 16} }

// reeled is what a reel shows.
type reeled struct {
	reel   *reel
	at     event.Seq
	last   event.Seq // of the tape
	time   time.Time // of the newest event that is shown
	moving bool
	pace   playback.Pace
	// event is the one that was due; nil if there is none.
	event *event.Event
	// page is what is shown in place of all that was, after a jump; nil without one.
	page *wire.EventsLoaded
	err  error
}

// Pace says how a session is played, and from where.
type Pace struct {
	Speed float64
	Idle  time.Duration
	Loop  bool
	// From finds the event to begin with, of a player that is loaded; nil begins at the first.
	From func(context.Context, *playback.Player) (event.Seq, error)
}

func newReel(p pages, first event.Seq, pace Pace, send func(tea.Msg)) *reel {
	return &reel{
		pages: p, player: playback.NewPlayer(p, first), moving: true, orders: make(chan order, 16), send: send,
		pace: playback.Pace{Speed: pace.Speed, Idle: pace.Idle, Loop: pace.Loop},
	}
}

// order gives it an order. One too many is dropped.
func (r *reel) order(o order) {
	select {
	case r.orders <- o:
	default:
	}
}

// run plays until ctx ends.
func (r *reel) run(ctx context.Context, from func(context.Context, *playback.Player) (event.Seq, error)) {
	err := r.player.Load(ctx)
	to := r.player.First()
	if err == nil && from != nil {
		to, err = from(ctx, r.player)
	}
	if err == nil {
		err = r.jump(ctx, to-1)
	}
	for err == nil {
		if r.moving {
			err = r.play(ctx)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case o := <-r.orders:
			err = r.carry(ctx, o)
		}
	}
	if ctx.Err() == nil {
		r.tell(reeled{err: err})
	}
}

// errOrdered ends what plays, because there is an order.
var errOrdered = errors.New("there is an order")

// play plays until an order or the end.
func (r *reel) play(ctx context.Context) error {
	pace := r.pace
	pace.Loop = false
	pace.Wait = func(ctx context.Context, pause, _ time.Duration) error {
		select {
		case <-time.After(pause):
			return nil
		case r.next = <-r.orders:
			return errOrdered
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := r.player.Play(ctx, pace, func(e event.Event) error {
		r.tell(reeled{event: &e, time: e.Time})
		select {
		case r.next = <-r.orders:
			return errOrdered
		default:
			return ctx.Err()
		}
	})
	switch {
	case errors.Is(err, errOrdered):
		return r.carry(ctx, r.next)
	case err != nil:
		return err
	case r.pace.Loop && r.player.Last() >= r.player.First():
		return r.jump(ctx, r.player.First()-1)
	}
	r.moving = false
	r.tell(reeled{})
	return nil
}

// carry carries out an order.
func (r *reel) carry(ctx context.Context, o order) error {
	at, first, last := r.player.Seq(), r.player.First(), r.player.Last()
	switch o {
	case orderToggle:
		r.moving = !r.moving
		if r.moving && at == last {
			return r.jump(ctx, first-1)
		}
	case orderBack, orderStep:
		r.moving = false
		by := map[order]event.Seq{orderBack: -1, orderStep: 1}[o]
		return r.jump(ctx, max(first-1, min(at+by, last)))
	case orderLastTurn, orderNextTurn:
		return r.jump(ctx, r.turn(o == orderNextTurn))
	case orderSlower, orderFaster:
		r.faster(o == orderFaster)
	case orderLoop:
		r.pace.Loop = !r.pace.Loop
	case orderBegin:
		return r.jump(ctx, first-1)
	case orderEnd:
		return r.jump(ctx, last)
	}
	r.tell(reeled{})
	return nil
}

// turn is where the next turn begins, or the one before.
func (r *reel) turn(next bool) event.Seq {
	at, to := r.player.Seq(), r.player.First()-1
	for _, t := range r.player.Overview().Turns {
		if next && t.Seq > at {
			return t.Seq
		}
		if !next && t.Seq < at {
			to = t.Seq
		}
	}
	if next {
		return r.player.Last()
	}
	return to
}

func (r *reel) faster(up bool) {
	all := speeds()
	if up {
		if i := slices.IndexFunc(all, func(s float64) bool { return s > r.pace.Speed }); i >= 0 {
			r.pace.Speed = all[i]
		}
		return
	}
	for _, s := range slices.Backward(all) {
		if s < r.pace.Speed {
			r.pace.Speed = s
			return
		}
	}
}

// jump goes to the moment after an event, and shows what lies before.
func (r *reel) jump(ctx context.Context, to event.Seq) error {
	if err := r.player.Seek(ctx, to); err != nil {
		return err
	}
	page := &wire.EventsLoaded{}
	if to >= r.player.First() {
		found, err := r.pages.before(ctx, to+1)
		if err != nil {
			return err
		}
		page = &found
	}
	shown := reeled{page: page}
	if n := len(page.Events); n > 0 {
		shown.time = page.Events[n-1].Time
	}
	r.tell(shown)
	return nil
}

// tell shows something.
func (r *reel) tell(shown reeled) {
	shown.reel, shown.at, shown.last, shown.moving, shown.pace = r, r.player.Seq(), r.player.Last(), r.moving, r.pace
	r.send(shown)
}

// words say where a reel is.
func (s reeled) words() string {
	how := "stopped"
	if s.moving {
		how = "playing"
	}
	text := fmt.Sprintf("%s %g× · event %d / %d", how, s.pace.Speed, s.at, s.last)
	if s.pace.Loop {
		text += " · again and again"
	}
	if !s.time.IsZero() {
		text += " · " + s.time.Local().Format("15:04:05")
	}
	return text
}
