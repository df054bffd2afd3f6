package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// holdingAgent is an ACP agent that ends no segment of a restore, and every other prompt at once. While it
// holds a segment it sends a chunk each second: an agent that stays silent after a cancel is stopped after a time,
// which a slow test may take.
func holdingAgent() {
	out := json.NewEncoder(os.Stdout)
	chunk := func(text string) {
		out.Encode(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{"sessionId": "s", "update": map[string]any{
			"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": text},
		}}})
	}
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			lines <- bytes.Clone(in.Bytes())
		}
	}()
	var held <-chan time.Time // nil before a segment is held
	for {
		select {
		case line, open := <-lines:
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			switch {
			case !open:
				return
			case json.Unmarshal(line, &m) != nil || m.ID == nil:
				continue
			case bytes.Contains(line, []byte("No answer is wanted")):
				held = time.Tick(time.Second)
				continue
			}
			result := map[string]any{"initialize": map[string]any{"protocolVersion": 1}, "session/new": map[string]any{"sessionId": "s"}, "session/prompt": map[string]any{"stopReason": "end_turn"}}[m.Method]
			if m.Method == "session/prompt" {
				chunk("It is done.")
			}
			out.Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
		case <-held:
			chunk("I am reading.")
		}
	}
}

// The progress of a restore is drawn over the session until a key cancels it. Its result stays in
// the history.
func TestARestoreIsSeenCancelledAndSummedUpOnAScreen(t *testing.T) {
	s := newShell(t)
	s.kill()
	config := filepath.Join(s.data, ".config", "abide", "config.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(config), 0o700))
	require.NoError(t, os.WriteFile(config, []byte("agents: {holding: {command: [holding-agent]}}\n"), 0o600))
	s.serve("127.0.0.1:0")
	idle := func() bool { return s.do("ls", "--status", "idle") != "" }

	s.do("new", "--agent", "holding", "--name", "held", "Do it.")
	require.Eventually(t, idle, patience, 50*time.Millisecond)
	sc := s.sized(80, 24, "sessions")
	sc.sees("held")
	sc.types("\r")
	sc.sees("It is done.")
	sc.types("\x1b[C\x1b[C\x1b[C\r") // Right: Segmented
	sc.sees("The agent goes on.")
	sc.types("iGo on.\r") // it is told the session before the prompt
	for _, size := range [][2]int{{80, 24}, {40, 20}, {200, 60}} {
		sc.resize(size[0], size[1])
		sc.sees("[..........] 0/1")
		sc.golden(fmt.Sprintf("restore-%dx%d", size[0], size[1]))
	}
	sc.resize(80, 24)
	sc.types("\x18") // Ctrl-X
	sc.sees("— command line ended telling the agent the session, after 0 of 1")
	sc.unseen("│ Ctrl-X cancels")
	sc.types("\x03")
	sc.ends(0)

	s.do("new", "--agent", "demo", "--name", "told", "/burst 3")
	require.Eventually(t, idle, patience, 50*time.Millisecond)
	sc = s.sized(80, 24, "attach", "-")
	sc.sees("idle")
	s.do("resume", "-", "--way", "segmented")
	sc.types("/burst 2\r")
	sc.sees("— The agent got the session in 1 segment: about ")
	sc.types("\x03")
	sc.ends(0)
}
