package journal

import "io"

// Derived are files computed from logs, by name. Each may be missing, old or damaged
// at any time: its reader checks it and computes it again.
type Derived interface {
	// Read returns a file. fs.ErrNotExist if there is none.
	Read(name string) ([]byte, error)
	// Write replaces a file: after a crash it has the old bytes or the new ones. It is
	// not safe for concurrent use with the same name.
	Write(name string, data []byte) error
	// Remove removes files, of which any may be missing; without names all of them.
	Remove(names ...string) error
}

// Files are small files that no log can restore, by name. A name has no directory.
// Calls with different names are safe for concurrent use.
type Files interface {
	// Read returns a file. fs.ErrNotExist if there is none; disk.ErrNoFile if a pipe,
	// directory or device is in its place, which is not waited for.
	Read(name string) ([]byte, error)
	// Replace stores what fill writes as a whole file. When it returns nil the new bytes are durable; after
	// a crash the file has the old bytes or the new ones. After an error that is
	// disk.ErrNotDurable a reader finds the new bytes, which a power cut may take back;
	// after any other error it finds the old ones.
	Replace(name string, fill func(io.Writer) error) error
	// Append adds bytes to the end of a file and makes them durable. After an error or a
	// crash a part of them may be there.
	Append(name string, data []byte) error
	// SetAside renames a file that its reader cannot use to aside, so that a person can
	// look at it. aside may begin with a folder, such as quarantine/. A pipe or the like
	// in its place, which has no bytes to keep, is removed, and kept is false.
	SetAside(name, aside string) (kept bool, err error)
}
