package config

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// wholeCount is a number of the file that checkCount has nothing against.
func wholeCount(v float64) (int, error) {
	n, err := whole(v)
	if err != nil {
		return 0, err
	}
	return n, checkCount(n)
}

// whole is a number of the file without a fraction.
func whole(v float64) (int, error) {
	if v != math.Trunc(v) || math.Abs(v) > 1e15 {
		return 0, fmt.Errorf("%s is not a whole number", strconv.FormatFloat(v, 'f', -1, 64))
	}
	return int(v), nil
}

// wholeOrNone is a number of the file where 0 has a meaning of its own.
func wholeOrNone(v float64) (int, error) {
	n, err := whole(v)
	if err != nil || n == 0 {
		return 0, err
	}
	return n, checkCount(n)
}

func checkCount(n int) error {
	if n < 1 || n > 1_000_000 {
		return fmt.Errorf("%d is not between 1 and 1000000", n)
	}
	return nil
}

// checkSize is checkCount where 0 means no bound.
func checkSize(n int) error {
	if n < 0 || n > 1_000_000_000 {
		return fmt.Errorf("%d is not between 1 and 1000000000, nor 0, which keeps everything", n)
	}
	return nil
}

// setSeconds reads a duration of at least a second, if there is one.
func setSeconds(to *time.Duration, s *string) error {
	if s == nil {
		return nil
	}
	if err := setDuration(to, *s); err != nil {
		return err
	}
	if *to < time.Second {
		return fmt.Errorf("%q is not at least a second", *s)
	}
	return nil
}

// setDuration reads 250ms, 5s, 1h30m; a bare 0 needs no unit.
func setDuration(to *time.Duration, s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration such as 250ms, 5s or 1h", s)
	}
	*to = d
	return nil
}
