package store

// dater is an FS that returns the birth time of a file in an opaque form: see
// osFS.Born. Without it, copies are not detected.
type dater interface {
	Born(name string) (string, error)
}

// bornOf returns the birth time of a file; empty if the file system has none.
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

// noFile is used as the birth time of the active file if the recorded one is
// useless, because the metadata may be older than it looks.
const noFile = "none"

// areOthers reports whether none of the log's files has this birth time. It checks
// the active file, and complete files in case of a crash before the metadata of the
// next file was written.
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
