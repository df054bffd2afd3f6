package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/abidehub/abide/session/exchange"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/state"
)

// Import restores an export: the zip of a session, or the lines of its events. It
// keeps the id, seqs and epoch. Repeating an import finds the existing session;
// made reports whether the session was created. It is ErrConflict if another
// session has the id.
func (m *Manager) Import(ctx context.Context, from io.Reader) (b *BackgroundSession, made bool, err error) {
	// A zip is read from its end, so it is stored first.
	file, most, err := m.stagingFile()
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	size, err := io.Copy(file, io.LimitReader(from, most+1))
	if err != nil {
		return nil, false, fmt.Errorf("read import: %w", err)
	}
	if size > most {
		return nil, false, exchange.TooLarge(most)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, false, fmt.Errorf("read import: %w", err)
	}
	return m.importFile(ctx, file, most)
}

// stagingFile makes a file for what is to become a session, and returns how many bytes
// it may take. It has no name, so a crash leaves none behind.
func (m *Manager) stagingFile() (file *os.File, most int64, err error) {
	most, err = m.importBound()
	if err != nil {
		return nil, 0, err
	}
	file, err = os.CreateTemp(m.spoolDir, ".import-*")
	if err == nil {
		err = os.Remove(file.Name())
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: keep the import while it is read: %w", state.ErrUnavailable, err)
	}
	return file, most, nil
}

// importBound is how many bytes an import may take, as it comes and as it is stored:
// half of the free disk at most.
func (m *Manager) importBound() (int64, error) {
	free, err := m.freeDisk(cmp.Or(m.spoolDir, os.TempDir()))
	if err != nil {
		return 0, fmt.Errorf("%w: how much disk is free for an import: %w", state.ErrUnavailable, err)
	}
	return min(free/2, exchange.MaxSum), nil
}

func (m *Manager) importFile(ctx context.Context, file *os.File, most int64) (b *BackgroundSession, made bool, err error) {
	if err := m.makeRoom(ctx, m.settings.Load().Limits.Sessions); err != nil {
		return nil, false, err
	}
	source, err := exchange.Open(file, most)
	if err != nil {
		return nil, false, err
	}
	defer source.Close()
	id, err := m.journal.Import(ctx, source.Imported)
	if errors.Is(err, journal.ErrExists) {
		b, err := m.importedBefore(ctx, id, source)
		return b, false, err
	}
	if errors.Is(err, journal.ErrInvalid) {
		return nil, false, fmt.Errorf("%w: this cannot be imported: %w", state.ErrInvalid, err)
	}
	if err != nil {
		return nil, false, problem.OfLog(err)
	}
	if b, err = m.Session(ctx, id); err != nil {
		return nil, false, err
	}
	m.changes.Add(id)
	m.logger.Info("session imported", "session", id)
	return b, true, nil
}

// importedBefore finds the existing session of an export.
func (m *Manager) importedBefore(ctx context.Context, id string, from *exchange.Source) (*BackgroundSession, error) {
	b, err := m.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	same, err := from.In(ctx, b.log)
	if err != nil {
		return nil, problem.OfLog(err)
	}
	if !same {
		return nil, fmt.Errorf("%w: session %s is here with other events: delete it before the import", state.ErrConflict, id)
	}
	return b, from.CheckBlobs()
}
