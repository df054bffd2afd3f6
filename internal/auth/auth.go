// Package auth authenticates requests and decides what each credential may do.
//
// Every request passes three gates in one order (see Door): is it addressed to this
// hub (Host), does it come from this hub's own pages (Origin), does it carry a
// credential. The rights of a credential are its Grant, kept in a Registry, the
// file auth.json of the data directory:
//
//	{"format":1,"secret":"…","pairing":[{"hash","created_at","expires_at"}],
//	 "devices":[{"id","name","scope","hash","page_key","created_at","last_used"}],
//	 "tokens":[{"id","name","scope","session_id","hash","created_at","expires_at"}]}
//
// The file is 0600 and holds no credential: a hash is the HMAC-SHA256, under
// the file's own secret, of 256 (devices, tokens) or 80 (pairing codes) random
// bits. page_key is the public key of the device's page. The file is only ever
// replaced whole, under a lock on auth.lock beside it, so `abide token` and
// `abide pair` work while the hub runs.
package auth

import (
	"errors"
	"time"
)

// How long credentials live.
const (
	// PairingLife is how long a pairing code may wait for its browser.
	PairingLife = 2 * time.Minute
	// DeviceIdle ends a device that was not used for this long.
	DeviceIdle = 30 * 24 * time.Hour
	// DeviceLife ends a device, also one in use.
	DeviceLife = 180 * 24 * time.Hour
)

// Errors of credentials and of requests about them.
var (
	// ErrUnknown reports a credential the hub does not hold: never given out,
	// spent, expired or revoked. Nothing tells these apart for the presenter.
	ErrUnknown = errors.New("unknown credential")
	// ErrNotFound reports a device or token id the registry does not hold.
	ErrNotFound = errors.New("no such device or token")
	// ErrInvalid reports a grant that must not be made.
	ErrInvalid = errors.New("invalid grant")
	// ErrNoSpace says that the device is full; the same may be tried again.
	ErrNoSpace = errors.New("no space left for credentials")
)
