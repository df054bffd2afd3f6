package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// resumeAnswer is the output of resume --json.
type resumeAnswer struct {
	SessionID      string `json:"session_id"`
	InterruptionID string `json:"interruption_id,omitempty"`
	wire.Resumed
}

func (p *Program) resume() *cobra.Command {
	var way string
	var apply, keep, withoutSetup bool
	var confirm []string
	cmd := p.onSession(&cobra.Command{
		Use:   "resume ID",
		Short: "Resume an interrupted turn, or a paused session",
		Long: "Resume a paused session, or start its agent again: its queue goes on. An interrupted turn is resumed: the agent is told what it had done, and how the workspace is now. Where\n" +
			"something has changed since, the hub wants it confirmed: it exits with 4 and names the flags. An agent that comes back with other\n" +
			"settings, such as a mode that allows more, is given nothing until one of --apply-session-settings and\n" +
			"--keep-current-config says which count. The way segmented tells a new agent session all of this one: how much\n" +
			"that is goes to stderr before it starts, and then how far it is; abide cancel ends it.",
		Example: "abide resume -\nabide resume 9f3a --confirm stale --apply-session-settings",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		if apply && keep {
			return Usagef("--apply-session-settings and --keep-current-config exclude each other")
		}
		open, err := hub.Interruption(ctx, s.SessionID)
		if notFound(err) {
			return p.bringBack(ctx, hub, s, wire.Resume{Way: way, Drift: driftChoice(apply, keep), Confirm: confirm, WithoutSetup: withoutSetup})
		}
		if err != nil {
			return err
		}
		request := wire.Resume{InterruptionID: open.InterruptionID, Way: way, Drift: driftChoice(apply, keep), Confirm: confirm, WithoutSetup: withoutSetup}
		p.tellEstimate(open, way)
		resumed, err := hub.Resume(ctx, s.SessionID, request)
		if refused := (*client.RefusedError)(nil); errors.As(err, &refused) && len(refused.Needs) > 0 {
			return withCode(ExitRefused, "%w%s: %s", err, driftWords(open.Drift), strings.Join(confirming(refused.Needs), " "))
		}
		if err != nil {
			return err
		}
		if err := p.begun(ctx, hub, s, resumed); err != nil || !p.json {
			return err
		}
		return p.PrintJSON(resumeAnswer{s.SessionID, open.InterruptionID, resumed})
	})
	cmd.Flags().StringVar(&way, "way", "", "how the agent gets its memory back: `W` is auto, server, local or segmented (default auto)")
	cmd.Flags().StringArrayVar(&confirm, "confirm", nil, "confirm `WHAT` has changed; may be given again")
	cmd.Flags().BoolVar(&apply, "apply-session-settings", false, "give the agent the session's recorded mode, model and options again")
	cmd.Flags().BoolVar(&keep, "keep-current-config", false, "keep the settings with which the agent comes back")
	cmd.Flags().BoolVar(&withoutSetup, "without-setup", false, "leave out the working copy's set-up command, which failed")
	p.JSONFlag(cmd)
	return cmd
}

// bringBack resumes a session of which no turn is interrupted.
func (p *Program) bringBack(ctx context.Context, hub *client.Hub, s wire.SessionInfo, r wire.Resume) error {
	if r.Drift != "" || len(r.Confirm) > 0 || r.WithoutSetup {
		return withCode(ExitNotFound, "%s has no interrupted turn: only --way can be given", s.SessionID)
	}
	resumed, err := hub.Resume(ctx, s.SessionID, r)
	if err != nil {
		return err
	}
	if p.json {
		return p.PrintJSON(resumeAnswer{SessionID: s.SessionID, Resumed: resumed})
	}
	p.say("resumed")
	return nil
}

func (p *Program) pause() *cobra.Command {
	return p.quiet(&cobra.Command{
		Use: "pause ID", Short: "Stop a session's work until it is resumed",
		Long: "Stop a session's work until it is resumed: its turn is interrupted, its agent stopped, and queued prompts wait.\n" +
			"abide resume, or a prompt, goes on.",
		Example: "abide pause -", Args: cobra.ExactArgs(1),
	}, "paused", func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) (wire.SessionInfo, error) {
		if _, err := hub.Pause(ctx, s.SessionID); err != nil {
			return s, err
		}
		return hub.Session(ctx, s.SessionID)
	})
}

