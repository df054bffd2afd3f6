package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/journal"
)

// upkeep is the work that the flusher calls for.
type upkeep struct {
	*writer
	repairer  *repairer
	retention *retention
}

// flush syncs the written events and writes the metadata that follows from them. If
// the directory was removed it freezes the log: writes go nowhere, and another try
// does not bring it back.
func (u *upkeep) flush(ctx context.Context) error {
	err := u.flushFiles(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		if !u.health.frozen.Load() {
			u.freeze(gone(err))
		}
		return u.health.refusal()
	}
	return err
}

func (u *upkeep) flushFiles(ctx context.Context) error {
	written, _ := u.marks.positions()
	if err := u.sync.syncTo(ctx, written.seq); err != nil {
		return err
	}
	if err := u.meta.saveMetadata(); err != nil {
		return err
	}
	return errors.Join(u.retention.trim(ctx), u.probeSpace())
}

// unflushed tells of a flush that failed. The next run must know of a frozen log.
func (u *upkeep) unflushed(err error, again time.Duration) {
	if again > 0 {
		u.opts.Logger.Warn("log cannot be flushed; trying again", "session", u.id, "err", err, "after", again)
		return
	}
	if err := u.meta.saveMetadata(); err != nil {
		u.opts.Logger.Warn("metadata of a frozen log cannot be written", "session", u.id, "err", err)
	}
}

// flushMetadata implements Log.FlushMetadata.
func (u *upkeep) flushMetadata(ctx context.Context) error {
	if u.closed.Load() {
		return journal.ErrClosed
	}
	written, _ := u.marks.positions()
	if err := u.sync.syncTo(ctx, written.seq); err != nil {
		return err
	}
	return blockedIfFull(u.meta.saveMetadata())
}

// probeBytes is the space that a blocked log needs before it goes on, unless the
// waiting write is larger.
const probeBytes = 64 << 10

// probeSpace finds out whether a blocked log may go on, so that it recovers even
// without an append.
func (u *upkeep) probeSpace() error {
	if !u.health.blocked.Load() {
		return nil
	}
	if unrepaired, err := u.repairer.tryRepair(); unrepaired {
		return err
	}
	path := filepath.Join(u.dir, "room"+disk.TempSuffix)
	f, err := u.fs.Create(path)
	if err != nil {
		return err
	}
	room := max(probeBytes, u.health.wants.Load())
	zeros := make([]byte, probeBytes)
	for at := int64(0); at < room && err == nil; at += probeBytes {
		err = disk.WriteAll(f, zeros[:min(probeBytes, room-at)], at)
	}
	if err == nil {
		err = f.Datasync() // some file systems allocate only now
	}
	if err := errors.Join(err, f.Close(), u.fs.Remove(path)); err != nil {
		return err
	}
	u.health.fits(room)
	return nil
}

// rest frees the memory and files that an idle log does not need, and records on
// disk that everything is synced, so that a power cut does not change its epoch.
func (u *upkeep) rest() {
	if err := u.withWriteLock(func() error {
		p := &u.out
		if p.closed || p.file == nil || u.health.frozen.Load() {
			return nil
		}
		if written, synced := u.marks.positions(); written.seq != synced.seq {
			return nil
		}
		u.tail.Drop()
		p.buf = nil
		if !p.marked {
			return nil
		}
		u.meta.setWriter(nil)
		p.marked = false
		return u.meta.saveMetadata()
	}); err != nil {
		u.opts.Logger.Warn("idle log cannot be put to rest", "session", u.id, "err", err)
	}
	for _, seg := range u.segs.all() {
		seg.rest()
	}
}
