package demoagent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// askTwice asks for two permissions at once, of the same kind and for calls
// that were never announced; when one is answered the other is withdrawn.
func (t *turn) askTwice(string) error {
	options := []sdk.PermissionOption{
		{OptionId: "here", Name: "Allow in this folder", Kind: sdk.PermissionOptionKindAllowOnce},
		{OptionId: "everywhere", Name: "Allow everywhere", Kind: sdk.PermissionOptionKindAllowOnce},
		{OptionId: "no", Name: "Reject", Kind: sdk.PermissionOptionKindRejectOnce},
	}
	ctx, withdraw := context.WithCancel(t.ctx)
	defer withdraw()
	type answered struct {
		name   string
		option sdk.PermissionOptionId
		err    error
	}
	answers := make(chan answered, 2)
	for _, name := range []string{"left", "right"} {
		call := sdk.ToolCallUpdate{
			ToolCallId: t.nextTool(), Title: sdk.Ptr("Go " + name), Kind: sdk.Ptr(sdk.ToolKindMove), Status: sdk.Ptr(sdk.ToolCallStatusPending),
		}
		go func() { // ends with its request, which withdraw ends; both are received below
			option, err := t.askIn(ctx, call, options)
			answers <- answered{name, option, err}
		}()
	}
	first := <-answers
	withdraw()
	<-answers
	if first.err != nil {
		return first.err
	}
	return t.say(fmt.Sprintf("You chose `%s` for %s; the other question is off.", first.option, first.name))
}

// form asks for values.
func (t *turn) form(string) error {
	id, err := t.agent.wire.request(sdk.ClientMethodElicitationCreate, map[string]any{
		"sessionId": t.session.id, "mode": "form", "message": "What should the greeting say?",
		"requestedSchema": map[string]any{
			"type": "object", "required": []string{"name"},
			"properties": map[string]any{
				"name":  map[string]any{"type": "string", "title": "Name", "minLength": 1, "maxLength": 40},
				"tone":  map[string]any{"type": "string", "title": "Tone", "oneOf": []map[string]any{{"const": "warm", "title": "Warm"}, {"const": "dry", "title": "Dry"}}},
				"times": map[string]any{"type": "integer", "title": "How often", "minimum": 1, "maximum": 9, "default": 1},
				"loud":  map[string]any{"type": "boolean", "title": "In capitals", "default": false},
			},
		},
	})
	if err != nil {
		return err
	}
	result, err := t.agent.order.await(t.ctx, id)
	if err != nil {
		return err
	}
	var answer struct {
		Action  string
		Content json.RawMessage
	}
	if json.Unmarshal(result, &answer) != nil || answer.Action != "accept" {
		return t.say("Then there is no greeting.")
	}
	return t.say("You filled in `" + string(answer.Content) + "`.")
}

// terminal runs a pretended command in a terminal that is the agent's own: its
// output travels in _meta.
func (t *turn) terminal(string) error {
	id := t.nextTool()
	term := string(id)
	if err := t.raw(map[string]any{
		"sessionUpdate": "tool_call", "toolCallId": id, "title": "make test", "kind": "execute", "status": "in_progress",
		"rawInput": map[string]any{"command": "make test"}, "content": []any{map[string]any{"type": "terminal", "terminalId": term}},
		"_meta": map[string]any{"terminal_info": map[string]any{"terminal_id": term}},
	}); err != nil {
		return err
	}
	for i := range 5 {
		if err := t.pause(300 * time.Millisecond); err != nil {
			return err
		}
		if err := t.raw(map[string]any{
			"sessionUpdate": "tool_call_update", "toolCallId": id,
			"_meta": map[string]any{"terminal_output": map[string]any{"terminal_id": term, "data": fmt.Sprintf("\x1b[32mok\x1b[0m   package %d\r\n", i+1)}},
		}); err != nil {
			return err
		}
	}
	return t.raw(map[string]any{
		"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed",
		"_meta": map[string]any{"terminal_exit": map[string]any{"terminal_id": term, "exit_code": 0, "signal": nil}},
	})
}

// clientFiles reads and writes through the client, inside and outside of the
// workspace, if the client offers it.
func (t *turn) clientFiles(string) error {
	t.agent.mu.Lock()
	files := t.agent.files
	t.agent.mu.Unlock()
	if !files.ReadTextFile || !files.WriteTextFile {
		return t.say("This client offers no files.")
	}
	path := filepath.Join(t.session.workspace, "demo-agent.txt")
	if _, err := t.agent.conn.WriteTextFile(t.ctx, sdk.WriteTextFileRequest{SessionId: t.session.id, Path: path, Content: "one\ntwo\nthree\n"}); err != nil {
		return err
	}
	read, err := t.agent.conn.ReadTextFile(t.ctx, sdk.ReadTextFileRequest{SessionId: t.session.id, Path: path, Line: sdk.Ptr(2), Limit: sdk.Ptr(1)})
	if err != nil {
		return err
	}
	outcome := "was refused"
	if _, err := t.agent.conn.ReadTextFile(t.ctx, sdk.ReadTextFileRequest{SessionId: t.session.id, Path: "/etc/passwd"}); err == nil {
		outcome = "was given to me"
	}
	return t.say(fmt.Sprintf("I wrote three lines and read the second: %q. What is outside the workspace %s.", read.Content, outcome))
}

// early updates a call that was not announced.
func (t *turn) early(string) error {
	id := t.nextTool()
	if err := t.status(id, sdk.ToolCallStatusInProgress, sdk.WithUpdateTitle("A call without an announcement")); err != nil {
		return err
	}
	if err := t.update(sdk.StartToolCall(id, "Announced late", sdk.WithStartKind(sdk.ToolKindThink), sdk.WithStartStatus(sdk.ToolCallStatusCompleted))); err != nil {
		return err
	}
	return t.say("The update came before the call.")
}

// unknown sends messages that are new, foreign or made up.
func (t *turn) unknown(string) error {
	for _, update := range []map[string]any{
		{"sessionUpdate": "notice", "severity": "warning", "title": "A notice", "description": "Something to know."},
		{"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "completed"},
		{"sessionUpdate": "user_message_chunk", "content": map[string]any{"type": "text", "text": "an echo of the prompt"}},
		{"sessionUpdate": "hologram", "beams": []any{1, nil, map[string]any{}}},
		{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "image", "mimeType": "image/png", "data": tinyPNG}},
		{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "resource_link", "name": "README.md", "uri": "file:///README.md"}},
	} {
		if err := t.raw(update); err != nil {
			return err
		}
	}
	if err := t.agent.wire.notify("vendor/status", map[string]any{"mood": "curious"}); err != nil {
		return err
	}
	id, err := t.agent.wire.request("vendor/question", map[string]any{"answer": 42})
	if err != nil {
		return err
	}
	if _, err := t.agent.order.await(t.ctx, id); err != nil {
		return err
	}
	return t.say("That was all there is to be unknown.")
}

// tinyPNG is one grey pixel.
const tinyPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="

// noise writes lines that are not messages between two that are.
func (t *turn) noise(string) error {
	if err := t.say("Before the noise. "); err != nil {
		return err
	}
	for _, line := range []string{"[INFO] a library talks to stdout", "\xff\xfe\x00 not text", "{\"half\":", "[]", "null", "\"text\""} {
		if _, err := t.agent.wire.Write([]byte(line + "\n")); err != nil {
			return err
		}
	}
	return t.say("After the noise.")
}

func (t *turn) fail(string) error {
	return &sdk.RequestError{Code: -32603, Message: "The demo agent failed, as asked", Data: map[string]any{"kind": "scripted"}}
}

// failAs fails as a provider does that is overloaded.
func (t *turn) failAs(what string) error {
	if what != "provider" {
		return t.say("I can fail as a `provider` does.")
	}
	if err := t.say("I ask the model, and"); err != nil {
		return err
	}
	return &sdk.RequestError{Code: -32603, Message: "The model's provider is overloaded (529), as asked"}
}

// delegate pretends to have a sub-agent: a call that is open while others name it
// as their parent.
func (t *turn) delegate(argument string) error {
	seconds := number(argument, 10, 3600)
	parent := t.nextTool()
	if err := t.update(sdk.StartToolCall(parent, "Explore the workspace", sdk.WithStartKind(sdk.ToolKindThink),
		sdk.WithStartStatus(sdk.ToolCallStatusInProgress))); err != nil {
		return err
	}
	if err := t.planAt([]string{"Look at the names", "Read one file", "Report"}, 1); err != nil {
		return err
	}
	for i := range seconds {
		if err := t.childCall(parent, i+1); err != nil {
			return err
		}
		if err := t.status(parent, sdk.ToolCallStatusInProgress, sdk.WithUpdateContent([]sdk.ToolCallContent{
			sdk.ToolContent(sdk.TextBlock(fmt.Sprintf("%d files read", i+1))),
		})); err != nil {
			return err
		}
		if err := t.pause(time.Second); err != nil {
			_ = t.status(parent, sdk.ToolCallStatusFailed) // the turn is over anyway
			return err
		}
	}
	if err := t.status(parent, sdk.ToolCallStatusCompleted); err != nil {
		return err
	}
	return t.say("The sub-agent is done.")
}

// childCall is one finished call of a sub-agent.
func (t *turn) childCall(parent sdk.ToolCallId, n int) error {
	return t.raw(map[string]any{
		"sessionUpdate": "tool_call", "toolCallId": t.nextTool(), "title": fmt.Sprintf("Read file %d", n), "kind": "read",
		"status": "completed", "_meta": map[string]any{"parentToolCallId": parent},
	})
}

// mcp uses a tool of the MCP server that the agent pretends to have.
func (t *turn) mcp(string) error {
	server := t.agent.options.MCP
	if server == "" {
		return t.say("I have no MCP server. Start me with `--mcp NAME`.")
	}
	id := t.nextTool()
	if err := t.update(sdk.StartToolCall(id, "mcp__"+server+"__look", sdk.WithStartStatus(sdk.ToolCallStatusInProgress))); err != nil {
		return err
	}
	if err := t.status(id, sdk.ToolCallStatusCompleted); err != nil {
		return err
	}
	return t.say("The tool had nothing to say.")
}

func (t *turn) refuse(string) error {
	t.stop = sdk.StopReasonRefusal
	return t.say("I would rather not.")
}

func (t *turn) maxTokens(string) error {
	t.stop = sdk.StopReasonMaxTokens
	return t.say("This answer ends in the middle of a")
}

// stubborn goes on though the turn was cancelled. Its time is real time at any
// speed: it is there to be waited for.
func (t *turn) stubborn(argument string) error {
	if err := t.say("I will not be stopped. "); err != nil {
		return err
	}
	return t.deaf(time.Duration(number(argument, 60, 3600)) * time.Second)
}

// hang is stubborn without an end, in the middle of a tool call.
func (t *turn) hang(string) error {
	if err := t.update(sdk.StartToolCall(t.nextTool(), "wait for something that never comes", sdk.WithStartKind(sdk.ToolKindExecute),
		sdk.WithStartStatus(sdk.ToolCallStatusInProgress))); err != nil {
		return err
	}
	return t.deaf(1 << 62)
}

// deaf waits for d, or for the client to go.
func (t *turn) deaf(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.agent.conn.Done():
	}
	return nil
}

func (t *turn) exitAfter(string) error {
	t.agent.wire.behind(promptAnswer, func() { t.agent.options.Exit(0) })
	return t.say("These are my last words.")
}

// kill dies as the system's out-of-memory killer would do it.
func (t *turn) kill(string) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	return t.deaf(time.Minute)
}
