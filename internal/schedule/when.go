package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a machine need not have the zones

	cron "github.com/netresearch/go-cron"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

// leastEvery and mostEvery bound the distance of two runs.
const (
	leastEvery = 10 * time.Second
	mostEvery  = 366 * 24 * time.Hour
)

// when are the due times of a schedule.
type when struct {
	from  time.Time     // of every
	every time.Duration // 0 with cron
	until time.Time     // zero is never
	spec  cron.Schedule
	zone  *time.Location
	// hourly means that the hours of the expression are *, or steps of it.
	hourly bool
}

// whenOf checks what a request says of its times, counted from then on.
func whenOf(in wire.NewSchedule, from time.Time) (when, error) {
	w := when{from: from, zone: time.Local}
	if in.Until != nil {
		w.until = *in.Until
	}
	switch {
	case (in.Cron == "") == (in.Every == ""):
		return w, state.About("every", fmt.Errorf("%w: a schedule has either cron or every", state.ErrInvalid))
	case in.Every != "":
		return w.ofEvery(in)
	}
	if in.Zone != "" {
		zone, err := time.LoadLocation(in.Zone)
		if err != nil {
			return w, state.About("zone", fmt.Errorf("%w: there is no time zone %q: name one like Europe/Berlin, or leave zone out", state.ErrInvalid, in.Zone))
		}
		w.zone = zone
	}
	fields := strings.Fields(in.Cron)
	if len(fields) != 5 || strings.Contains(in.Cron, "=") || len(in.Cron) > 200 {
		return w, state.About("cron", fmt.Errorf("%w: cron has five fields: minute, hour, day of the month, month, day of the week", state.ErrInvalid))
	}
	spec, err := cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(in.Cron)
	if err != nil {
		return w, state.About("cron", fmt.Errorf("%w: cron %q cannot be read: %s", state.ErrInvalid, in.Cron, err))
	}
	w.spec, w.hourly = spec, strings.HasPrefix(fields[1], "*")
	return w, state.About("cron", w.comes(from))
}

func (w when) ofEvery(in wire.NewSchedule) (when, error) {
	every, err := time.ParseDuration(in.Every)
	switch {
	case err != nil:
		return w, state.About("every", fmt.Errorf("%w: every is a duration like 30m or 24h, not %q", state.ErrInvalid, in.Every))
	case every < leastEvery, every > mostEvery:
		return w, state.About("every", fmt.Errorf("%w: every is at least 10s and at most a year (8784h)", state.ErrInvalid))
	case in.Zone != "":
		return w, state.About("zone", fmt.Errorf("%w: zone belongs to cron: leave it out with every", state.ErrInvalid))
	}
	w.every = every
	return w, state.About("every", w.comes(w.from))
}

// comes refuses times of which none comes.
func (w when) comes(from time.Time) error {
	if w.after(from).IsZero() {
		return fmt.Errorf("%w: there is no such time after now: the schedule would never run", state.ErrInvalid)
	}
	return nil
}

// after is the first due time after t, zero if there is none.
func (w when) after(t time.Time) time.Time {
	next := w.beyond(t)
	if next.IsZero() || !w.until.IsZero() && next.After(w.until) {
		return time.Time{}
	}
	return next.UTC()
}

func (w when) beyond(t time.Time) time.Time {
	if w.every > 0 {
		if t.Before(w.from) {
			return w.from.Add(w.every)
		}
		return w.from.Add((t.Sub(w.from)/w.every + 1) * w.every)
	}
	next := w.spec.Next(t.In(w.zone))
	for !next.IsZero() && !w.hourly && again(next) {
		next = w.spec.Next(next)
	}
	return next
}

// again reports whether the clock on the wall has shown t before, because it was put back
// at the end of summer time: by an hour, or by half of one.
func again(t time.Time) bool {
	for _, back := range []time.Duration{time.Hour, time.Hour / 2} {
		if b := t.Add(-back); b.Day() == t.Day() && b.Hour() == t.Hour() && b.Minute() == t.Minute() {
			return true
		}
	}
	return false
}
