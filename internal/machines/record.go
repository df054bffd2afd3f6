package machines

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
)

const (
	recordFormat = 1
	recordName   = "machines.json"
	// LinkLife is how long a link to join is valid.
	LinkLife = 10 * time.Minute
	// mostLinks limits the open links: the oldest go.
	mostLinks = 100
)

// record is the content of machines.json. It has hashes of secrets of 256 bits, and no
// secret.
type record struct {
	Format   int             `json:"format"`
	Machines []machineRecord `json:"machines"`
	Links    []linkRecord    `json:"links,omitempty"`
}

type machineRecord struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Hash     string    `json:"hash"`
	Allow    Allow     `json:"allow"`
	Version  string    `json:"version,omitempty"`
	JoinedAt time.Time `json:"joined_at"`
	// LastSeen is when its last connection ended, or began if that is not known.
	LastSeen time.Time `json:"last_seen,omitzero"`
}

type linkRecord struct {
	Hash      string    `json:"hash"`
	ExpiresAt time.Time `json:"expires_at"`
}

func recordFile(dir string) jsonfile.File[record] {
	return jsonfile.File[record]{
		Files: disk.Folder{Dir: dir}, Name: recordName, Damage: jsonfile.Refuse, Indent: true, Remedy: "move it away and let every machine join again",
		Check: func(r record) error { return jsonfile.Format(r.Format, recordFormat) },
	}
}

func (r *record) clone() record {
	return record{r.Format, slices.Clone(r.Machines), slices.Clone(r.Links)}
}

func (r *record) machine(id string) *machineRecord {
	for i := range r.Machines {
		if r.Machines[i].ID == id {
			return &r.Machines[i]
		}
	}
	return nil
}

// newSecret returns 256 random bits and their hash.
func newSecret() (secret, hash string) {
	var bits [32]byte
	rand.Read(bits[:])
	secret = hex.EncodeToString(bits[:])
	return secret, hashOf(secret)
}

func hashOf(secret string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(secret))) }
