package store

import (
	"io"

	"github.com/abidehub/abide/internal/disk"
)

// files implements journal.Files for the files of one directory.
type files struct {
	disk.Folder
	refuse func() error // why nothing may be written now; nil if it may
}

// Replace implements journal.Files.
func (f files) Replace(name string, fill func(io.Writer) error) error {
	if err := f.refuse(); err != nil {
		return err
	}
	return f.Folder.Replace(name, fill)
}

// Append implements journal.Files.
func (f files) Append(name string, data []byte) error {
	if err := f.refuse(); err != nil {
		return err
	}
	return f.Folder.Append(name, data)
}

// SetAside implements journal.Files.
func (f files) SetAside(name, aside string) (kept bool, err error) {
	if err := f.refuse(); err != nil {
		return false, err
	}
	return f.Folder.SetAside(name, aside)
}
