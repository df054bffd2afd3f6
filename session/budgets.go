package session

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/session/budget"
	"github.com/abidehub/abide/session/event"
)

// Budgets returns the budgets of projects and what was used of them today, by folder. It
// opens no session.
func (m *Manager) Budgets(ctx context.Context) ([]budget.Day, error) {
	days, err := m.budgets.Days(ctx)
	if err != nil {
		return nil, fmt.Errorf("count what was used today: %w", err)
	}
	return days, nil
}

// BudgetWarnings are sentences about the budgets that are nearly used up, as of the last
// turn that ended.
func (m *Manager) BudgetWarnings() []string { return m.budgets.Warnings() }

// BudgetStops returns the budget that stops what would begin in a folder, whose settings
// count; nil if none does.
func (m *Manager) BudgetStops(ctx context.Context, folder string) (*budget.Day, error) {
	return m.budgets.Stopped(ctx, folder)
}

// stoppedIn refuses a first prompt in a workspace whose budget of today is used up.
func (m *Manager) stoppedIn(ctx context.Context, workspace string) error {
	folder, err := m.settings.Load().Resolve(workspace)
	if err != nil {
		return nil //nolint:nilerr // it is refused for that later
	}
	day, err := m.budgets.Stopped(ctx, folder)
	if err != nil {
		return err
	}
	return stoppedBy(day)
}

// tellBudget writes the warning about a budget into the session whose turn reached it.
func (m *Manager) tellBudget(ctx context.Context, id, words string) {
	b, err := m.Session(ctx, id)
	if err == nil {
		err = tell(ctx, b.mail, func(e *engine) error {
			if err := e.refusal(); err != nil {
				return err
			}
			_, err := e.write(e.entries(event.Note{Method: noteBudget, Text: event.Text(words)})...)
			return e.stuck(err)
		})
	}
	if err != nil && ctx.Err() == nil {
		m.logger.Info("a session was not told of its project's budget", "session", id, "err", err)
	}
}
