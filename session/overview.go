package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/playback"
	"github.com/abidehub/abide/session/problem"
)

const (
	overviewFile = "overview.json"
	// overviewBatch is how much of a log is read at once. overviewAgain is how many
	// events the next request may count again.
	overviewBatch = 1 << 20
	overviewAgain = 1000
)

// Overview counts the events so far. It continues from the last call. One call
// computes it at a time; others wait. With compared, the files of a turn are those that
// differ between its two states, where it has both.
func (m *Manager) Overview(ctx context.Context, id string, compared bool) (playback.Overview, error) {
	b, err := m.Session(ctx, id)
	if err != nil {
		return playback.Overview{}, err
	}
	select {
	case b.counting <- struct{}{}:
		defer func() { <-b.counting }()
	case <-ctx.Done():
		return playback.Overview{}, ctx.Err()
	}
	o, err := b.overview(ctx)
	if err == nil && compared && m.hub.states != nil {
		m.compareTurns(ctx, b, o.Turns)
	}
	return o, err
}

func (b *BackgroundSession) overview(ctx context.Context) (playback.Overview, error) {
	fold := b.readOverview()
	before := fold.Overview.AtSeq
	if err := b.extend(ctx, fold); err != nil {
		return playback.Overview{}, fmt.Errorf("count events: %w", problem.OfLog(err))
	}
	if fold.Overview.AtSeq-before >= overviewAgain {
		data, err := fold.Encode()
		if err == nil {
			err = b.log.Derived().Write(overviewFile, data)
		}
		if err != nil {
			b.logger.Warn("an overview could not be written; it is computed again next time", "session", b.id, "err", err)
		}
	}
	return fold.Overview, nil
}

// readOverview continues from the stored overview, or starts a new one.
func (b *BackgroundSession) readOverview() *playback.Fold {
	if data, err := b.log.Derived().Read(overviewFile); err == nil {
		if fold, ok := playback.ReadFold(data, b.log.Epoch(), b.log.Marks().Visible); ok {
			return fold
		}
	}
	return playback.NewFold(b.log.Epoch())
}

// extend counts the events after those already counted. It skips removed events.
func (b *BackgroundSession) extend(ctx context.Context, fold *playback.Fold) error {
	after := fold.Overview.AtSeq
	for {
		batch, through, err := b.log.ReadWritten(ctx, after, overviewBatch)
		if kept := b.log.Marks().Min - 1; errors.Is(err, journal.ErrRemoved) && after < kept {
			after = kept
			continue
		}
		if err != nil {
			return err
		}
		if through == after {
			return nil
		}
		if err := fold.Apply(batch); err != nil {
			return err
		}
		after = through
	}
}
