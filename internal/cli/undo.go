package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// mostListedFiles limits the files that undo lists before it asks.
const mostListedFiles = 20

// undoing are the flags of undo and redo.
type undoing struct {
	to                int
	files, talk, both bool
	list, yes         bool
}

func (p *Program) undo() *cobra.Command {
	var u undoing
	cmd := p.onSession(&cobra.Command{
		Use: "undo ID", Short: "Go back to before a prompt",
		Long: "Put the files back as they were before the prompt of a turn, and start the agent again with an account of what lies before.\n" +
			"What changes is listed and confirmed first. The present files are kept, and abide redo goes forward again. Ignored files stay.",
		Example: "abide undo - --list\nabide undo 9f3a\nabide undo 9f3a --to 3 --files --yes",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		what, err := u.what()
		if err != nil {
			return err
		}
		all, err := hub.Undoable(ctx, s.SessionID)
		if err != nil {
			return err
		}
		if u.list {
			if p.json {
				return p.PrintJSON(all)
			}
			return p.listUndoable(all)
		}
		if len(all.Turns) == 0 {
			return withCode(ExitNotFound, "%s has no turn to go back to", s.SessionID)
		}
		if u.to == 0 {
			u.to = all.Turns[len(all.Turns)-1].Turn
		}
		plan, err := hub.UndoPlan(ctx, s.SessionID, u.to)
		if err != nil {
			return err
		}
		plan.What = what
		if plan.NoFiles != "" && what == "files" {
			return withCode(ExitRefused, "the files cannot go back: %s", plain.Line(plan.NoFiles))
		}
		if plan.NoFiles != "" && what == "both" {
			return withCode(ExitRefused, "the files cannot go back: %s (--talk lets the talk go back alone)", plain.Line(plan.NoFiles))
		}
		if err := p.agree(ctx, plan, u.yes); err != nil {
			return err
		}
		did, err := hub.Undo(ctx, s.SessionID, wire.Undo{Turn: u.to, What: what, Confirm: plan.Needs})
		return p.undone(did, err)
	})
	cmd.Flags().IntVar(&u.to, "to", 0, "go back to before the prompt of `TURN` (default: the last one; --list shows them)")
	cmd.Flags().BoolVar(&u.files, "files", false, "only the files go back")
	cmd.Flags().BoolVar(&u.talk, "talk", false, "only the talk goes back")
	cmd.Flags().BoolVar(&u.both, "both", false, "files and talk go back (the default)")
	cmd.Flags().BoolVar(&u.list, "list", false, "list the turns, and change nothing")
	cmd.Flags().BoolVar(&u.yes, "yes", false, "do not ask")
	p.JSONFlag(cmd)
	return cmd
}

func (p *Program) redo() *cobra.Command {
	var yes bool
	cmd := p.onSession(&cobra.Command{
		Use: "redo ID", Short: "Reverse the last undo",
		Long:    "Reverse the last undo: the files are as they were before it, or the agent knows what was taken back. A prompt after the undo ends that.",
		Example: "abide redo -", Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		plan, err := hub.UndoPlan(ctx, s.SessionID, 0)
		if err != nil {
			return err
		}
		if err := p.agree(ctx, plan, yes); err != nil {
			return err
		}
		did, err := hub.Redo(ctx, s.SessionID, wire.Redo{Confirm: plan.Needs})
		return p.undone(did, err)
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	p.JSONFlag(cmd)
	return cmd
}

func (u undoing) what() (string, error) {
	what, n := "both", 0
	for name, set := range map[string]bool{"files": u.files, "talk": u.talk, "both": u.both} {
		if set {
			what = name
			n++
		}
	}
	if n > 1 {
		return "", Usagef("--files, --talk and --both exclude each other")
	}
	return what, nil
}

// agree lists what an undo changes, and asks for it.
func (p *Program) agree(ctx context.Context, plan wire.UndoPlan, yes bool) error {
	if plan.What != "talk" {
		for i, f := range plan.Files {
			if i == mostListedFiles {
				fmt.Fprintf(p.Stderr, "  … and %d more\n", plan.Total-i)
				break
			}
			fmt.Fprintf(p.Stderr, "  %-7s  %s%s\n", f.Change, plain.Line(f.Path), warningOf(f))
		}
		if plan.Total == 0 {
			fmt.Fprintln(p.Stderr, "  The files are as they were.")
		}
	}
	if plan.What != "files" && !plan.Redo {
		fmt.Fprintf(p.Stderr, "  The agent starts again; it is not told of the last %s.\n", promptsOf(plan.Prompts))
	}
	if yes {
		return nil
	}
	if !p.interactive() {
		return withCode(ExitRefused, "nothing was changed (--yes confirms)")
	}
	question := fmt.Sprintf("Go back to before the prompt of turn %d? [y/N] ", plan.Turn)
	if plan.Redo {
		question = "Reverse the undo? [y/N] "
	}
	sure, err := p.ask(ctx, time.Now(), question)
	if err != nil || !strings.EqualFold(sure, "y") && !strings.EqualFold(sure, "yes") {
		return withCode(ExitFailed, "nothing was changed")
	}
	return nil
}

func warningOf(f wire.UndoFile) string {
	words := ""
	if f.Edited {
		words += "  (edited outside of a turn)"
	}
	if f.SessionID != "" {
		words += "  (session " + f.SessionID + " works on it)"
	}
	return words
}

func promptsOf(n int) string {
	if n == 1 {
		return "prompt"
	}
	return strconv.Itoa(n) + " prompts"
}

func (p *Program) undone(did wire.Undone, err error) error {
	if err != nil || p.json {
		return p.orJSON(did, err)
	}
	for _, l := range did.Left {
		p.notice("left as it is: %s (%s)", plain.Line(l.Path), plain.Line(l.Why))
	}
	if did.What != "talk" {
		_, err = fmt.Fprintln(p.Stdout, counted(did.Files, "file")+" changed")
	}
	return err
}

func (p *Program) listUndoable(all wire.Undoable) error {
	var rows [][]string
	for _, t := range all.Turns {
		files := "files kept"
		switch {
		case t.NoFiles != "":
			files = "no files: " + plain.Line(t.NoFiles)
		case t.Changed != nil:
			files = strconv.Itoa(*t.Changed) + " changed"
		}
		rows = append(rows, []string{strconv.Itoa(t.Turn), files, plain.Line(t.Prompt)})
	}
	if all.Redo != nil {
		p.notice("abide redo reverses the undo to before turn %d", all.Redo.Turn)
	}
	return p.table(rows)
}
