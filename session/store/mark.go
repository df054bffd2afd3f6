package store

import (
	"errors"
	"fmt"
	"io/fs"
)

// errUnmarked says that a log cannot be written because its metadata cannot.
var errUnmarked = errors.New("the session's metadata cannot be written, so nothing is written to its log")

// markWriter puts on disk that this run writes the log, before its first line:
// after an unclean stop of the machine that line may be gone although somebody
// saw it, and only the mark tells the next run. Where it cannot be written nothing
// else is. The caller holds the pen.
func (l *Log) markWriter() error {
	if err := l.active.named(l.pen.file); err != nil {
		l.freeze(fmt.Errorf("wake log: %w", err))
		return l.health.refusal()
	}
	err := l.mark()
	switch {
	case err == nil:
		return nil
	case waitsForRoom(err):
		l.health.block(err)
		l.keeper.poke() // it tries again, and the log goes on once that has worked
		return fmt.Errorf("%w: %w", ErrBlocked, err)
	case errors.Is(err, fs.ErrNotExist):
		l.freeze(gone(err))
	default:
		// Nothing was written, so the metadata need not say that the device failed.
		l.health.freeze(fmt.Errorf("%w: %w", errUnmarked, err))
		l.opts.Logger.Error("log is frozen", "session", l.id, "err", err)
		l.keeper.poke()
	}
	return l.health.refusal()
}

// mark writes the metadata that names this run as the writer.
func (l *Log) mark() error {
	l.setWriter(&Writer{BootID: l.opts.BootID, RunID: l.runID})
	if err := l.saveMetadata(); err != nil {
		l.setWriter(nil) // the keeper writes the metadata of an idle log
		return err
	}
	l.pen.marked = true
	return nil
}
