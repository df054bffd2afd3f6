package wire

import "time"

// Device is a paired browser or a token.
type Device struct {
	ID string `json:"id"`
	// Kind is device (a paired browser) or token.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Scope is owner, collaborator or viewer.
	Scope string `json:"scope"`
	// SessionID is the one session that it has access to; absent is all of them.
	SessionID string    `json:"session_id,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// LastUsed is exact to about an hour; it is absent in the first hour.
	LastUsed  *time.Time `json:"last_used,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	// AskedBy is the process that made the token, as it said.
	AskedBy string `json:"asked_by,omitempty"`
	// Current marks the credential of the request.
	Current bool `json:"current,omitempty"`
}

// Devices lists the paired browsers and tokens.
type Devices struct {
	Devices []Device `json:"devices"`
}

// SeenDevices says that the owner has seen the devices and tokens made until then, on
// any device.
type SeenDevices struct {
	Until time.Time `json:"until"`
}

// DevicePatch renames a device or a token.
type DevicePatch struct {
	// Name has at most 64 characters.
	Name string `json:"name"`
}

// NewPairing asks for a link that pairs another browser.
type NewPairing struct{}

// PairingLink pairs one browser, once.
type PairingLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
	// ExpiresIn is the seconds until then, for a client whose clock differs from the hub's.
	ExpiresIn int `json:"expires_in"`
	// Loopback means that the link opens on the hub's machine only, or through a
	// tunnel.
	Loopback bool `json:"loopback"`
	// QR is the link as a QR code: rows of "1" for black and "0" for white.
	QR []string `json:"qr"`
}

// Pair redeems a pairing code.
type Pair struct {
	Code string `json:"code"`
	// Device is this browser's name in the list of devices.
	Device string `json:"device,omitempty"`
	// PageKey is the page's public key: the uncompressed point of P-256 in
	// base64url. The page keeps the private key.
	PageKey string `json:"page_key"`
}

// Paired is the page's device and its first page token.
type Paired struct {
	Device
	Page PageToken `json:"page"`
}

// PageProof exchanges a signed challenge for a page token.
type PageProof struct {
	Challenge string `json:"challenge"`
	// Signature is the page's signature of "abide-page\n", the origin, "\n" and the
	// challenge: ECDSA with SHA-256, r and s of 32 bytes each, in base64url.
	Signature string `json:"signature"`
}

// PageToken is sent as the header Abide-Page beside the cookie.
type PageToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// SignedAddress is an address that a browser can fetch with its cookie alone.
type SignedAddress struct {
	Address   string    `json:"address"`
	ExpiresAt time.Time `json:"expires_at"`
}
