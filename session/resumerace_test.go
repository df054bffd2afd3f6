package session_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// rounds is how often a test repeats: 200 times in make soak.
func rounds(otherwise int) int {
	if soak.On() {
		return 200
	}
	return otherwise
}

// TestTwoTabsAndAScriptThatResumeAtOnceMakeOneTurnAcrossAKill is proof 2: three
// clients resume at once. Meanwhile it copies the directory, as a kill -9 would
// leave it. All three resume again on a hub on the copy.
func TestTwoTabsAndAScriptThatResumeAtOnceMakeOneTurnAcrossAKill(t *testing.T) {
	for range rounds(20) { // 200 in make soak
		h := newHub(t, clean)
		b, a := h.busy()
		a.die(crash)
		id := interruptionOf(t, b).InterruptionID
		var all sync.WaitGroup
		press := func(b *session.BackgroundSession) {
			for _, actor := range []string{"tab", "phone", "script"} {
				all.Go(func() {
					_, _ = b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: id, Prompt: "go on", Actor: person(actor)})
				})
			}
		}
		press(b)
		after := h.copyOf(t, clean)
		all.Wait()
		again := after.session(b.ID())
		press(again)
		all.Wait()
		for _, one := range []struct {
			h *hub
			b *session.BackgroundSession
		}{{h, b}, {after, again}} {
			require.LessOrEqual(t, one.h.agents.givenTimes("resume-"+id), 1)
			turns := 0
			for _, p := range payloads[event.UserPrompt](t, one.b) {
				if p.PromptID == "resume-"+id {
					turns++
				}
			}
			require.Equal(t, 1, turns)
		}
		h.close()
		after.close()
	}
}

// TestAfterAnySequenceOfKillsAndDecisionsNothingIsDoneTwice is proof 3, with fixed
// seeds.
func TestAfterAnySequenceOfKillsAndDecisionsNothingIsDoneTwice(t *testing.T) {
	for seed := range uint64(rounds(12)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			h := newHub(t, clean)
			b, a := h.busy()
			given := map[string]int{}
			tally := func() {
				h.agents.mu.Lock()
				defer h.agents.mu.Unlock()
				for id, n := range h.agents.given {
					given[id] += n
					h.agents.given[id] = 0
				}
			}
			sent := 0
			for range 12 {
				open := b.State().Interruption
				switch random.IntN(6) {
				case 0:
					a.die(crash)
				case 1:
					tally()
					h = h.copyOf(t, clean)
					b = h.session(b.ID())
				case 2, 3:
					if open != nil {
						_, _ = b.Resume(ctxOf(t), session.ResumeRequest{InterruptionID: open.InterruptionID, Actor: person("ann")})
					}
				case 4:
					if open != nil {
						_ = b.Dismiss(ctxOf(t), open.InterruptionID, person("ann"))
					}
				case 5:
					sent++
					prompt(t, b, fmt.Sprintf("p%02d", sent))
				}
				select {
				case a = <-h.agents.started:
					_ = a.say(toolCall(fmt.Sprint("t", random.IntN(99)), event.ToolInProgress))
				default:
				}
			}
			tally()
			h.close()
			h.open(clean)
			b = h.session(b.ID())
			for id, n := range given {
				require.LessOrEqual(t, n, 1, "%s was sent twice", id)
			}
			status := map[string]event.ToolStatus{}
			var order []string
			for _, e := range events(t, b) {
				p, err := e.Payload()
				require.NoError(t, err)
				switch p := p.(type) {
				case event.ToolCall:
					status[p.ToolCallID] = p.Status
				case event.ToolCallUpdate:
					status[p.ToolCallID] = p.Status
				case event.UserPrompt:
					if strings.HasPrefix(p.PromptID, "p") && !strings.HasPrefix(p.PromptID, "prompt") {
						order = append(order, p.PromptID)
					}
				}
			}
			for id, s := range status {
				require.True(t, s.Done(), "the call %s has no outcome", id)
			}
			require.IsNonDecreasing(t, append([]string{""}, order...))
		})
	}
}
