package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/store/logfile"
)

// quarantine copies a span of a file to the session's quarantine and syncs it. It
// reports whether the copy is new: the name is derived from the bytes, so equal
// bytes are stored once.
func quarantine(fsys FS, dir, kind string, file io.ReaderAt, part logfile.Span) (kept string, made bool, err error) {
	folder, err := disk.MakeFolder(fsys, dir, quarantineDir)
	if err != nil {
		return "", false, err
	}
	sum, err := part.Checksum(file)
	if err != nil {
		return "", false, err
	}
	name := fmt.Sprintf("%s-at-%d-%s", kind, part.Offset, logfile.Hex(sum))
	path := filepath.Join(folder, name)
	if info, err := fsys.Stat(path); err == nil && info.Size() == part.Size {
		return filepath.Join(quarantineDir, name), false, nil
	}
	tmp := path + disk.TempSuffix
	if err := fsys.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("remove stale %s: %w", name, err)
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return "", false, fmt.Errorf("make %s: %w", name, err)
	}
	err = part.CopyTo(f, 0, file)
	if err == nil {
		err = f.Datasync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", false, fmt.Errorf("write %s: %w", name, errors.Join(err, fsys.Remove(tmp)))
	}
	if err := fsys.Rename(tmp, path); err != nil {
		return "", false, fmt.Errorf("place %s: %w", name, err)
	}
	return filepath.Join(quarantineDir, name), true, errors.Join(fsys.SyncDir(folder), fsys.SyncDir(dir))
}
