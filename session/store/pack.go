package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/packed"
)

// packFrom is how many bytes the active file has at least to be completed for packing.
const packFrom = 64 << 10

// packer packs the complete files of a log. They never change, so readers and the writer go
// on meanwhile.
type packer struct{ *writer }

// Pack completes the active file, and packs all complete ones.
func (p packer) Pack(ctx context.Context) error {
	err := p.whileOpen(func() error {
		if p.out.file == nil {
			return p.noSpaceToRepair()
		}
		if err := p.health.refusal(); err != nil || p.out.offset < packFrom {
			return err
		}
		return p.sealAt(p.meta.updatedAt()) // no age of the session begins again
	})
	list := p.segs.all()
	for _, seg := range list[:max(0, len(list)-1)] {
		if err == nil {
			err = p.pack(ctx, seg)
		}
	}
	if err != nil {
		return fmt.Errorf("pack the log: %w", err)
	}
	return nil
}

// pack packs one complete file, unless it is packed or missing.
func (p packer) pack(ctx context.Context, seg *segment) error {
	path := seg.currentPath()
	temp, err := packed.Make(ctx, p.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// Retention may have removed it, and a closed log may have been moved.
	err = p.whileOpen(func() error {
		if _, err := p.fs.Stat(path); err != nil {
			return err
		}
		return packed.Replace(p.fs, temp, path)
	})
	if err != nil {
		return errors.Join(err, p.fs.Remove(temp))
	}
	return nil
}

// whileOpen calls f with the write lock held, unless the log is closed.
func (p packer) whileOpen(f func() error) error {
	return p.withWriteLock(func() error {
		if p.out.closed {
			return journal.ErrClosed
		}
		return f()
	})
}

// unpackedIn is how many bytes of the log in a directory Pack would pack.
func unpackedIn(fsys FS, dir string) (bytes int64, err error) {
	files, err := sealedSegments(fsys, dir)
	if err != nil {
		return 0, err
	}
	for _, seg := range files {
		if info, err := fsys.Stat(seg.path); err == nil {
			bytes += info.Size()
		}
	}
	if info, err := fsys.Stat(filepath.Join(dir, activeName)); err == nil && info.Size() >= packFrom {
		bytes += info.Size()
	}
	return bytes, nil
}
