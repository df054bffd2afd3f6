package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/abidehub/abide/session/slots"
	"github.com/abidehub/abide/session/state"
)

// slotWait is how long an agent outside of any session waits for a slot.
const slotWait = 10 * time.Second

// AgentSlot waits for a slot for an agent outside of any session: one that is checked,
// logged in, or asked for what it stores. It counts among the running agents until it is
// released, which may be done again. ErrBusy if there is none for ten seconds.
func (m *Manager) AgentSlot(ctx context.Context) (release func(), err error) {
	slot := slots.New()
	release = sync.OnceFunc(func() { m.pool.Release(slot) })
	wait := time.NewTimer(slotWait)
	defer wait.Stop()
	for !m.pool.Acquire(slot) {
		select {
		case <-slot.Bell.C():
		case <-wait.C:
			release()
			return nil, fmt.Errorf("%w: %d agents are running and at work, and no more are allowed: try again when one is free", state.ErrBusy, m.settings.Load().Limits.Agents)
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		}
	}
	return release, nil
}
