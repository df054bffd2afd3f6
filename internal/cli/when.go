package cli

import (
	"context"
	"time"
)

// errTime is the cause of the end of a context whose time is over.
var errTime = withCode(ExitTimeout, "the time is over")

// limited is a context for a time; 0 is no limit.
func limited(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, limit, errTime)
}

// overTime is the error of a command that stays with a session, in place of err if its time
// is over.
func overTime(ctx context.Context, limit time.Duration, err error) error {
	if context.Cause(ctx) != errTime {
		return err
	}
	return withCode(ExitTimeout, "%s are over; the session continues", limit)
}

// timeOf reads a time that is to come: a time of the day, the next of its kind, a date with
// a time, or how long it is from now on.
func timeOf(text string, now time.Time) (*time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return &at, nil
	}
	if wait, err := time.ParseDuration(text); err == nil && wait > 0 {
		return new(now.Add(wait)), nil
	}
	clock, err := time.Parse("15:04", text)
	if err != nil {
		return nil, Usagef("%q is not a time: name one such as 15:04, 2026-02-21T15:04:00Z or 90m", text)
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = time.Date(now.Year(), now.Month(), now.Day()+1, clock.Hour(), clock.Minute(), 0, 0, now.Location())
	}
	return &at, nil
}
