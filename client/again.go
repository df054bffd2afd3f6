package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/url"
	"time"
)

const (
	// attempts and attemptPause bound how often a request is sent again after its answer
	// was lost, as when the hub is being started again.
	attempts     = 20
	attemptPause = 500 * time.Millisecond
)

// Again sends a request until an answer comes: 20 times at most, half a second apart. The
// request carries a key of its own, as NewKey makes, so that sending it twice does it once.
func Again[T any](ctx context.Context, send func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		answer, err := send()
		lost := (*url.Error)(nil)
		if !errors.As(err, &lost) || try == attempts {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(attemptPause):
		}
	}
}

// NewKey is a name for one request, or for one prompt.
func NewKey() string {
	key := make([]byte, 16)
	rand.Read(key)
	return hex.EncodeToString(key)
}
