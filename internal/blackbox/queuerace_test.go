package blackbox_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

// TestFault36QueueAddRemoveEditRaceWithTurnEnd lets many clients add, edit, move
// and remove queued prompts while short turns end. The agent must get each accepted
// prompt once, with the text of the last accepted edit, and no removed prompt.
func TestFault36QueueAddRemoveEditRaceWithTurnEnd(t *testing.T) {
	t.Parallel()
	const hands, each = 6, 10
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{
		agents: map[string]agent{"demo": tapped(t, record, demo())},
		more:   "queue: {max_size: 1000}\n",
	})
	session := h.create("demo")
	id := session.SessionID
	screens := make([]*screen, hands)
	for i := range screens {
		screens[i] = h.screen(fmt.Sprint("hand ", i), session, 0)
	}
	screens[0].prompt(id, "first", "/ask")
	request := screens[0].untilAsked(1)

	token := h.token()
	change := func(method, prompt, body string) error {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+h.addr+"/api/sessions/"+id+"/queue/"+prompt, strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode >= 300 {
			return fmt.Errorf("status %d", res.StatusCode)
		}
		return nil
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	var mu sync.Mutex
	want := map[string]string{} // the text that the agent must get; empty if removed
	counts := map[string]int{}
	note := func(prompt, text, what string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			want[prompt] = text
			counts[what]++
		} else {
			counts[what+" too late"]++
		}
	}
	together(hands, func(i int) {
		socket, ctx := screens[i].socket(), t.Context()
		add := func(n int) string {
			prompt := fmt.Sprintf("p%d-%d", i, n)
			text := "/plan (" + prompt + ")"
			_, err := socket.Prompt(ctx, wire.Prompt{SessionID: id, PromptID: prompt, Text: text})
			note(prompt, text, "add", err)
			return prompt
		}
		mine := []string{add(0), add(1), add(2)}
		if i == 0 { // these are always in time; the turns begin after them
			text := "/plan (" + mine[2] + " edited)"
			note(mine[2], text, "edit", change("PATCH", mine[2], fmt.Sprintf(`{"text":%q}`, text)))
			note(mine[1], "", "remove", change("DELETE", mine[1], ""))
			mine = []string{mine[0], mine[2]}
			screens[0].answer(id, request, event.AllowOnce)
		}
		for n := 3; n < each; n++ {
			// The hub is about to take the client's oldest prompt, or just took it.
			switch oldest := mine[0]; n % 3 {
			case 0:
				text := "/plan (" + oldest + " edited)"
				note(oldest, text, "edit", change("PATCH", oldest, fmt.Sprintf(`{"text":%q}`, text)))
			case 1:
				if change("PATCH", mine[len(mine)-1], `{"position":0}`) == nil {
					mine = append(mine[len(mine)-1:], mine[:len(mine)-1]...)
				}
			case 2:
				note(oldest, "", "remove", change("DELETE", oldest, ""))
				mine = mine[1:]
			}
			mine = append(mine, add(n))
		}
	})
	screens[0].until("everything done", func(_ []event.Event, s *wire.State) bool {
		return s.Turn.State == state.TurnIdle && len(s.Queue) == 0
	})
	require.Equal(t, hands*each, counts["add"])
	require.NotZero(t, counts["edit"])
	require.NotZero(t, counts["remove"])

	given, expected := readRecord(t, record).prompts, map[string]int{"/ask": 1}
	for _, text := range want {
		if text != "" {
			expected[text] = 1
		}
	}
	require.Equal(t, expected, given)
	logged := map[string]int{}
	for _, p := range payloads[event.UserPrompt](t, screens[0].seen()) {
		logged[string(p.Text)]++
	}
	require.Equal(t, expected, logged)
	requireTrueScreens(t, h, id, screens...)
}
