package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// words is the text of a prompt: the argument, or stdin for "-".
func (p *Program) words(argument string) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	data, err := io.ReadAll(io.LimitReader(p.Stdin, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("reading the prompt: %w", err)
	}
	if len(data) > maxPrompt {
		return "", Usagef("the prompt on stdin is larger than 1 MiB: give it as a file, with --attach")
	}
	return strings.TrimRight(string(data), "\n"), nil
}

// begun is a new session, and the prompt that it was given.
type begun struct {
	wire.SessionInfo
	ask wire.NewPrompt
}

// begin makes a session and asks the prompt, if there is one.
func (p *Program) begin(ctx context.Context, hub *client.Hub, b beginning, prompt string) (begun, error) {
	for _, path := range b.files { // before anything is made
		f, err := open(path)
		if err != nil {
			return begun{}, err
		}
		f.Close()
	}
	if len(b.files) > 0 && prompt == "" {
		return begun{}, Usagef("--attach goes with a prompt")
	}
	folder, err := p.placed(b.machine, b.folder)
	if err != nil {
		return begun{}, err
	}
	copied, err := b.newWorktree()
	if err != nil {
		return begun{}, err
	}
	options, err := optionsOf(b.options)
	if err != nil {
		return begun{}, err
	}
	request := wire.NewSession{Machine: b.machine, Agent: b.agent, Workspace: folder, Name: b.name, Prompt: prompt, Mode: b.mode, Model: b.model, Options: options, Worktree: copied}
	if len(b.files) > 0 {
		request.Prompt = ""
	}
	key := client.NewKey() // and the id of the session's prompt
	made, err := client.Again(ctx, func() (wire.SessionInfo, error) { return hub.Create(ctx, request, key) })
	one := begun{SessionInfo: made, ask: wire.NewPrompt{PromptID: key, Text: prompt}}
	if err != nil || len(b.files) == 0 {
		return one, err
	}
	one.ask.PromptID = client.NewKey()
	if one.ask.Attachments, err = upload(ctx, hub, made.SessionID, b.files); err != nil {
		return one, err
	}
	_, err = client.Again(ctx, func() (wire.PromptAnswer, error) { return hub.Ask(ctx, made.SessionID, one.ask) })
	return one, err
}

// placed is the folder that is named, here or on a machine.
func (p *Program) placed(machine, named string) (string, error) {
	if machine != "" {
		return named, nil
	}
	return p.folder(named)
}

func (p *Program) folder(named string) (string, error) {
	if named == "" && p.hub != "" {
		return "", nil
	}
	if strings.HasPrefix(named, "~") {
		return "", Usagef("%s: the shell did not expand ~; give the whole path", named)
	}
	path, err := filepath.Abs(named)
	if err != nil {
		return "", fmt.Errorf("finding the folder: %w", err)
	}
	if p.hub != "" {
		return path, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return "", withCode(ExitNotFound, "there is no folder %s", path)
	}
	return path, nil
}

// adopt lists the sessions that an agent stores, or continues one.
func (p *Program) adopt() *cobra.Command {
	var folder, cursor string
	cmd := p.onHub(&cobra.Command{
		Use: "adopt AGENT [ID]", Short: "Continue a session that an agent has from before; without ID, list them",
		Long: "Continue a session that an agent has from before, as from its own terminal, and print the id of the session here. " +
			"Its history comes with it. The same again prints the same id.\n\nWithout ID, list the agent's sessions by folder and time.",
		Example: "abide adopt claude\nabide adopt claude 0b5d1c1e-5f0c-4a86-9d5c-6f2f3a0b8a11", Args: cobra.RangeArgs(1, 2),
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		workspace := ""
		if folder != "" {
			var err error
			if workspace, err = p.folder(folder); err != nil {
				return err
			}
		}
		if len(args) == 1 {
			page, err := hub.PastSessions(ctx, args[0], workspace, cursor)
			if err != nil || p.json {
				return p.orJSON(page, err)
			}
			return p.printPast(page)
		}
		if cursor != "" {
			return Usagef("--cursor goes with the list")
		}
		made, err := client.Again(ctx, func() (wire.SessionInfo, error) {
			return hub.Adopt(ctx, args[0], wire.Adopt{AgentSessionID: args[1], Workspace: workspace})
		})
		if err != nil || p.json {
			return p.orJSON(made, err)
		}
		_, err = fmt.Fprintln(p.Stdout, made.SessionID)
		return err
	})
	cmd.Flags().StringVar(&folder, "folder", "", "list the sessions of folder `F` only; with ID, continue it in F (default: its own)")
	cmd.Flags().StringVar(&cursor, "cursor", "", "list the page at `CURSOR`, which the page before names")
	p.JSONFlag(cmd)
	return cmd
}