const driftFlags = "--apply-session-settings or --keep-current-config"

func driftChoice(apply, keep bool) string {
	switch {
	case apply:
		return "apply"
	case keep:
		return "keep"
	}
	return ""
}

// confirming are the flags that confirm a hub's warnings.
func confirming(needs []string) []string {
	var flags []string
	for _, need := range needs {
		if need == "drift" {
			flags = append(flags, driftFlags)
		} else {
			flags = append(flags, "--confirm "+need)
		}
	}
	return flags
}

// driftWords names the settings that differ, in brackets.
func driftWords(rows []wire.Drift) string {
	if len(rows) == 0 {
		return ""
	}
	var list []string
	for _, d := range rows {
		list = append(list, plain.Line(d.Field+" "+cmp.Or(d.Current, "not offered")+", recorded "+d.Recorded))
	}
	return " (" + strings.Join(list, "; ") + ")"
}

// tellEstimate says how much an agent is told by the way segmented.
func (p *Program) tellEstimate(open wire.Offer, way string) {
	for _, w := range open.Ways {
		if way == string(event.WaySegmented) && w.Way == event.WaySegmented && w.Available {
			p.notice("the agent gets the session in %s, about %d tokens", counted(w.Segments, "segment"), w.Tokens)
		}
	}
}

// errNotGiven says that the agent was not given the prompt.
var errNotGiven = errors.New("the prompt was not given to the agent")

// restoring says how far a restore is, once for each segment.
type restoring struct {
	p    *Program
	done int
}

func (r *restoring) tell(s *wire.State) {
	if s == nil || s.Restore == nil || s.Restore.Done == r.done {
		return
	}
	r.done = s.Restore.Done
	r.p.notice("segment %d of %d, %d %%", s.Restore.Done, s.Restore.Total, s.Restore.Percent)
}

// begun waits until the agent is given the prompt, or is not because it came back
// with other settings, or was not told the whole session.
func (p *Program) begun(ctx context.Context, hub *client.Hub, s wire.SessionInfo, resumed wire.Resumed) error {
	var paused bool
	progress := restoring{p: p}
	err := p.follow(ctx, hub, s, s.MaxSeq, func(u client.Update) error {
		progress.tell(u.State)
		for _, e := range u.Events {
			payload, err := e.Payload()
			if err != nil {
				continue // of another version
			}
			switch of := payload.(type) {
			case event.TurnStart:
				if of.PromptID == resumed.PromptID {
					return errEnded
				}
			case event.TurnInterrupted:
				paused = paused || of.PromptID == resumed.PromptID && of.Reason == event.CutPaused
			case event.TurnEnd:
				if of.PromptID == resumed.PromptID {
					return errNotGiven
				}
			}
		}
		return nil
	})
	switch {
	case err == nil, errors.Is(err, errEnded):
		return nil
	case !errors.Is(err, errNotGiven), !paused:
		return err
	}
	why, err := choice(ctx, hub, s)
	if err != nil {
		return err
	}
	return withCode(ExitRefused, "%s", why)
}

// choice says what a turn that has not begun waits for.
func choice(ctx context.Context, hub *client.Hub, s wire.SessionInfo) (string, error) {
	open, err := interruption(ctx, hub, s)
	if err != nil {
		return "", err
	}
	if s := open.Setup; s != nil {
		return fmt.Sprintf("waiting for your choice: the set-up command failed (%s): %s; resume runs it again, with --without-setup the agent starts without it",
			plain.Line(s.Failed), plain.Line(strings.Join(s.Command, " "))), nil
	}
	return fmt.Sprintf("waiting for your choice: the agent has other settings and is given nothing%s: resume with %s", driftWords(open.Drift), driftFlags), nil
}

func (p *Program) dismiss() *cobra.Command {
	return p.quiet(&cobra.Command{
		Use: "dismiss ID", Short: "Leave an interrupted turn as it is",
		Long:    "Leave an interrupted turn as it is. Queued prompts continue.",
		Example: "abide dismiss -", Args: cobra.ExactArgs(1),
	}, "dismissed", func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) (wire.SessionInfo, error) {
		open, err := interruption(ctx, hub, s)
		if err != nil {
			return s, err
		}
		if err := hub.Dismiss(ctx, s.SessionID, open.InterruptionID); err != nil {
			return s, err
		}
		return hub.Session(ctx, s.SessionID)
	})
}

