package journal

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// ValidID reports whether id has the form of a session id: 8 to 64 lower-case
// letters, digits and dashes. Only such a string is ever made part of a path.
func ValidID(id string) bool {
	if len(id) < 8 || len(id) > 64 {
		return false
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// NewID makes a session id, YYYYMMDD-HHMMSS-xxxxxxxx, in UTC.
func NewID(at time.Time) string {
	return at.UTC().Format("20060102-150405-") + randomHex(4)
}

// NewEpoch makes the identity of a log: 64 random bits as 16 hex digits.
func NewEpoch() string { return randomHex(8) }

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: the program ends if there is no randomness
	return hex.EncodeToString(b)
}
