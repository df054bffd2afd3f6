package session

import (
	"context"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/usage"
)

// usagePatience is how long a question about usage reads events that are not counted yet.
const usagePatience = 2 * time.Second

// Usage returns what the sessions used. It opens none. See usage.Book.Count.
func (m *Manager) Usage(ctx context.Context, q usage.Question) (usage.Answer, error) {
	a, err := m.used.Count(ctx, q, usagePatience)
	if err != nil {
		return a, fmt.Errorf("count what was used: %w", err)
	}
	return a, nil
}

// keepUsage counts the events since the last time, so that a question need not.
func (m *Manager) keepUsage() { m.used.Keep(m.ctx) }
