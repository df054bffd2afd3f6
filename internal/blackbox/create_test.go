package blackbox_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// TestASessionAskedForByManyAtOnceIsMadeOnceAndItsPromptRunsOnce sends one creation
// on eight connections at once, then the same key with a different request.
func TestASessionAskedForByManyAtOnceIsMadeOnceAndItsPromptRunsOnce(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
	request := wire.NewSession{Agent: "demo", Workspace: h.workspace, Name: "Mine", Prompt: "/plan (one)"}
	made := make([]wire.SessionInfo, 8)
	errs := make([]error, len(made))
	together(len(made), func(i int) { made[i], errs[i] = h.hub.Create(t.Context(), request, "make-1") })
	for i := range made {
		require.NoError(t, errs[i])
		require.Equal(t, made[0].SessionID, made[i].SessionID)
	}
	for _, change := range []func(*wire.NewSession){
		func(n *wire.NewSession) { n.Prompt = "/plan (two)" },
		func(n *wire.NewSession) { n.Prompt = "" },
		func(n *wire.NewSession) { n.Name = "Yours" },
		func(n *wire.NewSession) { n.Workspace = "" },
	} {
		other := request
		change(&other)
		_, err := h.hub.Create(t.Context(), other, "make-1")
		refused := (*client.RefusedError)(nil)
		require.ErrorAs(t, err, &refused)
		require.Equal(t, http.StatusConflict, refused.Status)
		require.Equal(t, wire.CodeConflict, refused.Code)
		require.Contains(t, refused.Message, made[0].SessionID)
	}
	page, err := h.hub.Sessions(t.Context(), 0, "")
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
	c := h.screen("screen", made[0], 0)
	c.until("the prompt", func(events []event.Event, _ *wire.State) bool {
		return len(payloads[event.UserPrompt](t, events)) > 0
	})
	require.Equal(t, "make-1", payloads[event.UserPrompt](t, c.seen())[0].PromptID)
	c.untilTurnEnds("make-1")
	require.Len(t, payloads[event.UserPrompt](t, onDisk(t, h, made[0].SessionID)), 1)
	require.Equal(t, map[string]int{"/plan (one)": 1}, readRecord(t, record).prompts)
}

// TestASessionIsMadeOnceWhereverTheHubIsKilled kills the hub as soon as a step of a
// creation is visible from outside, and repeats the request until it is answered.
func TestASessionIsMadeOnceWhereverTheHubIsKilled(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
	sessions := filepath.Join(h.data, "sessions")
	steps := []struct {
		name string
		seen func(before int, answered <-chan struct{}) bool
	}{
		// This state may be too short to be seen.
		{"the directory is made aside", func(before int, _ <-chan struct{}) bool {
			return inFolder(sessions, ".new-*") > 0 || inFolder(sessions, "2*") > before
		}},
		{"the session is there", func(before int, _ <-chan struct{}) bool { return inFolder(sessions, "2*") > before }},
		{"the prompt is in the log", func(before int, _ <-chan struct{}) bool { return logged(sessions, "user_prompt") > before }},
		{"the turn is over", func(before int, _ <-chan struct{}) bool { return logged(sessions, "turn_end") > before }},
		{"the client has its answer", func(_ int, answered <-chan struct{}) bool {
			select {
			case <-answered:
				return true
			default:
				return false
			}
		}},
	}
	for n, step := range steps {
		key, text := fmt.Sprintf("make-%d", n), fmt.Sprintf("/plan (%d)", n)
		request := wire.NewSession{Agent: "demo", Workspace: h.workspace, Name: "Mine", Prompt: text}
		answered := make(chan struct{})
		go func() {
			defer close(answered) // a killed hub ends the request without an answer
			_, _ = h.hub.Create(t.Context(), request, key)
		}()
		for deadline := time.Now().Add(patience); !step.seen(n, answered); {
			require.True(t, time.Now().Before(deadline), "never seen: %s", step.name)
		}
		h.kill()
		<-answered
		h.start()
		made := h.createAgain(request, key)
		require.Equal(t, "Mine", made.Name, step.name)
		log := onDisk(t, h, made.SessionID)
		require.Len(t, payloads[event.UserPrompt](t, log), 1, step.name)
		require.Equal(t, key, payloads[event.UserPrompt](t, log)[0].PromptID, step.name)
		c := h.screen(step.name, made, 0)
		end := c.untilTurnEnds(key)
		require.Equal(t, n+1, inFolder(sessions, "2*"), "sessions after a kill when %s", step.name)
		given := 0
		if _, err := os.Stat(record); err == nil {
			given = readRecord(t, record).prompts[text]
		}
		require.LessOrEqual(t, given, 1, step.name)
		if end.StopReason == event.StopEndTurn {
			require.Equal(t, 1, given, step.name)
		}
		requireTrueScreens(t, h, made.SessionID, c)
	}
}

// createAgain repeats a creation until it is answered, like a person who presses
// Start again.
func (h *hub) createAgain(request wire.NewSession, key string) wire.SessionInfo {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	for {
		made, err := h.hub.Create(ctx, request, key)
		if err == nil {
			return made
		}
		require.NoError(h.t, ctx.Err(), "the last answer was: %v", err)
		rest(ctx, 10*time.Millisecond)
	}
}

func inFolder(dir, pattern string) int {
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		panic(err) // a bad pattern
	}
	return len(found)
}

// logged counts the sessions whose log has an event of this type.
func logged(sessions, kind string) (count int) {
	logs, err := filepath.Glob(filepath.Join(sessions, "2*", "events.jsonl"))
	if err != nil {
		panic(err) // a bad pattern
	}
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), `"type":"`+kind+`"`) {
			count++
		}
	}
	return count
}
