package store

import "time"

// clockTrust is how long a log counts on from a time of day. The clock may be set,
// and does not count while the machine sleeps.
const clockTrust = 10 * time.Millisecond

// clock tells when a line is written. time.Now asks the machine twice, for the
// time of day and for a monotonic one; in a burst only the second is asked, which
// is a fiftieth of an append less. One goroutine uses it.
type clock struct {
	now func() time.Time // set at construction; nil for the machine's time

	asked time.Time // when the time of day was asked for
	nanos int64     // what it was, since 1970
}

func (c *clock) read() (stamp, error) {
	if c.now != nil {
		return stampOf(c.now())
	}
	since := time.Since(c.asked)
	if since < 0 || since >= clockTrust {
		c.asked, since = time.Now(), 0
		c.nanos = c.asked.UnixNano()
	}
	return stamp((c.nanos + int64(since)) / 1000), nil
}

// stamp is a time in microseconds since 1970, which is how exact lines are.
type stamp int64

// The seconds that RFC 3339 can write: those of the years 1 to 9999.
const (
	minSecond = -62_135_596_800
	maxSecond = 253_402_300_799
)

func stampOf(t time.Time) (stamp, error) {
	second := t.Unix()
	if second < minSecond || second > maxSecond {
		return 0, errTime
	}
	return stamp(second*1e6 + int64(t.Nanosecond()/1000)), nil
}

func (s stamp) time() time.Time { return time.UnixMicro(int64(s)).UTC() }
