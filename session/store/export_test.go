package store

import (
	"bytes"
	"context"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
)

// ErrNoFile refuses what is no regular file.
var ErrNoFile = disk.ErrNoFile

// VerifiedSeq is the seq of a line whose checksum is right and that a log could
// hold.
func VerifiedSeq(line []byte) (event.Seq, bool) {
	p, ok := parseVerified(line)
	return p.seq, ok
}

// CheckOn is Check on a file system.
func CheckOn(ctx context.Context, fsys FS, dir, id string) (Report, error) {
	return checkDir(ctx, fsys, "", dir, id)
}

// ParseLine decodes one line into the object that is served.
func ParseLine(line []byte) (object []byte, seq event.Seq, ok bool) {
	p := parseLine(line)
	return append(bytes.Clone(p.body), '}'), p.seq, p.quality != bad
}

// SealedName is the name of a complete file.
func SealedName(first, last event.Seq) string { return sealedName(first, last) }
