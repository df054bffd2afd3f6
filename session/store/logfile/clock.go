package logfile

import "time"

// clockTrust is how long a log counts on from a time of day. The clock may be set,
// and does not count while the machine sleeps.
const clockTrust = 10 * time.Millisecond

// Clock tells when a line is written. time.Now asks the machine twice, for the
// time of day and for a monotonic one; in a burst only the second is asked, which
// is a fiftieth of an append less. One goroutine uses it. The zero Clock
// reads the machine's time.
type Clock struct {
	// Now is asked instead of the machine, if it is set. It is not changed after the first
	// Read.
	Now func() time.Time

	asked time.Time // when the time of day was asked for
	nanos int64     // the last time read, since 1970
}

// Read is the time now. It is an error outside the years 1 to 9999.
func (c *Clock) Read() (Stamp, error) {
	if c.Now != nil {
		return StampOf(c.Now())
	}
	since := time.Since(c.asked)
	if since < 0 || since >= clockTrust {
		c.asked, since = time.Now(), 0
		c.nanos = c.asked.UnixNano()
	}
	return Stamp((c.nanos + int64(since)) / 1000), nil
}

// Stamp is a time in microseconds since 1970, which is how exact lines are.
type Stamp int64

// The seconds that RFC 3339 can write: those of the years 1 to 9999.
const (
	minSecond = -62_135_596_800
	maxSecond = 253_402_300_799
)

// StampOf cuts a time to microseconds. It is an error outside the years 1 to 9999.
func StampOf(t time.Time) (Stamp, error) {
	second := t.Unix()
	if second < minSecond || second > maxSecond {
		return 0, errTime
	}
	return Stamp(second*1e6 + int64(t.Nanosecond()/1000)), nil
}

// Time is the time in UTC.
func (s Stamp) Time() time.Time { return time.UnixMicro(int64(s)).UTC() }
