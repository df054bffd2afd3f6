package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

// sessionReader is what the command snapshot needs of a Program.
type sessionReader interface {
	onSession(*cobra.Command, func(context.Context, *client.Hub, wire.SessionInfo, []string) error) *cobra.Command
	JSONFlag(*cobra.Command)
	PrintJSON(any) error
	asJSON() bool
	table([][]string) error
	notice(format string, args ...any)
}

// snapshotVerb is the command snapshot: it prints what a session is, in one piece.
type snapshotVerb struct{ sessionReader }

func (v snapshotVerb) command() *cobra.Command {
	cmd := v.onSession(&cobra.Command{
		Use:   "snapshot ID",
		Short: "Say where a session stands: its plan, files, commands and numbers",
		Long: "Say where a session stands after all its events: the agent's plan, the files that were written, the latest commands, and numbers. " +
			"With --json, the whole snapshot, also with what was said. The session is not opened for it.",
		Example: "abide snapshot -\nabide snapshot 9f3a --json | jq -r '.agent_context.suggestions[]'",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		snap, err := hub.Snapshot(ctx, s.SessionID)
		if err != nil {
			return err
		}
		if v.asJSON() {
			return v.PrintJSON(snap)
		}
		if err := v.table(snapshotRows(snap)); err != nil {
			return err
		}
		if snap.Notice != "" {
			v.notice("%s", plain.Line(snap.Notice))
		}
		return nil
	})
	v.JSONFlag(cmd)
	return cmd
}

// shownFiles and shownCommands are how many of the latest the command snapshot prints.
const (
	shownFiles    = 20
	shownCommands = 10
)

func snapshotRows(s wire.Snapshot) [][]string {
	m, c := s.Metadata, s.AgentContext
	rows := [][]string{
		{"said", counted(len(c.ConversationHistory), "message")},
		{"time in turns", (time.Duration(m.DurationMS) * time.Millisecond).Round(time.Second).String()},
		{"tokens", strconv.FormatInt(m.TokenUsage, 10)},
		{"tool calls", strconv.Itoa(m.ToolCalls)},
		{"errors", strconv.Itoa(m.ErrorCount)},
	}
	if m.Context != nil && m.Context.Size > 0 {
		rows = append(rows, []string{"context", fmt.Sprintf("%d of %d tokens", m.Context.Used, m.Context.Size)})
	}
	for _, task := range c.CompletedTasks {
		rows = append(rows, []string{"done", plain.Line(task)})
	}
	for _, task := range c.Suggestions {
		word := "next"
		if task == c.CurrentTask {
			word = "at work on"
		}
		rows = append(rows, []string{word, plain.Line(task)})
	}
	if n := len(s.Files) - shownFiles; n > 0 {
		rows = append(rows, []string{"files", fmt.Sprintf("%d before the latest %d", n, shownFiles)})
	}
	for _, f := range s.Files[max(0, len(s.Files)-shownFiles):] {
		size := ""
		if f.Size != nil {
			size = ", " + sizeWords(*f.Size)
		}
		rows = append(rows, []string{"file", plain.Line(f.Path) + size})
	}
	var commands []string
	for _, o := range s.Outputs {
		if o.Type == state.OutputCommand {
			commands = append(commands, plain.Cut(plain.Line(strings.TrimSpace(string(o.Content))), 100))
		}
	}
	for _, command := range commands[max(0, len(commands)-shownCommands):] {
		rows = append(rows, []string{"command", command})
	}
	return rows
}
