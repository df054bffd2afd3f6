package machines

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/journal"
)

// openedName is an empty file in a copy whose time is when the session was opened last.
const openedName = "opened"

// noteOpened says that a session was opened now. Without that the copy goes earlier.
func noteOpened(dir string) {
	path, now := filepath.Join(dir, openedName), time.Now()
	if os.Chtimes(path, now, now) != nil {
		_ = os.WriteFile(path, nil, 0o600)
		_ = os.Chtimes(path, now, now) // the disk's own clock is coarse: two copies would have one time
	}
}

// keptCopy is a copy on the disk.
type keptCopy struct {
	machine, id string
	bytes       int64
	// opened is when the session was opened at home last, written when something was read.
	opened, written time.Time
}

// storedCopies measures the copies in a directory, those first that were opened the longest ago.
func storedCopies(dir string) (all []keptCopy, bytes int64) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*", "*")) // the pattern is right
	for _, path := range paths {
		one := keptCopy{machine: filepath.Base(filepath.Dir(path)), id: filepath.Base(path)}
		if !journal.ValidID(one.id) {
			continue
		}
		_ = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil // it goes at this moment
			}
			info, err := entry.Info()
			if err != nil {
				return nil
			}
			one.bytes += info.Size()
			switch name := entry.Name(); {
			case name == openedName:
				one.opened = info.ModTime()
			case strings.HasPrefix(name, "events") && info.ModTime().After(one.written):
				one.written = info.ModTime()
			}
			return nil
		})
		all, bytes = append(all, one), bytes+one.bytes
	}
	slices.SortFunc(all, func(a, b keptCopy) int {
		return cmp.Or(a.opened.Compare(b.opened), a.written.Compare(b.written), strings.Compare(a.id, b.id))
	})
	return all, bytes
}
