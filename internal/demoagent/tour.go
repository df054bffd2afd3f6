package demoagent

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// tour shows each thing that agents do once.
func (t *turn) tour() error {
	steps := []string{"Read what is there", "Add a greeting", "Check the result", "Sum up"}
	if !strings.HasPrefix(t.text, "[SESSION_") { // a hub's own text names no scenario
		if err := t.title(titleOf(t.text)); err != nil {
			return err
		}
	}
	if err := t.think("The person said: " + quoted(t.text) + ". I have no model to think with, so I will show what an agent does: read a file, ask before changing one, run a command, and answer."); err != nil {
		return err
	}
	if err := t.planAt(steps, 0); err != nil {
		return err
	}
	if err := t.say("I will look around first, then add a small greeting. "); err != nil {
		return err
	}
	dir, err := t.session.scratch.open(t.session.workspace)
	if err != nil {
		return err
	}
	name, err := t.read(dir)
	if err != nil {
		return err
	}
	if err := t.planAt(steps, 1); err != nil {
		return err
	}
	changed, err := t.edit(dir, "GREETING.md", "# Hello\n\nabide was here, and kept everything.\n")
	if err != nil {
		return err
	}
	if err := t.planAt(steps, 2); err != nil {
		return err
	}
	if err := t.run(dir); err != nil {
		return err
	}
	if err := t.planAt(steps, 3); err != nil {
		return err
	}
	if err := t.say(summary(name, changed)); err != nil {
		return err
	}
	if err := t.planAt(steps, len(steps)); err != nil {
		return err
	}
	return t.context()
}

func summary(name string, changed bool) string {
	outcome := "You said no, so **nothing was changed**."
	if changed {
		outcome = "With your permission I wrote `GREETING.md`."
	}
	return "## Done\n\n" + outcome + "\n\n| step | result |\n| --- | --- |\n| read | `" + name + "` |\n| command | exit code 0 |\n\n" +
		"All of it happened in a scratch copy: your workspace is as it was.\n\n" +
		"- Type `/` to see what else I can show.\n- Close this tab and come back: *nothing is lost*.\n\n" +
		"```go\nfunc main() {\n\tfmt.Println(\"hello from the demo agent\")\n}\n```\n"
}

// planAt shows the plan with everything before step done.
func (t *turn) planAt(steps []string, step int) error {
	entries := make([]sdk.PlanEntry, len(steps))
	for i, content := range steps {
		status := sdk.PlanEntryStatusPending
		switch {
		case i < step:
			status = sdk.PlanEntryStatusCompleted
		case i == step:
			status = sdk.PlanEntryStatusInProgress
		}
		priority := sdk.PlanEntryPriorityMedium
		if i == 0 {
			priority = sdk.PlanEntryPriorityHigh
		}
		entries[i] = sdk.PlanEntry{Content: content, Priority: priority, Status: status}
	}
	if err := t.update(sdk.UpdatePlan(entries...)); err != nil {
		return err
	}
	return t.pause(200 * time.Millisecond)
}

// read reads a file of the copy, the README if there is one.
func (t *turn) read(dir string) (string, error) {
	name := "README.md"
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		data = []byte("(this workspace has no README.md)\n")
	}
	text := head(string(data), 40)
	id := t.nextTool()
	path := filepath.Join(dir, name)
	if err := t.update(sdk.StartReadToolCall(id, "Read "+name, path)); err != nil {
		return "", err
	}
	if err := t.pause(300 * time.Millisecond); err != nil {
		return "", err
	}
	return name, t.status(id, sdk.ToolCallStatusCompleted,
		sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))}),
		sdk.WithUpdateRawOutput(map[string]any{"bytes": len(data)}))
}

// edit asks before it writes a file of the copy.
func (t *turn) edit(dir, name, text string) (bool, error) {
	path := filepath.Join(dir, name)
	var before []string
	if old, err := os.ReadFile(path); err == nil {
		before = []string{string(old)}
		text = string(old) + "\n" + text
	}
	id := t.nextTool()
	diff := []sdk.ToolCallContent{sdk.ToolDiffContent(path, text, before...)}
	if err := t.update(sdk.StartEditToolCall(id, "Write "+name, path, text, sdk.WithStartContent(diff))); err != nil {
		return false, err
	}
	option, err := t.askUnlessAuto(sdk.ToolCallUpdate{
		ToolCallId: id, Title: sdk.Ptr("Write " + name), Kind: sdk.Ptr(sdk.ToolKindEdit), Status: sdk.Ptr(sdk.ToolCallStatusPending),
		Locations: []sdk.ToolCallLocation{{Path: path}}, Content: diff,
	}, permissionOptions())
	if err != nil {
		_ = t.status(id, sdk.ToolCallStatusFailed) // the turn is over anyway
		return false, err
	}
	if !allowed(option) {
		return false, t.status(id, sdk.ToolCallStatusFailed,
			sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock("Not allowed; nothing was written."))}))
	}
	if err := t.status(id, sdk.ToolCallStatusInProgress); err != nil {
		return false, err
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return false, err
	}
	return true, t.status(id, sdk.ToolCallStatusCompleted)
}

// askUnlessAuto asks, except in the mode that asks for nothing.
func (t *turn) askUnlessAuto(call sdk.ToolCallUpdate, options []sdk.PermissionOption) (sdk.PermissionOptionId, error) {
	if !t.session.asks() {
		return "yes", nil
	}
	return t.ask(call, options)
}

// run shows a command with output that comes bit by bit.
func (t *turn) run(dir string) error {
	lines := []string{"checking README.md", "checking GREETING.md", "2 files checked, nothing to complain about"}
	id := t.nextTool()
	command := "check --all"
	if err := t.update(sdk.StartToolCall(id, "`"+command+"`", sdk.WithStartKind(sdk.ToolKindExecute),
		sdk.WithStartStatus(sdk.ToolCallStatusInProgress), sdk.WithStartRawInput(map[string]any{"command": command, "cwd": dir}))); err != nil {
		return err
	}
	var output strings.Builder
	for _, line := range lines {
		if err := t.pause(400 * time.Millisecond); err != nil {
			return err
		}
		output.WriteString("\x1b[32m✓\x1b[0m " + line + "\n")
		if err := t.update(sdk.UpdateToolCall(id, sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(output.String()))}))); err != nil {
			return err
		}
	}
	return t.status(id, sdk.ToolCallStatusCompleted, sdk.WithUpdateRawOutput(map[string]any{"exit_code": 0}))
}

// titleOf makes a title of a prompt: its first line, not too long.
func titleOf(text string) string {
	title, _, _ := strings.Cut(text, "\n")
	if runes := []rune(title); len(runes) > 60 {
		title = strings.TrimSpace(string(runes[:59])) + "…"
	}
	if title == "" {
		return "A tour of the demo agent"
	}
	return title
}

func quoted(text string) string { return "“" + titleOf(text) + "”" }

// head returns the first lines of text.
func head(text string, lines int) string {
	parts := strings.SplitAfterN(text, "\n", lines+1)
	if len(parts) > lines {
		parts = parts[:lines]
	}
	return strings.Join(parts, "")
}