func interruption(ctx context.Context, hub *client.Hub, s wire.SessionInfo) (wire.Offer, error) {
	open, err := hub.Interruption(ctx, s.SessionID)
	if notFound(err) {
		err = withCode(ExitNotFound, "%s has no interrupted turn", s.SessionID)
	}
	return open, err
}

func notFound(err error) bool {
	refused := (*client.RefusedError)(nil)
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

func (p *Program) fork() *cobra.Command {
	var b beginning
	var at int64
	var files string
	cmd := p.onSession(&cobra.Command{
		Use: "fork ID [PROMPT]", Short: "Continue a session in a new one, from its end or an event; print the id",
		Long: "Make a session that begins with what was said in another one, up to its end or an event, and print its id. The other one stays as it is.\n" +
			"With PROMPT, or stdin for -, the new session is asked at once.",
		Example: "abide fork - --worktree 'Try it with a queue instead'\nabide fork 9f3a --at 120\nabide fork 9f3a --at 120 --worktree --files before",
		Args:    cobra.RangeArgs(1, 2),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		request := wire.NewFork{Seq: event.Seq(at), Agent: b.agent, Files: files}
		if at == 0 {
			request.Seq = s.MaxSeq
		}
		switch {
		case files != "" && files != "before" && files != "end":
			return Usagef("--files is before or end, not %q", files)
		case files != "" && !b.worktree:
			return Usagef("--files goes with --worktree; abide undo puts the files of the folder itself back")
		}
		var err error
		if request.Worktree, err = b.newWorktree(); err != nil {
			return err
		}
		if b.folder != "" {
			if request.Workspace, err = p.folder(b.folder); err != nil {
				return err
			}
		}
		prompt := ""
		if len(args) > 0 {
			if prompt, err = p.words(args[0]); err != nil {
				return err
			}
		}
		key := client.NewKey()
		made, err := client.Again(ctx, func() (wire.SessionInfo, error) { return hub.Fork(ctx, s.SessionID, request, key) })
		if err != nil {
			return err
		}
		if prompt != "" {
			ask := wire.NewPrompt{PromptID: key, Text: prompt}
			if _, err = client.Again(ctx, func() (wire.PromptAnswer, error) { return hub.Ask(ctx, made.SessionID, ask) }); err != nil {
				return err
			}
		}
		if p.json {
			return p.PrintJSON(made)
		}
		_, err = fmt.Fprintln(p.Stdout, made.SessionID)
		return err
	})
	cmd.Flags().StringVar(&files, "files", "", "with --worktree, begin from the files as they were `WHEN`: before the prompt of that event's turn, or at its end (default: those of the commit)")
	cmd.Flags().Int64Var(&at, "at", 0, "continue from the event with this `SEQ` (default: the end)")
	cmd.Flags().StringVar(&b.agent, "agent", "", "the configured agent `A` (default: that of the session)")
	cmd.Flags().StringVar(&b.folder, "folder", "", "work in folder `F` (default: that of the session)")
	b.addWorktree(cmd, "the folder's commit by then")
	p.JSONFlag(cmd)
	return cmd
}

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

// mostNamedFiles limits the files of a turn that a line names.
const mostNamedFiles = 3

// changedOf names the files that a turn changed.
func changedOf(t wire.UndoTurn) string {
	var paths []string
	for _, f := range t.ChangedFiles {
		paths = append(paths, f.Path)
	}
	if len(paths) == 0 {
		return ""
	}
	return ": " + firstOf(paths, *t.Changed)
}

// firstOf names the first of all paths.
func firstOf(paths []string, all int) string {
	paths = paths[:min(len(paths), mostNamedFiles)]
	words := plain.Line(strings.Join(paths, ", "))
	if more := all - len(paths); more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words
}

func (p *Program) listUndoable(all wire.Undoable) error {
	var rows [][]string
	for _, t := range all.Turns {
		files := "files kept"
		switch {
		case t.NoFiles != "":
			files = "no files: " + plain.Line(t.NoFiles)
		case t.Changed != nil:
			files = strconv.Itoa(*t.Changed) + " changed" + changedOf(t)
		}
		rows = append(rows, []string{strconv.Itoa(t.Turn), files, plain.Line(t.Prompt)})
	}
	if all.Redo != nil {
		p.notice("abide redo reverses the undo to before turn %d", all.Redo.Turn)
	}
	return p.table(rows)
}