func (p *Program) printPast(page wire.PastSessions) error {
	var rows [][]string
	for _, s := range page.Sessions {
		when := ""
		if s.UpdatedAt != nil {
			when = plain.Ago(time.Since(*s.UpdatedAt))
		}
		row := []string{plain.Line(s.AgentSessionID), when, plain.Line(s.Folder), plain.Line(s.Title)}
		switch {
		case s.SessionID != "":
			row = append(row, "here as "+plain.Line(s.SessionID))
		case s.Refused != "":
			row = append(row, "not continued: "+plain.Line(s.Refused))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		fmt.Fprintln(p.Stderr, "The agent lists no sessions.")
	}
	if err := p.table(rows); err != nil {
		return err
	}
	if page.LeftOut > 0 {
		fmt.Fprintf(p.Stderr, "%s of this page left out: name a --workspace to see fewer, or continue one by its ID\n", counted(page.LeftOut, "session"))
	}
	if page.NextCursor != "" {
		fmt.Fprintf(p.Stderr, "More: --cursor %s\n", plain.Line(page.NextCursor))
	}
	return nil
}

func (p *Program) create() *cobra.Command {
	var b beginning
	cmd := p.onHub(&cobra.Command{
		Use: "new [PROMPT]", Short: "Make a session, and print its id",
		Long:    "Make a session, ask the prompt if there is one, and print the session's id. A prompt of - is read from stdin.",
		Example: "abide new 'fix the failing test'\nid=$(abide new --agent claude --folder ~/src/app - <task.md)",
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		prompt, err := p.words(strings.Join(args, ""))
		if err != nil {
			return err
		}
		if len(args) > 0 && strings.TrimSpace(prompt) == "" {
			return Usagef("the prompt is empty: leave it out, or say something")
		}
		made, err := p.begin(ctx, hub, b, prompt)
		if err != nil || p.json {
			return p.orJSON(made.SessionInfo, err)
		}
		_, err = fmt.Fprintln(p.Stdout, made.SessionID)
		return err
	})
	b.add(cmd)
	b.addFiles(cmd)
	p.JSONFlag(cmd)
	return cmd
}

func (p *Program) cancel() *cobra.Command {
	return p.quiet(&cobra.Command{
		Use: "cancel ID", Short: "Stop the turn of a session", Example: "abide cancel -", Args: cobra.ExactArgs(1),
	}, "the agent was asked to stop", func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) (wire.SessionInfo, error) {
		if err := hub.Cancel(ctx, s.SessionID); err != nil {
			return s, err
		}
		return hub.Session(ctx, s.SessionID)
	})
}

// quiet makes a command that changes a session and prints it with --json only. A person at
// a terminal is told what was done.
func (p *Program) quiet(cmd *cobra.Command, done string, change func(context.Context, *client.Hub, wire.SessionInfo, []string) (wire.SessionInfo, error)) *cobra.Command {
	cmd = p.onSession(cmd, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		changed, err := change(ctx, hub, s, args)
		if err != nil || p.json {
			return p.orJSON(changed, err)
		}
		p.say(done)
		return nil
	})
	p.JSONFlag(cmd)
	return cmd
}

