package blackbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestFault32APromptsIdBelongsToThePayloadItFirstCameWith resends prompts, with the
// same payload and with another one. It does so while they wait, after they were
// edited, removed and taken, after a stop and a kill of the hub, and after the
// ledger was lost. It covers short prompts and those too large for a line of the
// log.
func TestFault32APromptsIdBelongsToThePayloadItFirstCameWith(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{more: "queue: {max_size: 20}\n"})
	session := h.create("demo")
	id, token := session.SessionID, h.token()
	c := h.screen("screen", session, 0)
	file := upload(t, h, token, id, "notes.txt", "text/plain", []byte("read me"))
	another := upload(t, h, token, id, "notes.txt", "text/plain", []byte("read this"))
	huge := strings.Repeat("a sentence of many. ", 20_000) // 400,000 bytes
	payloads := map[string]wire.Prompt{
		"short": {Text: "/plan (short)"},
		"huge":  {Text: "/plan " + huge},
		"file":  {Text: "/plan (file)", Attachments: []event.Attachment{file}},
	}
	send := func(promptID string, p wire.Prompt) (wire.Fate, wire.Code) {
		p.SessionID, p.PromptID = id, promptID
		outcome, err := c.socket().Prompt(t.Context(), p)
		if codeOf(err) == "" {
			require.NoError(t, err)
		}
		return outcome.Fate, codeOf(err)
	}
	// requireFates resends each prompt, once unchanged and once with another
	// payload.
	requireFates := func(when string, fates map[string]wire.Fate) {
		t.Helper()
		for kind, original := range payloads {
			for what, want := range fates {
				name := kind + "-" + what
				fate, code := send(name, original)
				require.Empty(t, code, "%s %s, as it was", name, when)
				require.Equal(t, want, fate, "%s %s, as it was", name, when)
				others := map[string]wire.Prompt{
					"longer": {Text: original.Text + ".", Attachments: original.Attachments},
					"edited": {Text: "/plan (edited)", Attachments: original.Attachments},
					"filed":  {Text: original.Text, Attachments: []event.Attachment{another}},
				}
				for otherwise, p := range others {
					_, code := send(name, p)
					require.Equal(t, wire.CodeConflict, code, "%s %s, %s", name, when, otherwise)
				}
			}
		}
	}

	for kind, p := range payloads {
		fate, code := send(kind+"-ran", p)
		require.Empty(t, code)
		require.Contains(t, []wire.Fate{wire.FateReceived, wire.FateQueued}, fate)
		c.untilTurnEnds(kind + "-ran")
	}
	c.prompt(id, "busy", "/ask")
	c.untilAsked(1)
	for kind, p := range payloads {
		for _, what := range []string{"edited", "removed", "waiting"} {
			_, code := send(kind+"-"+what, p)
			require.Empty(t, code)
		}
	}
	queued := map[string]wire.Fate{"ran": wire.FateReceived, "edited": wire.FateQueued, "removed": wire.FateQueued, "waiting": wire.FateQueued}
	requireFates("while they wait", queued)

	for kind := range payloads {
		require.NoError(t, c.socket().Send(t.Context(), &wire.QueueEdit{SessionID: id, PromptID: kind + "-edited", Text: "/plan (edited)"}))
		require.NoError(t, c.socket().Send(t.Context(), &wire.QueueRemove{SessionID: id, PromptID: kind + "-removed"}))
	}
	c.until("the edits", func(_ []event.Event, s *wire.State) bool {
		edited := 0
		for _, item := range s.Queue {
			if item.Text == "/plan (edited)" {
				edited++
			}
		}
		return len(s.Queue) == 6 && edited == 3
	})
	queued["removed"] = wire.FateRemoved
	requireFates("after the edits", queued)
	h.stop()
	h.start() // the hub takes the waiting prompts now
	for kind := range payloads {
		for _, what := range []string{"edited", "waiting"} {
			require.Equal(t, event.StopEndTurn, c.untilTurnEnds(kind+"-"+what).StopReason)
		}
	}
	ran := map[string]wire.Fate{"ran": wire.FateReceived, "edited": wire.FateReceived, "removed": wire.FateRemoved, "waiting": wire.FateReceived}
	requireFates("once taken", ran)
	h.kill()
	h.start()
	requireFates("after a kill", ran)

	// Without the ledger, prompts that went to the agent at once are known from the
	// log alone. The log does not say whether a queued prompt was edited, so any
	// payload is accepted as the same.
	h.stop()
	require.NoError(t, os.Remove(filepath.Join(h.data, "sessions", id, "queue.json")))
	h.start()
	requireFates("without a ledger", map[string]wire.Fate{"ran": wire.FateReceived})
	for _, what := range []string{"edited", "waiting"} {
		fate, code := send("huge-"+what, payloads["huge"])
		require.Empty(t, code)
		require.Equal(t, wire.FateReceived, fate, "a resent prompt ran again")
	}
	requireTrueScreens(t, h, id, c)
	given := 0
	for _, e := range c.seen() {
		if e.Type == event.TypeUserPrompt {
			given++
		}
	}
	require.Equal(t, 1+3+6, given, "prompts that ran: the busy one, three at once, six from the queue")
}
