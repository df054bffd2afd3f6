package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"time"
)

// Lifetimes of a page's proofs, which also end with the hub.
const (
	// PageLife is how long a page token is valid.
	PageLife = 24 * time.Hour
	// AddressLife is how long a signed address is valid.
	AddressLife = 10 * time.Minute

	challengeLife = 2 * time.Minute
)

// PageHeader carries the page token of a request. For a WebSocket, where a page
// cannot set headers, it is the subprotocol PageProtocol + token.
const (
	PageHeader   = "Abide-Page"
	PageProtocol = "abide.page."
)

// addressParam carries the signature of a signed address.
const addressParam = "signature"

// signedText is the text that a page signs with its key. It includes the origin, so
// the signature is invalid at another one.
func signedText(origin, challenge string) string {
	return "abide-page\n" + origin + "\n" + challenge
}

// seals makes and verifies the texts that a page holds as the second half of its
// device's cookie: challenges, page tokens and the signatures of addresses. A seal
// is its expiry and a MAC under a key of this process, so nothing is stored. A seal
// that a page sends to another program on the hub's port, which can only listen
// there while the hub is down, is invalid once the hub is back.
type seals struct {
	key [32]byte
	now func() time.Time
}

func newSeals(now func() time.Time) *seals {
	s := &seals{now: now}
	rand.Read(s.key[:])
	return s
}

// make seals the parts for a lifetime. The first part is the purpose of the seal.
func (s *seals) make(life time.Duration, parts ...string) (seal string, until time.Time) {
	until = s.now().Add(life).UTC().Truncate(time.Second)
	raw := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(raw, s.mac(raw, parts)...)), until
}

// good reports whether make returned the seal for the same parts and it has not
// expired.
func (s *seals) good(seal string, parts ...string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(seal)
	if err != nil || len(raw) != 8+sha256.Size {
		return false
	}
	until := time.Unix(int64(binary.BigEndian.Uint64(raw)), 0)
	return hmac.Equal(raw[8:], s.mac(raw[:8], parts)) && s.now().Before(until)
}

func (s *seals) mac(until []byte, parts []string) []byte {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write(until)
	for _, part := range parts {
		// Include the length, so that no two lists of parts have the same bytes.
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

// parsePageKey reads a page's public key as WebCrypto exports it: the
// uncompressed point of P-256, in base64url.
func parsePageKey(text string) (*ecdsa.PublicKey, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: the page's key is not base64url", ErrInvalid)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return nil, fmt.Errorf("%w: the page's key is not an uncompressed point of P-256", ErrInvalid)
	}
	return key, nil
}

// signed reports whether the signature, in WebCrypto's form (r and s of 32 bytes
// each, in base64url), is valid for the text and the key.
func signed(key, text, signature string) bool {
	public, err := parsePageKey(key)
	if err != nil {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || len(raw) != 64 {
		return false
	}
	hash := sha256.Sum256([]byte(text))
	return ecdsa.Verify(public, hash[:], new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:]))
}