func (p *Program) rename() *cobra.Command {
	return p.quiet(&cobra.Command{
		Use: "rename ID NAME", Short: "Give a session another name", Example: "abide rename 9f3a 'the flaky test'", Args: cobra.ExactArgs(2),
	}, "renamed", func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) (wire.SessionInfo, error) {
		return hub.Update(ctx, s.SessionID, wire.SessionPatch{Name: &args[0]})
	})
}

func (p *Program) pin() *cobra.Command {
	return p.label("pin", "Keep a session at the top of lists", func(on bool) wire.SessionPatch { return wire.SessionPatch{Pinned: &on} })
}

func (p *Program) archive() *cobra.Command {
	return p.label("archive", "Take a session out of the list, without deleting it", func(on bool) wire.SessionPatch { return wire.SessionPatch{Archived: &on} })
}

func (p *Program) resumable() *cobra.Command {
	return p.label("resumable", "Mark a session as one to resume", func(on bool) wire.SessionPatch { return wire.SessionPatch{Resumable: &on} })
}

func (p *Program) label(name, short string, patch func(on bool) wire.SessionPatch) *cobra.Command {
	var off bool
	var after leaving
	cmd := p.quiet(&cobra.Command{
		Use: name + " ID", Short: short, Example: "abide " + name + " 9f3a\nabide " + name + " 9f3a --off", Args: cobra.ExactArgs(1),
	}, "", func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) (wire.SessionInfo, error) {
		words := map[string]string{"pin": "pinned", "archive": "archived", "resumable": "marked to be resumed"}[name]
		if off {
			words = "not " + words + " any more"
		}
		if name != "archive" || off {
			changed, err := hub.Update(ctx, s.SessionID, patch(!off))
			return changed, p.told(words, err)
		}
		decided, err := p.decide(ctx, s, after)
		if err != nil {
			return s, err
		}
		changed, err := hub.Update(ctx, s.SessionID, patch(true))
		if err != nil {
			return changed, err
		}
		return changed, p.told(words, p.leave(ctx, hub, s, decided))
	})
	cmd.Flags().BoolVar(&off, "off", false, "undo it")
	if name == "archive" {
		after.add(cmd)
	}
	return cmd
}

func (p *Program) end() *cobra.Command {
	var reason, result string
	var drop bool
	var after leaving
	cmd := p.quiet(&cobra.Command{
		Use: "end ID", Short: "End a session; a later prompt makes it live again",
		Example: "abide end - --reason 'merged'", Args: cobra.ExactArgs(1),
	}, "the session is ended", func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) (wire.SessionInfo, error) {
		if result != "" && !json.Valid([]byte(result)) {
			return s, Usagef("--result is not JSON")
		}
		if waiting, err := hub.Queue(ctx, s.SessionID); err == nil && len(waiting) > 0 && !drop && p.interactive() {
			sure, err := p.ask(ctx, time.Now(), fmt.Sprintf("remove %s and end “%s”? [y/N] ", counted(len(waiting), "waiting prompt"), plain.Line(s.Name)))
			if err != nil || !strings.EqualFold(sure, "y") && !strings.EqualFold(sure, "yes") {
				return s, withCode(ExitFailed, "nothing was ended")
			}
			drop = true
		}
		decided, err := p.decide(ctx, s, after)
		if err != nil {
			return s, err
		}
		ended, err := hub.End(ctx, s.SessionID, wire.EndSession{Reason: reason, Result: json.RawMessage(result), DropQueue: drop})
		if err != nil {
			return ended, err
		}
		return ended, p.leave(ctx, hub, s, decided)
	})
	after.add(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, in a `WORD` or a few")
	cmd.Flags().StringVar(&result, "result", "", "the session's result, as `JSON`")
	cmd.Flags().BoolVar(&drop, "drop-queue", false, "remove the waiting prompts")
	return cmd
}

