package acp_test

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// BenchmarkTap measures the conversion of an agent's output into the data of
// events: for repeated single chunks, and for the lines of recorded traces.
func BenchmarkTap(b *testing.B) {
	chunk := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk",` +
		`"messageId":"msg_01","content":{"type":"text","text":"` + strings.Repeat("All work and no play. ", 8) + `\n"}}}}` + "\n"
	b.Run("chunks", func(b *testing.B) { readAgain(b, []byte(chunk)) })
	var called strings.Builder
	for n := range 64 {
		fmt.Fprintf(&called, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call",`+
			`"toolCallId":"call_%d","title":"Read internal/part%d/file.go","status":"in_progress"}}}`+"\n", n, n%17)
		fmt.Fprintf(&called, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update",`+
			`"toolCallId":"call_%d","title":"Read internal/part%d/file.go (%d lines)","status":"completed"}}}`+"\n", n, n%17, n*7)
	}
	b.Run("calls", func(b *testing.B) { readAgain(b, []byte(called.String())) })
	var real bytes.Buffer
	files, err := filepath.Glob(filepath.Join(traceDir, "*.jsonl"))
	require.NoError(b, err)
	for _, file := range files {
		steps, err := readTrace(file)
		require.NoError(b, err)
		for _, s := range steps {
			if m := s.message(); s.Dir == "a>c" && m.Method == "session/update" {
				real.Write(append(bytes.TrimSpace(s.Msg), '\n'))
			}
		}
	}
	b.Run("traces", func(b *testing.B) { readAgain(b, real.Bytes()) })
}

// readAgain reads b.N lines, repeating the given ones.
func readAgain(b *testing.B, lines []byte) {
	var out []io.Reader
	for n := 0; n < b.N; n += bytes.Count(lines, []byte("\n")) {
		out = append(out, bytes.NewReader(lines))
	}
	b.ReportAllocs()
	b.ResetTimer()
	err := acp.NewConversation("", true).Read(io.MultiReader(out...), func(payloads ...event.Payload) error {
		for _, p := range payloads {
			if _, err := event.NewDraft(p, 1, time.Time{}); err != nil {
				return err
			}
		}
		return nil
	})
	require.ErrorIs(b, err, io.EOF)
}

// BenchmarkBurst measures updates from the demo agent's prompt to the sink.
func BenchmarkBurst(b *testing.B) {
	t := testing.TB(b)
	s := newSink()
	cfg := config(t, "demo")
	cfg.Workspace = b.TempDir()
	a, err := acp.Start(b.Context(), cfg, s)
	require.NoError(b, err)
	b.ResetTimer()
	require.NoError(b, a.Prompt(prompt("p", fmt.Sprintf("/burst %d", b.N))))
	ended(t, s, "p")
	b.StopTimer()
	require.NoError(b, a.Stop(b.Context()))
	<-a.Done()
}
