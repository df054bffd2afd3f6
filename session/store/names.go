package store

import (
	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/store/packed"
)

// The names of the files of a data directory: see docs/storage.md.
const (
	hubName       = "hub.json"
	lockName      = "LOCK"
	sessionsDir   = "sessions"
	trashDir      = "trash"
	newPrefix     = ".new-"     // of a session being created
	deletedPrefix = ".deleted-" // of a session being deleted
)

// The names of the files of a session's directory, beside blobs.Dir.
const (
	activeName    = "events.jsonl"
	sealedPrefix  = "events-"
	sealedSuffix  = ".jsonl"
	nextName      = ".events-next.jsonl" // a segment being created
	metadataName  = "metadata.json"
	labelsName    = "labels.json"
	quarantineDir = "quarantine"
	derivedDir    = "derived"
)

// The versions of the formats that this program writes. It reads no newer ones.
const (
	dirFormat      = 1 // of the data directory, in hub.json
	logFormat      = 1 // of the lines, in session_start and segment_start
	metadataFormat = 1 // of metadata.json
)

// isHalfMade reports whether a file of a session is a temporary one, which is never
// read before its rename.
func isHalfMade(name string) bool {
	return name == nextName || packed.IsTemp(name) || name == metadataName+disk.TempSuffix || name == labelsName+disk.TempSuffix || name == "room"+disk.TempSuffix
}
