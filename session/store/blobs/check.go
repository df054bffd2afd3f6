package blobs

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"iter"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
)

// Check verifies each blob that a session's events name, once. It is not safe for
// concurrent use.
type Check struct {
	fs  disk.FS
	dir string

	seen map[event.Blob]bool // checked blobs, and whether they are sound
}

// NewCheck returns a check of the blobs in a session's directory.
func NewCheck(fsys disk.FS, session string) *Check {
	return &Check{fs: fsys, dir: filepath.Join(session, Dir)}
}

// References yields every blob that a payload, given as decoded JSON, names.
func References(v any) iter.Seq[event.Blob] {
	return func(yield func(event.Blob) bool) { eachReference(v, yield) }
}

// eachReference returns false once yield wants no more.
func eachReference(v any, yield func(event.Blob) bool) bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if !eachReference(item, yield) {
				return false
			}
		}
	case map[string]any:
		if blob, ok := v["blob"].(map[string]any); ok && len(v) == 2 {
			sha, isSHA := blob["sha256"].(string)
			size, isSize := blob["bytes"].(float64)
			return !isSHA || !isSize || yield(event.Blob{SHA256: sha, Bytes: int64(size)})
		}
		for _, item := range v {
			if !eachReference(item, yield) {
				return false
			}
		}
	}
	return true
}

// Sound reports whether a blob exists with the right bytes.
func (c *Check) Sound(b event.Blob) bool {
	sound, known := c.seen[b]
	if known {
		return sound
	}
	if c.seen == nil {
		c.seen = map[event.Blob]bool{}
	}
	sound = c.look(b)
	c.seen[b] = sound
	return sound
}

func (c *Check) look(b event.Blob) bool {
	if raw, err := hex.DecodeString(b.SHA256); err != nil || len(raw) != sha256.Size {
		return false
	}
	f, err := c.fs.Open(filepath.Join(c.dir, b.SHA256))
	if err != nil {
		return false
	}
	defer f.Close() // only read from
	hash := sha256.New()
	n, err := io.Copy(hash, io.NewSectionReader(f, 0, b.Bytes+1))
	return err == nil && n == b.Bytes && hex.EncodeToString(hash.Sum(nil)) == b.SHA256
}