// removed is the output of rm --json.
type removed struct {
	SessionID string `json:"session_id"`
	Deleted   bool   `json:"deleted"`
	// Trash means that it can be restored.
	Trash bool `json:"trash"`
}

func (p *Program) remove() *cobra.Command {
	var yes, forever bool
	var after leaving
	cmd := p.onSession(&cobra.Command{
		Use: "rm ID", Short: "Delete a session", Args: cobra.ExactArgs(1),
		Long:    "Delete a session. It can be restored from the trash for some days (abide trash restore ID). With --forever, or where the hub has no trash, it is gone at once.",
		Example: "abide rm 9f3a\nabide rm 9f3a --forever --yes",
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		trash, err := hub.Trash(ctx)
		if err != nil {
			return err
		}
		forever = forever || trash.Days == 0
		if forever && !yes {
			if !p.interactive() {
				return Usagef("deleting a session for good cannot be taken back: say --yes")
			}
			sure, err := p.ask(ctx, time.Now(), fmt.Sprintf("delete “%s”, %d events, for good? [y/N] ", plain.Line(s.Name), s.EventCount))
			if err != nil || !strings.EqualFold(sure, "y") && !strings.EqualFold(sure, "yes") {
				return withCode(ExitFailed, "nothing was deleted")
			}
		}
		decided, err := p.decide(ctx, s, after)
		if err != nil {
			return err
		}
		remove := hub.Delete
		if forever {
			remove = hub.DeleteForever
		}
		if err := remove(ctx, s.SessionID); err != nil {
			return err
		}
		if err := p.leave(ctx, hub, s, decided); err != nil {
			return err
		}
		if p.json {
			return p.PrintJSON(removed{SessionID: s.SessionID, Deleted: true, Trash: !forever})
		}
		if !forever {
			p.notice("deleted; for %s it can be restored: abide trash restore %s", counted(trash.Days, "day"), plain.Line(s.SessionID))
		}
		return nil
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&forever, "forever", false, "do not put it into the trash")
	after.add(cmd)
	p.JSONFlag(cmd)
	return cmd
}

// errNoLine is the end of stdin where a person was asked for a line.
var errNoLine = withCode(ExitFailed, "stdin ended before there was an answer")

// ask asks the person at the terminal for a line. One that was typed before the
// question was there, at the time asked, does not answer it.
func (p *Program) ask(ctx context.Context, asked time.Time, question string) (string, error) {
	fmt.Fprint(p.Stderr, question)
	for {
		select {
		case line, more := <-p.lines():
			if !more {
				fmt.Fprintln(p.Stderr)
				return "", errNoLine
			}
			if line.at.After(asked) {
				return strings.TrimSpace(line.text), nil
			}
		case <-ctx.Done():
			fmt.Fprintln(p.Stderr)
			return "", ctx.Err()
		}
	}
}

// line is a typed line, and its time.
type line struct {
	text string
	at   time.Time
}

// typedAhead is how many lines are read before they are wanted.
const typedAhead = 64

// lines reads stdin line by line, from the first call on. The channel is closed
// at its end. A read cannot be interrupted: the reader ends with stdin or with
// the program.
func (p *Program) lines() <-chan line {
	p.reading.Do(func() {
		p.typed = make(chan line, typedAhead)
		go func() {
			defer close(p.typed)
			scanner := bufio.NewScanner(p.Stdin)
			scanner.Buffer(nil, maxPrompt)
			for scanner.Scan() {
				p.typed <- line{scanner.Text(), time.Now()}
			}
		}()
	})
	return p.typed
}

func (p *Program) comment() *cobra.Command {
	var at string
	var c wire.NewComment
	cmd := p.onSession(&cobra.Command{
		Use:     "comment ID TEXT",
		Short:   "Add a review comment to a session",
		Long:    "Add a review comment to a session, on lines of a file or on an event; without either, on the newest event.",
		Example: "abide comment - 'Should this also trim white space?' --at internal/importer.go:14\nabide comment 9f3a 'Why not the other one?' --seq 35",
		Args:    cobra.ExactArgs(2),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		if err := placeOfComment(at, &c); err != nil {
			return err
		}
		c.Text = args[0]
		if c.FromSeq == 0 {
			c.FromSeq = s.MaxSeq
		}
		made, err := hub.Comment(ctx, s.SessionID, c)
		if err != nil || p.json {
			return p.orJSON(made, err)
		}
		_, err = fmt.Fprintln(p.Stdout, made.CommentID)
		return err
	})
	cmd.Flags().StringVar(&at, "at", "", "the lines of a file, `FILE:LINE` or FILE:FROM-TO")
	cmd.Flags().StringVar(&c.Quote, "quote", "", "the code or words it is about, `TEXT`")
	cmd.Flags().Int64Var((*int64)(&c.FromSeq), "seq", 0, "the event `SEQ` it is about")
	p.JSONFlag(cmd)
	return cmd
}

// removeCopy removes a working copy, after a person confirmed what would be lost.
func (p *Program) removeCopy(ctx context.Context, hub *client.Hub, folder string, discard, yes bool) error {
	path, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("finding the folder: %w", err)
	}
	request := wire.RemoveWorktree{Folder: path, Discard: discard}
	err = hub.RemoveWorktree(ctx, request)
	var refused *client.RefusedError
	if !errors.As(err, &refused) || len(refused.Needs) == 0 {
		return err
	}
	if !yes {
		if !p.interactive() {
			return withCode(ExitRefused, "%s (--yes confirms)", plain.Line(refused.Message))
		}
		sure, failed := p.ask(ctx, time.Now(), plain.Line(refused.Message)+". Remove it? [y/N] ")
		if failed != nil || !strings.EqualFold(sure, "y") && !strings.EqualFold(sure, "yes") {
			return withCode(ExitFailed, "nothing was removed")
		}
	}
	request.Confirm = refused.Needs
	return hub.RemoveWorktree(ctx, request)
}

