package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/hinshun/vt10x"
	"github.com/rogpeppe/go-internal/testscript"
)

// spells are texts with terminal control sequences in 7-bit and 8-bit form: titles,
// clipboard, colours, cursor, screens, bells and device reports.
func spells() string {
	var b strings.Builder
	for c := range 0x20 {
		b.WriteRune(rune(c))
	}
	for c := rune(0x7f); c < 0xa0; c++ {
		b.WriteRune(c)
	}
	for _, s := range []string{
		"\x1b]0;owned\x07", "\x1b]2;owned\x1b\\", "\u009d2;owned\u009c", "\x1b]52;c;b3duZWQ=\x07", "\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\",
		"\x1b[31;5m", "\u009b31m", "\x1b[2J\x1b[H", "\x1b[?1049h", "\x1b[?25l", "\x1b[?1000h", "\x1b[6n", "\x1bc", "\x1b(0", "\x1bP+q\x1b\\",
		"\x1b[20l", "\x1b[>c", "\x1b_G\x1b\\", "\x1b^x\x1b\\", "\u202eevil\u202c", "\u2066\u200b\ufeff", "\r\n\r", "\x85", "\xff\xfe",
	} {
		b.WriteString(s)
	}
	return b.String()
}

// hostileAgent is an ACP agent that puts control sequences into every text.
func hostileAgent() {
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	evil := spells()
	var prompt json.RawMessage
	update := func(fields map[string]any) {
		out.Encode(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{"sessionId": "s", "update": fields}})
	}
	text := func(s string) map[string]any { return map[string]any{"type": "text", "text": s} }
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		answer := func(id json.RawMessage, result any) {
			out.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
		}
		switch m.Method {
		case "initialize":
			answer(m.ID, map[string]any{"protocolVersion": 1, "agentCapabilities": map[string]any{}, "agentInfo": map[string]any{"name": evil, "version": evil}})
		case "session/new":
			answer(m.ID, map[string]any{"sessionId": "s"})
		case "session/prompt":
			prompt = m.ID
			update(map[string]any{"sessionUpdate": "session_info_update", "title": evil + "\ntwo\nlines"})
			update(map[string]any{"sessionUpdate": "agent_thought_chunk", "content": text(evil)})
			update(map[string]any{"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text("begun " + evil + " over")})
			for _, half := range []string{"\x1b", "]0;owned", "\x07"} { // one sequence in three chunks
				update(map[string]any{"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text(half)})
			}
			update(map[string]any{"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text(strings.Repeat("x", 1<<20) + "\n")})
			update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "resource_link", "name": evil, "uri": "file:///" + evil}})
			update(map[string]any{"sessionUpdate": "plan", "entries": []any{map[string]any{"content": evil, "priority": "high", "status": "pending"}}})
			update(map[string]any{
				"sessionUpdate": "tool_call", "toolCallId": "t" + evil, "title": evil + "\nsecond line", "kind": "edit", "status": "completed",
				"content": []any{
					map[string]any{"type": "content", "content": text(evil)},
					map[string]any{"type": "diff", "path": "/tmp/" + evil, "oldText": evil, "newText": evil + "\nnew " + evil},
				},
			})
			out.Encode(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": map[string]any{
				"sessionId": "s", "toolCall": map[string]any{"toolCallId": "q", "title": "may I " + evil},
				"options": []any{map[string]any{"optionId": "yes" + evil, "name": "Yes " + evil, "kind": "allow_once"}},
			}})
		case "": // the answer to the permission request
			out.Encode(map[string]any{"jsonrpc": "2.0", "id": prompt, "error": map[string]any{"code": -32603, "message": "it broke " + evil}})
		default:
			if m.ID != nil {
				answer(m.ID, map[string]any{})
			}
		}
	}
}

// sane requires that the output of the last command leaves the terminal unchanged.
// The program's own colours are allowed if they were asked for and are reset.
func cmdSane(ts *testscript.TestScript, neg bool, args []string) {
	output := ts.ReadFile("stdout") + ts.ReadFile("stderr")
	if output == "" {
		ts.Fatalf("nothing was printed")
	}
	terminal := vt10x.New(vt10x.WithSize(80, 24))
	fresh := vt10x.New(vt10x.WithSize(80, 24))
	title := "mine"
	fmt.Fprintf(terminal, "\x1b]0;%s\x07", title)
	if _, err := terminal.Write([]byte(strings.ReplaceAll(output, "\n", "\r\n"))); err != nil {
		ts.Fatalf("the terminal: %v", err)
	}
	if terminal.Title() != title {
		ts.Fatalf("the title is %q", terminal.Title())
	}
	if terminal.Mode() != fresh.Mode() || !terminal.CursorVisible() {
		ts.Fatalf("the modes are %b, not %b", terminal.Mode(), fresh.Mode())
	}
	cursor, plain := terminal.Cursor().Attr, fresh.Cursor().Attr
	if cursor.FG != plain.FG || cursor.BG != plain.BG || cursor.Mode != plain.Mode {
		ts.Fatalf("what follows would be coloured: %+v", cursor)
	}
	rest := output
	for _, own := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"} {
		rest = strings.ReplaceAll(rest, own, "")
	}
	if len(args) == 0 && rest != output {
		ts.Fatalf("there are colours")
	}
	for _, c := range rest {
		if c < ' ' && c != '\n' && c != '\t' || c >= 0x7f && c < 0xa0 || c == '\u202e' || c == '\u200b' {
			ts.Fatalf("a control character %U reached the terminal", c)
		}
	}
}
