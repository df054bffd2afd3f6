// Package auth authenticates requests and decides what each credential may do.
//
// Every request passes three checks in this order (see Door): is it addressed to
// this hub (Host), does it come from this hub's own pages (Origin), does it have a
// valid credential. The rights of a credential are its Grant, stored in a Registry,
// the file auth.json of the data directory:
//
//	{"format":1,"secret":"…","pairing":[{"hash","created_at","expires_at"}],
//	 "devices":[{"id","name","scope","hash","page_key","created_at","last_used"}],
//	 "tokens":[{"id","name","scope","session_id","hash","created_at","expires_at",
//	   "asked_by","during_turn"}],"seen":"…"}
//
// The file has mode 0600 and contains no credential: a hash is the HMAC-SHA256,
// under the file's own secret, of 256 (devices, tokens) or 80 (pairing codes)
// random bits. page_key is the public key of the device's page. The file is always
// replaced as a whole, under a lock on auth.lock, so `abide token` and `abide pair`
// work while the hub runs.
package auth

import (
	"errors"
	"time"
)

// Lifetimes of credentials.
const (
	// PairingLife is how long a pairing code is valid.
	PairingLife = 2 * time.Minute
	// DeviceIdle is how long a device stays valid without use.
	DeviceIdle = 30 * 24 * time.Hour
	// DeviceLife is how long a device stays valid at most.
	DeviceLife = 180 * 24 * time.Hour
)

// Errors of credentials and of requests about them.
var (
	// ErrUnknown means that the hub does not hold the credential: it never existed,
	// was redeemed, has expired or was revoked. The requester cannot tell which.
	ErrUnknown = errors.New("unknown credential")
	// ErrNotFound means that there is no device or token with the id.
	ErrNotFound = errors.New("no such device or token")
	// ErrInvalid means that the requested grant is not allowed.
	ErrInvalid = errors.New("invalid grant")
	// ErrNoSpace means that the device is full; the request may be retried.
	ErrNoSpace = errors.New("no space left for credentials")
)
