package store

// dater is an FS that knows when a file was made, in a form of its own: see
// osFS.Born. One that does not know makes no claim, and is not asked.
type dater interface {
	Born(name string) (string, error)
}

// bornOf says when a file was made; empty if the file system does not tell.
func bornOf(fsys FS, name string) string {
	d, ok := fsys.(dater)
	if !ok {
		return ""
	}
	at, err := d.Born(name)
	if err != nil {
		return ""
	}
	return at
}

// noFile stands for when the active file was made where that is of no use, because
// the metadata that says so may be older than it looks.
const noFile = "none"

// areOthers reports whether none of the log's files is the one that was born then. That
// is the active one, or a complete one if a crash came before the metadata of the next.
func areOthers(fsys FS, was, active string, sealed []*segment) bool {
	now := bornOf(fsys, active)
	if was == "" || now == "" || now == was {
		return false
	}
	for _, seg := range sealed {
		if bornOf(fsys, seg.currentPath()) == was {
			return false
		}
	}
	return true
}
