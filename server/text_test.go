package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// TestFault38HostileTextNeverBreaksTheLog sends hostile text. If it is accepted,
// every line of the log stays valid and every client can read it.
func TestFault38HostileTextNeverBreaksTheLog(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	head := `{"type":"prompt","request_id":"r","session_id":"` + s.ID() + `",`
	for name, frame := range map[string]string{
		"invalid UTF-8":          head + `"prompt_id":"a","text":"x` + "\xff\xfe" + `y"}`,
		"invalid id":             head + `"prompt_id":"b` + "\xff" + `","text":"x"}`,
		"NUL escaped":            head + `"prompt_id":"c","text":"x\u0000y"}`,
		"NUL raw":                head + `"prompt_id":"d","text":"x` + "\x00" + `y"}`,
		"lone surrogate":         head + `"prompt_id":"e","text":"x\ud800y"}`,
		"duplicate keys":         head + `"prompt_id":"f","text":"first","text":"second"}`,
		"duplicate type":         head + `"prompt_id":"g","text":"x","type":"ping"}`,
		"line separators":        head + `"prompt_id":"h","text":"x\u2028\u2029\r\ny"}`,
		"what looks like a line": head + `"prompt_id":"i","text":"x\",\"crc\":\"00000000\"}\n{\"seq\":99}"}`,
		"markup":                 head + `"prompt_id":"j","text":"</script><img src=x onerror=alert(1)>"}`,
		"deep":                   head + `"prompt_id":"k","text":"x","extra":` + strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000) + `}`,
		"newline in the id":      head + `"prompt_id":"l\n","text":"x"}`,
		"many attachments":       head + `"prompt_id":"m","text":"x","attachments":[` + strings.Repeat(`{"name":"a"},`, 5000) + `{"name":"a"}]}`,
	} {
		p := h.dial("/api/ws")
		require.NoError(t, p.conn.Write(p.ctx, websocket.MessageText, []byte(frame)), name)
		answer := p.next()
		for answer.MessageType() == (&wire.Session{}).MessageType() { // list updates of the prompt before
			answer = p.next()
		}
		switch m := answer.(type) {
		case *wire.Error, *wire.PromptReceived, *wire.PromptQueued, *wire.Pong:
		default:
			t.Fatalf("%s: answered with %s", name, m.MessageType())
		}
		p.send(&wire.Ping{Nonce: "alive"})
		find(p, func(m *wire.Pong) bool { return m.Nonce == "alive" })
	}
	require.Eventually(t, func() bool { return s.State().Turn.State == "idle" && len(s.Queue()) == 0 }, patience, 1e6)
	data, err := os.ReadFile(filepath.Join(h.dir, "sessions", s.ID(), "events.jsonl"))
	require.NoError(t, err)
	require.True(t, utf8.Valid(data))
	require.NotContains(t, string(data), "\x00")
	prompts := 0
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		var e event.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		require.Equal(t, event.Seq(i+1), e.Seq)
		if e.Type == event.TypeUserPrompt {
			prompts++
		}
	}
	require.Greater(t, prompts, 3, "too few prompts were accepted")
	log := h.events(s)
	got := h.dial("/api/sessions/"+s.ID()+"/ws?after_seq=0").collect(0, log[len(log)-1].Seq)
	same(t, log, got)
}
