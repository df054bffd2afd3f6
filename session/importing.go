package session

import (
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
	// A zip is read from its end, so it is stored first. The file has no name, so a
	// crash leaves none behind.
	file, err := os.CreateTemp(m.spoolDir, ".import-*")
	if err != nil {
		return nil, false, fmt.Errorf("%w: keep the import while it is read: %w", state.ErrUnavailable, err)
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return nil, false, fmt.Errorf("%w: keep the import while it is read: %w", state.ErrUnavailable, err)
	}
	if _, err := io.Copy(file, from); err != nil {
		return nil, false, fmt.Errorf("read import: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, false, fmt.Errorf("read import: %w", err)
	}
	return m.importFile(ctx, file)
}

func (m *Manager) importFile(ctx context.Context, file *os.File) (b *BackgroundSession, made bool, err error) {
	if err := m.makeRoom(ctx, m.settings.Load().Limits.Sessions); err != nil {
		return nil, false, err
	}
	source, err := exchange.Open(file)
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
	if len(source.Comments) > 0 {
		err = b.comments.Import(source.Comments)
	}
	m.changes.Touch(id)
	m.logger.Info("session imported", "session", id)
	return b, true, err
}

// importedBefore finds the existing session of an export.
func (m *Manager) importedBefore(ctx context.Context, id string, from *exchange.Source) (*BackgroundSession, error) {
	b, err := m.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	last, epoch, err := from.End()
	if err != nil {
		return nil, err
	}
	if b.log.Epoch() != epoch || b.log.Marks().Visible < last {
		return nil, fmt.Errorf("%w: session %s is here with other events: delete it before the import", state.ErrConflict, id)
	}
	return b, nil
}