// leaving are the flags of a command after which a session needs its copy no more.
type leaving struct{ worktree string }

func (l *leaving) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.worktree, "worktree", "", "what becomes of its working copy: `keep`, remove (its branch stays if it has commits of its own) or discard")
}

// decide asks what becomes of the working copy of a session that is left, unless a flag
// says it. It says so where the copy stays.
func (p *Program) decide(ctx context.Context, s wire.SessionInfo, l leaving) (string, error) {
	switch l.worktree {
	case "keep", "remove", "discard":
	case "":
		if s.Worktree == nil {
			return "keep", nil
		}
		l.worktree = "keep"
		if p.interactive() {
			said, err := p.ask(ctx, time.Now(), fmt.Sprintf("its working copy %s, branch %s: [k]eep, [r]emove, or [d]iscard with its branch? ", plain.Line(s.Worktree.Folder), plain.Line(s.Worktree.Branch)))
			if err != nil {
				return "", err
			}
			for _, choice := range []string{"remove", "discard"} {
				if said != "" && strings.HasPrefix(choice, strings.ToLower(said)) {
					l.worktree = choice
				}
			}
		}
	default:
		return "", Usagef("--worktree is keep, remove or discard")
	}
	return l.worktree, nil
}

// leave does what was decided.
func (p *Program) leave(ctx context.Context, hub *client.Hub, s wire.SessionInfo, decided string) error {
	if s.Worktree == nil {
		return nil
	}
	if decided == "keep" {
		p.notice("its working copy stays: %s (abide worktrees)", plain.Line(s.Worktree.Folder))
		return nil
	}
	return p.removeCopy(ctx, hub, s.Worktree.Folder, decided == "discard", false)
}
