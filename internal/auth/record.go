package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
)

const recordFormat = 1

// record is the content of auth.json.
type record struct {
	Format  int             `json:"format"`
	Secret  []byte          `json:"secret"`
	Pairing []pairingRecord `json:"pairing"`
	Devices []grantRecord   `json:"devices"`
	Tokens  []grantRecord   `json:"tokens"`
	// Seen is when the newest credential was made that the owner has seen as new.
	Seen time.Time `json:"seen,omitzero"`
}

type pairingRecord struct {
	Hash      string    `json:"hash"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

type grantRecord struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Scope     Scope      `json:"scope"`
	SessionID string     `json:"session_id,omitempty"`
	Holder    string     `json:"holder,omitempty"`
	Hash      string     `json:"hash"`
	PageKey   string     `json:"page_key,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	LastUsed  time.Time  `json:"last_used,omitzero"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	AskedBy   string     `json:"asked_by,omitempty"`
	// DuringTurn says of a token with a holder whether an agent had a turn when the
	// hub met it; nil before that.
	DuringTurn *bool `json:"during_turn,omitempty"`
}

func (g grantRecord) grant(kind Kind) Grant {
	out := Grant{
		ID: g.ID, Kind: kind, Name: g.Name, Scope: g.Scope, SessionID: g.SessionID, Holder: g.Holder, PageKey: g.PageKey,
		CreatedAt: g.CreatedAt, LastUsed: g.LastUsed, AskedBy: g.AskedBy, Met: g.Holder == "" || g.DuringTurn != nil,
	}
	switch {
	case kind == KindDevice:
		out.ExpiresAt = g.CreatedAt.Add(DeviceLife)
	case g.ExpiresAt != nil:
		out.ExpiresAt = *g.ExpiresAt
	}
	return out
}

// live reports whether the credential is still valid. A clock set back does not
// extend the absolute expiry.
func (g grantRecord) live(kind Kind, now time.Time) bool {
	end := g.grant(kind).ExpiresAt
	if !end.IsZero() && !now.Before(end) {
		return false
	}
	if kind == KindDevice {
		return now.Before(g.lastSeen().Add(DeviceIdle))
	}
	return true
}

func (g grantRecord) lastSeen() time.Time {
	if g.LastUsed.After(g.CreatedAt) {
		return g.LastUsed
	}
	return g.CreatedAt
}

// prune removes ended credentials, to keep the file small.
func (r *record) prune(now time.Time) {
	r.Pairing = slices.DeleteFunc(r.Pairing, func(p pairingRecord) bool { return !now.Before(p.ExpiresAt) })
	r.Devices = slices.DeleteFunc(r.Devices, func(g grantRecord) bool { return !g.live(KindDevice, now) })
	r.Tokens = slices.DeleteFunc(r.Tokens, func(g grantRecord) bool { return !g.live(KindToken, now) })
}

func (r *record) clone() *record {
	c := *r
	c.Pairing = slices.Clone(r.Pairing)
	c.Devices = slices.Clone(r.Devices)
	c.Tokens = slices.Clone(r.Tokens)
	return &c
}

func fileOf(path string) jsonfile.File[record] {
	return jsonfile.File[record]{
		Files: disk.Folder{Dir: filepath.Dir(path)}, Name: filepath.Base(path), Damage: jsonfile.Refuse, Indent: true, Remedy: "move " + path + " away and pair every device again",
		Check: func(r record) error {
			if err := jsonfile.Format(r.Format, recordFormat); err != nil || len(r.Secret) >= 32 {
				return err
			}
			return errors.New("its secret is too short")
		},
	}
}

// readRecord reads the file and returns its version. For a missing file the record
// is nil. An invalid file is an error, because starting with an empty one would
// sign everybody out unnoticed.
func readRecord(path string) (*record, os.FileInfo, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading credentials: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("reading credentials: %w", err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, nil, fmt.Errorf("reading credentials: %w", err)
	}
	r, err := fileOf(path).Decode(data)
	if err != nil {
		return nil, nil, fmt.Errorf("reading credentials: %w", err)
	}
	return &r, info, nil
}

// writeRecord replaces the file whole and returns the new version. The caller
// holds the lock.
func writeRecord(path string, r *record) (os.FileInfo, error) {
	if err := fileOf(path).Write(*r); err != nil {
		return nil, writeError(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("writing credentials: %w", err)
	}
	return info, nil
}

// writeError describes a failed write, and whether the cause is missing space.
func writeError(err error) error {
	if disk.IsFull(err) {
		return fmt.Errorf("writing credentials: %w: %w", ErrNoSpace, err)
	}
	return fmt.Errorf("writing credentials: %w", err)
}

func (r *record) pairing(code string) bool {
	hash := r.hash(code)
	return slices.ContainsFunc(r.Pairing, func(p pairingRecord) bool { return sameHash(p.Hash, hash) })
}

func (r *record) grants(kind Kind) []grantRecord {
	if kind == KindDevice {
		return r.Devices
	}
	return r.Tokens
}

func (r *record) hash(secret string) string {
	mac := hmac.New(sha256.New, r.Secret)
	mac.Write([]byte(secret))
	return hex.EncodeToString(mac.Sum(nil))
}

func sameHash(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }
