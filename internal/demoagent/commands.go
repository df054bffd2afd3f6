package demoagent

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// command is one slash command.
type command struct {
	name, description, hint string
	play                    func(*turn, string) error
}

// script lists the slash commands, in the order they are offered.
func script() []command {
	return []command{
		{"markdown", "Answer with every kind of markdown", "", (*turn).markdown},
		{"plan", "Work through a plan", "", (*turn).plan},
		{"edit", "Change a file of the scratch copy, after asking", "file name", (*turn).editNamed},
		{"ask", "Ask for permission", "", (*turn).askOnce},
		{"slow", "Answer for n seconds", "seconds", (*turn).slow},
		{"burst", "Send n updates at once, and ask meanwhile", "updates [ask]", (*turn).burst},
		{"grow", "Send all output so far, n times", "updates", (*turn).grow},
		{"big", "Send one message of n MiB", "MiB", (*turn).big},
		{"ask2", "Ask for two permissions at once, and take one back", "", (*turn).askTwice},
		{"form", "Ask for values in a form", "", (*turn).form},
		{"term", "Run a command in a terminal of the agent's own", "", (*turn).terminal},
		{"fs", "Read and write a file through the client", "", (*turn).clientFiles},
		{"early", "Update a tool call before announcing it", "", (*turn).early},
		{"unknown", "Send what no client knows yet", "", (*turn).unknown},
		{"noise", "Write lines to stdout that are not messages", "", (*turn).noise},
		{"delegate", "Let a sub-agent work for n seconds", "seconds", (*turn).delegate},
		{"mcp", "Use a tool of an MCP server", "", (*turn).mcp},
		{"fail", "Fail as the model's provider does", "provider", (*turn).failAs},
		{"error", "Fail with an error", "", (*turn).fail},
		{"refuse", "Refuse to continue", "", (*turn).refuse},
		{"maxtokens", "Run out of tokens", "", (*turn).maxTokens},
		{"stubborn", "Go on for n seconds whatever is asked", "seconds", (*turn).stubborn},
		{"hang", "Say nothing any more", "", (*turn).hang},
		{"exit-after", "Exit right after the answer", "", (*turn).exitAfter},
		{"kill", "Die by SIGKILL", "", (*turn).kill},
		{"crash", "End with exit code 3 in the middle of a tool call", "", (*turn).crash},
		{"late", "Say something after the turn has ended", "", (*turn).late},
	}
}

// play plays the command the prompt names, else the tour.
func (t *turn) play() error {
	if r := t.agent.options.Replay; r != nil {
		return t.replay(r)
	}
	name, argument, _ := strings.Cut(t.text, " ")
	if name, ok := strings.CutPrefix(name, "/"); ok {
		for _, c := range script() {
			if c.name == name {
				return c.play(t, strings.TrimSpace(argument))
			}
		}
		return t.say("I do not know `/" + name + "`. Type `/` to see what I can show.")
	}
	return t.tour()
}

// offered are the slash commands as the protocol has them.
func offered() []sdk.AvailableCommand {
	var list []sdk.AvailableCommand
	for _, c := range script() {
		command := sdk.AvailableCommand{Name: c.name, Description: c.description}
		if c.hint != "" {
			command.Input = &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: c.hint}}
		}
		list = append(list, command)
	}
	return list
}

// number reads the first word of a command's argument, within bounds.
func number(argument string, otherwise, most int) int {
	first, _, _ := strings.Cut(argument, " ")
	n, err := strconv.Atoi(first)
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, most)
}

func (t *turn) plan(string) error {
	steps := []string{"Look at the question", "Find an answer", "Check the answer", "Say it"}
	for step := range len(steps) + 1 {
		if err := t.planAt(steps, step); err != nil {
			return err
		}
	}
	return t.say("The plan is done.")
}

func (t *turn) editNamed(name string) error {
	if name == "" || strings.ContainsAny(name, "/\\\x00") || name == "." || name == ".." {
		name = "NOTES.md"
	}
	dir, err := t.session.scratch.open(t.session.workspace)
	if err != nil {
		return err
	}
	changed, err := t.edit(dir, name, fmt.Sprintf("A line written in turn %d.\n", t.session.turns))
	if err != nil {
		return err
	}
	if !changed {
		return t.say("Then I leave `" + name + "` as it is.")
	}
	return t.say("I changed `" + name + "`.")
}

func (t *turn) askOnce(string) error {
	id := t.nextTool()
	if err := t.update(sdk.StartToolCall(id, "echo hello", sdk.WithStartKind(sdk.ToolKindExecute),
		sdk.WithStartStatus(sdk.ToolCallStatusPending), sdk.WithStartRawInput(map[string]any{"command": "echo hello"}))); err != nil {
		return err
	}
	option, err := t.ask(sdk.ToolCallUpdate{
		ToolCallId: id, Title: sdk.Ptr("echo hello"), Kind: sdk.Ptr(sdk.ToolKindExecute), Status: sdk.Ptr(sdk.ToolCallStatusPending),
		RawInput: map[string]any{"command": "echo hello"},
	}, permissionOptions())
	if err != nil {
		_ = t.status(id, sdk.ToolCallStatusFailed) // the turn is over anyway
		return err
	}
	status := sdk.ToolCallStatusFailed
	if allowed(option) {
		status = sdk.ToolCallStatusCompleted
	}
	if err := t.status(id, status); err != nil {
		return err
	}
	if option == "" {
		return t.say("The request was cancelled.")
	}
	return t.say("You chose `" + string(option) + "`.")
}

func (t *turn) slow(argument string) error {
	seconds := number(argument, 10, 3600)
	id := t.nextMessage()
	for i := range seconds * 10 {
		if err := t.chunk(id, fmt.Sprintf("%d ", i+1)); err != nil {
			return err
		}
		if err := t.pause(100 * time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// burst floods the client; with a second word "ask" it asks for permissions one
// after the other while it does.
func (t *turn) burst(argument string) error {
	n := number(argument, 1000, 1_000_000)
	if _, more, _ := strings.Cut(argument, " "); more != "ask" {
		return t.flood(n)
	}
	over, asked := make(chan struct{}), make(chan error, 1)
	go func() { asked <- t.askUntil(over) }() // received below
	err := t.flood(n)
	close(over)
	return errors.Join(err, <-asked)
}

// askUntil asks again and again, and for the last time when over is closed.
func (t *turn) askUntil(over <-chan struct{}) error {
	for last := false; !last; {
		select {
		case <-over:
			last = true
		default:
		}
		if _, err := t.ask(sdk.ToolCallUpdate{
			ToolCallId: t.nextTool(), Title: sdk.Ptr("Go on"), Kind: sdk.Ptr(sdk.ToolKindOther), Status: sdk.Ptr(sdk.ToolCallStatusPending),
		}, permissionOptions()); err != nil {
			return err
		}
	}
	return nil
}

// flood writes many lines at a time: it is there to outrun the client, and the
// SDK's one message a write would not.
func (t *turn) flood(n int) error {
	id := t.nextMessage()
	var lines []byte
	var all strings.Builder
	for i := range n {
		lines = fmt.Appendf(lines, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{`+
			`"sessionUpdate":"agent_message_chunk","messageId":%q,"content":{"type":"text","text":"%d\n"}}}}`+"\n", t.session.id, id, i+1)
		fmt.Fprintf(&all, "%d\n", i+1)
		if len(lines) < 32<<10 && i+1 < n {
			continue
		}
		if _, err := t.agent.wire.Write(lines); err != nil {
			return err
		}
		lines = lines[:0]
		if t.ctx.Err() != nil {
			break
		}
	}
	t.said += all.Len()
	t.remember(sdk.UpdateAgentMessageText(all.String()))
	return t.ctx.Err()
}

// grow repeats all output of a command with each update, as some agents do.
func (t *turn) grow(argument string) error {
	n := number(argument, 100, 10_000)
	_, form, _ := strings.Cut(argument, " ")
	id := t.nextTool()
	if err := t.update(sdk.StartToolCall(id, "make", sdk.WithStartKind(sdk.ToolKindExecute), sdk.WithStartStatus(sdk.ToolCallStatusInProgress))); err != nil {
		return err
	}
	var output strings.Builder
	show := func(text string) []sdk.ToolCallUpdateOpt {
		content := func(text string) sdk.ToolCallUpdateOpt {
			return sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))})
		}
		result := sdk.WithUpdateRawOutput(map[string]any{"output": text, "running": true})
		switch form {
		case "both":
			return []sdk.ToolCallUpdateOpt{content(text), result}
		case "output":
			return []sdk.ToolCallUpdateOpt{result}
		case "string":
			return []sdk.ToolCallUpdateOpt{sdk.WithUpdateRawOutput(text)}
		case "fence":
			return []sdk.ToolCallUpdateOpt{content("```\n" + text + "```")}
		case "meta":
			meta := func(u *sdk.SessionToolCallUpdate) {
				u.Meta = map[string]any{"demo": map[string]any{"output": text, "more": 1}}
			}
			return []sdk.ToolCallUpdateOpt{content("Running"), meta}
		}
		return []sdk.ToolCallUpdateOpt{content(text)}
	}
	for i := range n {
		fmt.Fprintf(&output, "step %5d of %5d compiles and links\n", i+1, n)
		text := output.String()
		if lines := strings.TrimSuffix(text, "\n"); form == "shorter" && i%2 == 1 {
			text = lines[:strings.LastIndexByte(lines, '\n')+1] // the last line comes and goes
		}
		if err := t.update(sdk.UpdateToolCall(id, append(show(text), sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress))...)); err != nil {
			return err
		}
	}
	return t.status(id, sdk.ToolCallStatusCompleted, show(output.String())...)
}

func (t *turn) big(argument string) error {
	size := number(argument, 1, 64) << 20
	const line = "The quick brown fox jumps over the lazy dog. 0123456789\n"
	text := strings.Repeat(line, size/len(line)+1)[:size]
	return t.chunk(t.nextMessage(), text)
}

func (t *turn) crash(string) error {
	id := t.nextTool()
	if err := t.update(sdk.StartToolCall(id, "do something dangerous", sdk.WithStartKind(sdk.ToolKindExecute),
		sdk.WithStartStatus(sdk.ToolCallStatusInProgress))); err != nil {
		return err
	}
	fmt.Fprintln(t.agent.options.Stderr, "demo agent: crashing, as asked")
	t.agent.options.Exit(3)
	return fmt.Errorf("crashed")
}

func (t *turn) late(string) error {
	if err := t.say("More comes when this turn is over."); err != nil {
		return err
	}
	id := t.nextMessage()
	t.agent.wire.behind(promptAnswer, func() { _ = t.chunk(id, "This came late.") })
	return nil
}
