package store

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/store/blobs"
)

// removeHalfMade removes the files of a session that a crash left incomplete, which no
// other file refers to. It returns what it did.
func removeHalfMade(fsys FS, dir string) (did []string) {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return nil // the next step reports it
	}
	for _, n := range names {
		if name := n.Name(); isHalfMade(name) && fsys.Remove(filepath.Join(dir, name)) == nil {
			did = append(did, fmt.Sprintf("removed %s, which a crash left half made", name))
		}
	}
	folder := filepath.Join(dir, blobs.Dir)
	if names, err = fsys.ReadDir(folder); err != nil || disk.IsLink(fsys, folder) {
		return did // there are none that are the session's
	}
	for _, n := range names {
		if strings.HasSuffix(n.Name(), disk.TempSuffix) && fsys.Remove(filepath.Join(folder, n.Name())) == nil {
			did = append(did, "removed half a blob, "+n.Name())
		}
	}
	return did
}
