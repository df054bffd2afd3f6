package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// kin is the log's, with the given files.
func (r *recovery) kin(files []*segment) kin {
	k := kin{id: r.log.id, files: files}
	if r.hasMeta && isEpoch(r.meta.Epoch) {
		k.epoch = r.meta.Epoch
	}
	return k
}

// ownKin is the log's, with the files that were found.
func (r *recovery) ownKin() kin { return r.kin(append(slices.Clone(r.sealed), r.active)) }

// ownActive is a *strangerError if the active file is another session's. Its first line
// is asked even where the checkpoint holds: bytes before that may have been written over.
func (r *recovery) ownActive() error {
	session, err := r.ownKin().stranger(r.active)
	if err == nil && session != "" {
		err = &strangerError{session}
	}
	return err
}

// expel moves complete files that are another session's to quarantine, and returns
// the others. A hub serves nothing of them, and leaves them where they are. file is the
// active file.
func (r *recovery) expel(sealed []*segment, file File) (own []*segment, err error) {
	first := r.meta.MinSeq
	if len(sealed) > 0 {
		first = sealed[len(sealed)-1].last + 1
	}
	k := r.kin(append(slices.Clone(sealed), &segment{fs: r.fs, first: first, path: filepath.Join(r.dir, activeName), file: file}))
	for _, seg := range sealed {
		session, err := k.stranger(seg)
		if err != nil {
			return nil, fmt.Errorf("look whose a complete file is: %w", err)
		}
		if session == "" {
			own = append(own, seg)
			continue
		}
		name := filepath.Base(seg.path)
		seg.rest()
		kept, err := keepForeign(r.fs, r.dir, name, session)
		if err != nil {
			return nil, err
		}
		r.did("moved %s, which %s, to %s", name, belongsTo(session), kept)
	}
	return own, nil
}

// withoutStranger opens the log of l once more, whose active file is another session's:
// that goes to quarantine whole, and the log goes on as one that lost its active file.
func (r *recovery) withoutStranger(ctx context.Context, file File, who *strangerError) (again recovery, next File, err error) {
	kept, err := keepForeign(r.fs, r.dir, activeName, who.session)
	if err := errors.Join(err, file.Close()); err != nil {
		return *r, nil, err
	}
	if next, err = lockActive(ctx, r.fs, r.dir); err != nil {
		return *r, nil, err
	}
	l := newLog(r.log.id, r.dir, r.log.runID, r.log.opts)
	l.health.sawForeign(who.Error())
	again = recovery{log: l, fs: r.fs, dir: r.dir, prior: r.prior, actions: r.actions, changed: true}
	again.did("moved %s, which %s, to %s", activeName, belongsTo(who.session), kept)
	return again, next, nil
}
