package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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
	o, err := OverviewOf(ctx, b.log, b.logger)
	if err == nil && compared && m.hub.states != nil {
		m.compareTurns(ctx, b, o.Turns)
	}
	return o, err
}

// OverviewOf counts the events of a log so far. It continues from the last call, whose count is
// beside the log. One call at a time may count a log.
func OverviewOf(ctx context.Context, log journal.Log, logger *slog.Logger) (playback.Overview, error) {
	fold := readOverview(log)
	before := fold.Overview.AtSeq
	if err := extend(ctx, log, fold); err != nil {
		return playback.Overview{}, fmt.Errorf("count events: %w", problem.OfLog(err))
	}
	if fold.Overview.AtSeq-before >= overviewAgain {
		data, err := fold.Encode()
		if err == nil {
			err = log.Derived().Write(overviewFile, data)
		}
		if err != nil {
			logger.Warn("an overview could not be written; it is computed again next time", "session", log.ID(), "err", err)
		}
	}
	return fold.Overview, nil
}

// readOverview continues from the stored overview, or starts a new one.
func readOverview(log journal.Log) *playback.Fold {
	if data, err := log.Derived().Read(overviewFile); err == nil {
		if fold, ok := playback.ReadFold(data, log.Epoch(), log.Marks().Visible); ok {
			return fold
		}
	}
	return playback.NewFold(log.Epoch())
}

// extend counts the events after those already counted. It skips removed events.
func extend(ctx context.Context, log journal.Log, fold *playback.Fold) error {
	after := fold.Overview.AtSeq
	for {
		batch, through, err := log.ReadWritten(ctx, after, overviewBatch)
		if kept := log.Marks().Min - 1; errors.Is(err, journal.ErrRemoved) && after < kept {
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
