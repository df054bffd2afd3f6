package resume

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

const (
	toolsShown = 50
)

// Prompt returns the prompt with which an interrupted turn is resumed.
func Prompt(c Checkpoint, w Workspace) string {
	if c.Reason == event.CutPaused && !c.Given {
		return c.Prompt // the turn has not begun
	}
	var b strings.Builder
	b.WriteString("[SESSION_RESUMED]\nYour last turn was interrupted: " + reasonWords(c.Reason) + "\n\n")
	writeWorkspace(&b, w)
	writeSince(&b, c.Seen, w)
	switch {
	case !c.Given:
		fmt.Fprintf(&b, "You were not given this prompt yet:\n---\n%s\n---\nDo what it asks.\n", c.Prompt)
	case c.Phase == event.PhaseStreaming:
		writeStreaming(&b, c)
	case c.Phase == event.PhaseDelegating:
		writeDelegating(&b, c)
	default:
		writeTools(&b, c)
	}
	if c.Given {
		writePlan(&b, c.Plan)
		for _, q := range c.Lost {
			fmt.Fprintf(&b, "\nYou asked for permission and got no answer: “%s” Nothing was allowed. Ask again if you still need it.\n", q.Title)
		}
		b.WriteString("\nDo not repeat work that is already in the workspace. A command that did not finish may have had effects: look before you run it again.\n")
	}
	return b.String()
}

func reasonWords(r event.InterruptReason) string {
	switch r {
	case event.CutHubRestart:
		return "the hub ended without warning."
	case event.CutHubStop:
		return "the hub was stopped."
	case event.CutAgentExit:
		return "the agent process ended."
	case event.CutAgentRestart:
		return "the agent was restarted."
	case event.CutProviderError:
		return "the model's provider failed."
	}
	return "it was paused."
}

func writeWorkspace(b *strings.Builder, w Workspace) {
	b.WriteString("The workspace as it is now:\n")
	switch {
	case w.Unknown != "":
		b.WriteString("- Git could not tell: " + w.Unknown + ". Look yourself before you change anything.\n\n")
		return
	case !w.Repository:
		b.WriteString("- It is not a git repository. Look at the files before you change anything.\n\n")
		return
	}
	fmt.Fprintf(b, "- Branch: %s\n- HEAD: %s\n", cmp.Or(w.Branch, "none"), cmp.Or(w.Commit, "no commit yet"))
	if len(w.Changed) == 0 {
		b.WriteString("- Changed files: none\n\n")
		return
	}
	b.WriteString("- Changed files:\n")
	for _, name := range w.Changed {
		b.WriteString("  " + name + "\n")
	}
	if w.More > 0 {
		fmt.Fprintf(b, "  and %d more files\n", w.More)
	}
	if stat := strings.TrimSpace(w.DiffStat); stat != "" {
		b.WriteString("- Diff:\n  " + strings.ReplaceAll(stat, "\n", "\n  ") + "\n")
	}
	b.WriteString("\n")
}

func writeStreaming(b *strings.Builder, c Checkpoint) {
	fmt.Fprintf(b, "You were writing an answer%s.", roundWords(c))
	writeText(b, c)
	writeFinished(b, c)
	b.WriteString("Go on from there.")
	if c.TextLen > 0 {
		b.WriteString(" The text above may end in the middle of a sentence.")
	}
	b.WriteString("\n")
}

func writeTools(b *strings.Builder, c Checkpoint) {
	fmt.Fprintf(b, "You were running tools%s.", roundWords(c))
	writeText(b, c)
	writeFinished(b, c)
	writeList(b, "Tool calls that did not finish, or whose result is not known:", c.Open)
	b.WriteString("Compare the workspace with what these calls were to do. If the change is there, continue with the next step. If not, do it again.\n")
}

func writeDelegating(b *strings.Builder, c Checkpoint) {
	fmt.Fprintf(b, "A sub-agent was working%s.", roundWords(c))
	writeText(b, c)
	writeFinished(b, c)
	writeList(b, "Calls that were open, the sub-agent's own among them:", c.Open)
	for _, call := range c.Open {
		if said := c.Outputs[call.ToolCallID]; said != "" {
			fmt.Fprintf(b, "The last output of “%s”:\n---\n%s\n---\n", state.OneLine(cmp.Or(call.Title, call.ToolCallID)), said)
		}
	}
	b.WriteString("The sub-agent's work may be partly done. It is not continued by itself. Look at the workspace and decide whether to delegate what is left or to do it yourself.\n")
}

func roundWords(c Checkpoint) string {
	if c.Round == 0 {
		return ""
	}
	return fmt.Sprintf(" (round %d of tool calls)", c.Round)
}

func writeText(b *strings.Builder, c Checkpoint) {
	if c.TextLen == 0 {
		b.WriteString(" Nothing was said yet.\n")
		return
	}
	before := ""
	if c.TextLen > checkpointTail {
		before = fmt.Sprintf(" (the last %d of %d characters)", checkpointTail, c.TextLen)
	}
	fmt.Fprintf(b, " What you had said%s:\n---\n%s\n---\n", before, c.Text)
}

func writeFinished(b *strings.Builder, c Checkpoint) {
	writeList(b, "Tool calls that finished:", c.Finished)
}

func writeList(b *strings.Builder, head string, calls []event.ToolCallFields) {
	if len(calls) == 0 {
		return
	}
	b.WriteString(head + "\n")
	for _, call := range calls[max(0, len(calls)-toolsShown):] {
		fmt.Fprintf(b, "- %s%s\n", state.OneLine(cmp.Or(call.Title, call.ToolCallID)), statusWords(call.Status))
	}
	if over := len(calls) - toolsShown; over > 0 {
		fmt.Fprintf(b, "and %d before them\n", over)
	}
}

func statusWords(s event.ToolStatus) string {
	switch s {
	case event.ToolFailed:
		return " (failed)"
	case event.ToolPending:
		return " (not begun)"
	}
	return ""
}

func writePlan(b *strings.Builder, plan []event.PlanEntry) {
	if len(plan) == 0 {
		return
	}
	b.WriteString("\nYour plan:\n")
	for _, step := range plan {
		fmt.Fprintf(b, "- [%s] %s\n", cmp.Or(string(step.Status), "pending"), state.OneLine(step.Content))
	}
}
