package session_test

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/state"
)

// Health reports a queue whose file cannot be written. The report ends once the
// file can be written, without any request.
func TestAQueueThatCannotBeSavedIsInHealthUntilItCan(t *testing.T) {
	for kind, cause := range map[problem.Kind]error{
		problem.Blocked: syscall.ENOSPC, problem.Damaged: syscall.EIO,
	} {
		t.Run(cause.Error(), func(t *testing.T) {
			for step, refused := range map[string]bool{"replaced, perhaps not for good": true, "a request": true, "an event": false} {
				t.Run(step, func(t *testing.T) {
					var fails atomic.Bool
					h := newHub(t, aroundQueueFile(func(replace func() error) error {
						failed := errors.Join(errors.New("save"), cause)
						switch {
						case !fails.Load():
							return replace()
						case step == "replaced, perhaps not for good":
							return errors.Join(replace(), failed, disk.ErrNotDurable)
						}
						return failed
					}))
					b, a := h.busy()
					require.Empty(t, h.manager.Problems())
					fails.Store(true)
					if refused { // a person's request
						_, err := b.Prompt(ctxOf(t), ask("waits"))
						require.ErrorIs(t, err, state.ErrUnavailable)
					} else { // a consequence of an event
						require.NoError(t, a.end(promptID(0), event.StopEndTurn))
						awaitIdle(t, b)
						prompt(t, b, "p")
					}
					var all []problem.Problem
					require.Eventually(t, func() bool { all = h.manager.Problems(); return len(all) > 0 }, patience, tick)
					require.Len(t, all, 1)
					require.Equal(t, kind, all[0].Kind)
					require.Equal(t, b.ID(), all[0].SessionID)
					require.Contains(t, all[0].What, "waiting prompts")
					fails.Store(false)
					require.Eventually(t, func() bool { return len(h.manager.Problems()) == 0 }, patience, tick)
					require.Equal(t, queue.Queued, prompt(t, b, "later").Outcome)
				})
			}
		})
	}
}
