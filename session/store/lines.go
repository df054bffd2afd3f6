package store

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/journal"
)

// Lines returns the event files of the session in a directory, oldest first.
func Lines(fsys FS, dir string) ([]journal.Part, error) {
	files, err := sealedSegments(fsys, dir)
	if err != nil {
		return nil, err
	}
	var parts []journal.Part
	for _, f := range files {
		parts = append(parts, eventFile{fsys, dir, filepath.Base(f.path)})
	}
	if _, err := fsys.Stat(filepath.Join(dir, activeName)); !errors.Is(err, fs.ErrNotExist) {
		parts = append(parts, eventFile{fsys, dir, activeName})
	}
	return parts, nil
}

// eventFile implements journal.Part.
type eventFile struct {
	fs        FS
	dir, name string
}

// Open implements journal.Part.
func (f eventFile) Open() (journal.Lines, error) {
	if ours, err := inChain(f.fs, f.dir, f.name); err != nil || !ours {
		return nil, err
	}
	file, err := openLogFile(f.fs, filepath.Join(f.dir, f.name))
	if err != nil {
		return nil, err
	}
	size, err := disk.Size(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return openFile{file, size}, nil
}

// openFile implements journal.Lines.
type openFile struct {
	File
	size int64
}

// Size implements journal.Lines.
func (f openFile) Size() int64 { return f.size }
