package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/abidehub/abide/session/journal"
)

// errUnmarked means that a log cannot be written because its metadata cannot.
var errUnmarked = errors.New("the session's metadata cannot be written, so nothing is written to its log")

// markWriter records on disk that this run writes the log, before its first line.
// After a crash of the machine that line may be lost although a client saw it, and
// only the mark tells the next run. If the mark cannot be written, nothing else is.
// The caller holds the write lock.
func (w *writer) markWriter() error {
	if err := w.active.named(w.out.file); err != nil {
		w.freeze(fmt.Errorf("wake log: %w", err))
		return w.health.refusal()
	}
	err := w.mark()
	switch {
	case err == nil:
		return nil
	case isNoSpace(err):
		w.health.block(err)
		w.poke() // the flusher retries, and the log continues once that has worked
		return fmt.Errorf("%w: %w", journal.ErrBlocked, err)
	case errors.Is(err, fs.ErrNotExist):
		w.freeze(gone(err))
	default:
		// Nothing was written, so the metadata need not record that the device
		// failed.
		w.health.freeze(fmt.Errorf("%w: %w", errUnmarked, err))
		w.opts.Logger.Error("log is frozen", "session", w.id, "err", err)
		w.poke()
	}
	return w.health.refusal()
}

// mark writes the metadata that names this run as the writer.
func (w *writer) mark() error {
	w.meta.setWriter(&journal.Writer{BootID: w.opts.BootID, RunID: w.runID})
	if err := w.meta.saveMetadata(); err != nil {
		w.meta.setWriter(nil) // the flusher writes the metadata of an idle log
		return err
	}
	w.out.marked = true
	return nil
}
