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

// How long the proofs of a page live, at most until the hub ends.
const (
	// PageLife is how long a page token is good for.
	PageLife = 24 * time.Hour
	// AddressLife is how long a signed address is good for.
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

// signedText is the text that a page signs with its key: the challenge is good for
// nothing at another origin.
func signedText(origin, challenge string) string {
	return "abide-page\n" + origin + "\n" + challenge
}

// seals makes and checks the texts that a page holds as the second half of its
// device's cookie: challenges, page tokens and the signatures of addresses. A
// seal is its end and a MAC under a key that lives as long as the process, so
// nothing is stored, and a seal that a page hands to another program on the
// hub's port, which can only listen there while the hub is down, is worthless
// once the hub is back.
type seals struct {
	key [32]byte
	now func() time.Time
}

func newSeals(now func() time.Time) *seals {
	s := &seals{now: now}
	rand.Read(s.key[:])
	return s
}

// make seals the parts for a life. The first part is the purpose of the seal.
func (s *seals) make(life time.Duration, parts ...string) (seal string, until time.Time) {
	until = s.now().Add(life).UTC().Truncate(time.Second)
	raw := binary.BigEndian.AppendUint64(nil, uint64(until.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(raw, s.mac(raw, parts)...)), until
}

// good reports whether make returned the seal for the same parts and its life
// has not ended.
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
		// With its length: no two lists of parts are the same bytes.
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

// signed reports whether the signature, as WebCrypto makes it (r and s of 32
// bytes each, in base64url), is of the text and by the key.
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
