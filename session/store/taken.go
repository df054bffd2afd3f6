package store

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// unswap takes back half of a swap of the file that the write lock writes.
func (r *reopener) unswap() (bool, error) {
	_, synced := r.marks.positions()
	return r.active.unswap(r.out.file, r.out.seg.first, synced.seq)
}

// putBack gives the open file its name again if it lost that, as a copy that is
// synced. It reports
// whether there was anything to do. The caller holds the write lock, and nothing is synced.
func (r *reopener) putBack() (done bool, err error) {
	p := &r.out
	active := filepath.Join(r.dir, activeName)
	named, err := r.fs.Means(active, p.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !named {
		if named, err = r.unswap(); err != nil {
			return false, err
		}
	}
	if named {
		return false, nil
	}
	return true, r.copyActive()
}

// keepLast keeps the last copy of a log whose file was removed or replaced, so that
// it outlives this process. The caller holds the write lock.
func (r *reopener) keepLast() error {
	if r.out.file == nil || errors.Is(r.active.whyTaken(), ErrAway) {
		return nil // it is not written, or all of the session was removed
	}
	_, err := r.putBack()
	return err
}
