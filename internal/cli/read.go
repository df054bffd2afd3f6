package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/playback"
	"github.com/abidehub/abide/session/transcript"
)

const (
	// firstPage is small so that the first words are there at once.
	firstPage = 50
	// recent is how many events tail and attach begin with.
	recent = 50
)

// levelFlags adds --compact and --full.
type levelFlags struct{ compact, full bool }

func (l *levelFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.compact, "compact", false, "only what people and the agent said")
	cmd.Flags().BoolVar(&l.full, "full", false, "thoughts, plans, changes and the output of tools, too")
}

func (l *levelFlags) level(raw bool) (plain.Level, error) {
	switch {
	case l.compact && l.full, raw && (l.compact || l.full):
		return 0, Usagef("--compact, --full and --raw exclude one another")
	case l.compact:
		return plain.Compact, nil
	case l.full:
		return plain.Full, nil
	}
	return plain.Normal, nil
}

// sink takes events, in order. flush is called after each batch and close after
// the last one.
type sink struct {
	write        func(event.Event) error
	flush, close func() error
	joined       bool // runs of chunks of one message may come as one event
}

// feedSink writes events as text for people.
func feedSink(w io.Writer, level plain.Level, style plain.Style) sink {
	out := bufio.NewWriterSize(w, 64<<10)
	feed := plain.NewFeed(out, level, style)
	return sink{write: feed.Write, flush: out.Flush, close: func() error { return errors.Join(feed.Close(), out.Flush()) }}
}

// foldedSink is feedSink with each message and call whole, written when its turn has ended.
func foldedSink(w io.Writer, level plain.Level, style plain.Style) sink {
	out := bufio.NewWriterSize(w, 64<<10)
	folded := plain.NewFolded(plain.NewFeed(out, level, style))
	return sink{write: folded.Write, flush: out.Flush, close: func() error { return errors.Join(folded.Close(), out.Flush()) }}
}

// rawSink writes each event as one line of JSON.
func rawSink(w io.Writer) sink {
	out := bufio.NewWriterSize(w, 64<<10)
	return sink{write: func(e event.Event) error { return WriteJSON(out, e) }, flush: out.Flush, close: out.Flush}
}

// turns writes each turn as one line of JSON once the next one begins. The chunks of
// a message should come joined: a transcript copies the whole text for each event.
type turns struct {
	out  *bufio.Writer
	fold transcript.Transcript
}

func turnSink(w io.Writer) sink {
	t := &turns{out: bufio.NewWriterSize(w, 64<<10)}
	return sink{write: t.write, flush: t.out.Flush, close: t.end, joined: true}
}

func (t *turns) write(e event.Event) error {
	if e.Type == event.TypeUserPrompt {
		if err := t.end(); err != nil {
			return err
		}
	}
	t.fold.LastSeq = e.Seq - 1
	return t.fold.Apply(e)
}

func (t *turns) end() error {
	for _, turn := range t.fold.Turns {
		if err := WriteJSON(t.out, turn); err != nil {
			return err
		}
	}
	t.fold = transcript.Transcript{}
	return t.out.Flush()
}

// changedLast says which files the last turn changed.
func (p *Program) changedLast(t playback.Turn, folder string) {
	all := len(t.Files) + t.FilesLeftOut
	if all == 0 {
		return
	}
	var paths []string
	for _, f := range t.Files {
		paths = append(paths, strings.TrimPrefix(f.Path, folder+"/"))
	}
	p.notice("the last turn changed %s: %s (+%d -%d)", counted(all, "file"), firstOf(paths, all), t.Added, t.Removed)
}

func (p *Program) show() *cobra.Command {
	var level levelFlags
	cmd := p.onSession(&cobra.Command{
		Use:   "show ID",
		Short: "Print a session from its beginning to now",
		Long: "Print a session from its beginning to now: prompts, what the agent said, and a line for each tool call.\n" +
			"With --json, one turn a line.",
		Example: "abide show -\nabide show 9f3a --compact | less\nabide show 9f3a --full | sed -n '/^--- /,/^$/p' >changes.diff",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		style, err := p.style(p.Stdout)
		if err != nil {
			return err
		}
		much, err := level.level(false)
		if err != nil {
			return err
		}
		to := foldedSink(p.Stdout, much, style)
		if p.json {
			to = turnSink(p.Stdout)
		}
		if err := p.read(ctx, hub, s, s.MinSeq, to); err != nil || p.json {
			return err
		}
		// A viewer may not know, and an imported session has no folder here.
		if branch, err := hub.Branch(ctx, s.SessionID); err == nil && branch.Repository {
			p.notice("%s", plain.Line(standing(branch)))
		}
		if o, err := hub.Overview(ctx, s.SessionID); err == nil && len(o.Turns) > 0 {
			p.changedLast(*o.Turns[len(o.Turns)-1], s.Workspace)
		}
		if s.Continue == "" {
			return nil
		}
		p.notice("in the agent's own terminal: %s", plain.Line(s.Continue))
		return nil
	})
	level.add(cmd)
	p.JSONFlag(cmd)
	p.colorFlag(cmd)
	return cmd
}

// read hands the events from a seq to the present end to a sink, page by page.
func (p *Program) read(ctx context.Context, hub *client.Hub, s wire.SessionInfo, from event.Seq, to sink) error {
	epoch := s.Epoch
	for after, limit := max(from, s.MinSeq)-1, firstPage; after < s.MaxSeq; limit = wire.MaxPage {
		events := hub.EventsAfter
		if to.joined {
			events = hub.JoinedAfter
		}
		page, err := events(ctx, s.SessionID, after, limit)
		if err != nil {
			return err
		}
		if page.Epoch != epoch || page.Verdict == wire.VerdictReset {
			p.notice("the log changed while it was read; what follows begins at %d", page.FirstSeq)
			epoch = page.Epoch
		}
		for _, e := range page.Events {
			if err := to.write(e); err != nil {
				return err
			}
		}
		if err := to.flush(); err != nil {
			return err
		}
		if len(page.Events) == 0 {
			break
		}
		after = page.LastSeq
	}
	return to.close()
}

func (p *Program) tail() *cobra.Command {
	var level levelFlags
	var follow, raw bool
	var from int64
	var limit time.Duration
	cmd := p.onSession(&cobra.Command{
		Use:   "tail ID",
		Short: "Print the newest events of a session, and what comes with -f",
		Long: "Print the newest 50 events of a session. With -f it continues with each event as it comes, through restarts of\n" +
			"the hub, until Ctrl-C. With --raw, or --json, one event a line, as docs/protocol.md has it.",
		Example: "abide tail -f -\nabide tail 9f3a --from 1 --raw >session.jsonl",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		style, err := p.style(p.Stdout)
		if err != nil {
			return err
		}
		begin := max(s.MaxSeq-recent+1, s.MinSeq)
		if from > 0 {
			begin = max(event.Seq(from), s.MinSeq)
		} else if from < 0 {
			return Usagef("--from is the number of an event, from 1 on")
		}
		much, err := level.level(raw)
		if err != nil {
			return err
		}
		to := feedSink(p.Stdout, much, style)
		if raw || p.json {
			to = rawSink(p.Stdout)
		}
		if !follow {
			return p.read(ctx, hub, s, begin, to)
		}
		begin = min(begin, s.MaxSeq+1)
		ctx, stop := limited(ctx, limit)
		defer stop()
		err = p.follow(ctx, hub, s, begin-1, func(u client.Update) error {
			for _, e := range u.Events {
				if err := to.write(e); err != nil {
					return err
				}
			}
			return to.flush()
		})
		return overTime(ctx, limit, errors.Join(err, to.close()))
	})
	level.add(cmd)
	cmd.Flags().DurationVar(&limit, "timeout", 0, "with -f, continue for `T` at most, such as 90s or 10m; then exit with 5")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue with new events")
	cmd.Flags().BoolVar(&raw, "raw", false, "one event a line, as JSON")
	cmd.Flags().Int64Var(&from, "from", 0, "begin with event `SEQ` instead of the newest 50")
	p.JSONFlag(cmd)
	p.colorFlag(cmd)
	return cmd
}

// follow hands each piece of news after a seq to each, over any number of
// connections. Ctrl-C ends it without an error.
func (p *Program) follow(ctx context.Context, hub *client.Hub, s wire.SessionInfo, after event.Seq, each func(client.Update) error) error {
	lost := false
	err := client.NewWatch(hub, s.SessionID, client.Cursor{Epoch: s.Epoch, Seq: after}).Run(ctx, func(u client.Update) error {
		switch {
		case u.Lost != nil && !lost:
			lost = true
			p.notice("the connection to the hub was lost; trying again")
		case u.Connected != nil && lost:
			lost = false
			p.notice("connected again")
		case u.Reset:
			p.notice("the log of this session is another one now; going on with its newest events")
		}
		return each(u)
	})
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil
	case errors.Is(err, client.ErrSessionGone):
		return withCode(ExitNotFound, "session %s was deleted", s.SessionID)
	}
	return err
}

// notice tells a person on stderr about the connection.
func (p *Program) notice(format string, args ...any) {
	for i, arg := range args {
		if err, is := arg.(error); is {
			args[i] = Words(err)
		}
	}
	fmt.Fprintf(p.Stderr, "abide: %s\n", plain.Line(fmt.Sprintf(format, args...)))
}

// say tells a person at a terminal what was done.
func (p *Program) say(words string) {
	if isTerminal(p.Stdout) && words != "" && !p.json {
		p.notice("%s", words)
	}
}

// told says what was done, or passes an error on.
func (p *Program) told(words string, err error) error {
	if err == nil {
		p.say(words)
	}
	return err
}

// branch shows where a session's branch stands, or acts on it.
func (p *Program) branch() *cobra.Command {
	var to branchFlags
	cmd := p.onSession(&cobra.Command{
		Use: "branch ID [commit [FILE…] | update | merge | push | pull-request | discard]", Short: "Show where a session's branch stands, or act on it",
		Long: "Show where a session's branch stands beside its base. With commit, commit the files that differ in its workspace, or the named ones, relative to the workspace; " +
			"without --message it takes what was asked for since the latest commit and the agent's last words, after asking. With update, bring the commits of the base to the branch; with merge, bring those of the branch to its base. " +
			"No hook of the repository runs; your git signs what is made, where it is to and projects.FOLDER.git.sign is on. A file that a filter or the line ends of core.autocrlf would change is refused. " +
			"With push, push the branch as you would by hand, where projects.FOLDER.git.push is on; else it prints the command. With pull-request, print the page of the remote's host that makes a pull request, filled in; where projects.FOLDER.git.pull_requests names gh or glab, that makes it, and its address is printed. " +
			"With discard, remove the session's own working copy with its branch; what would be lost is named first.",
		Example: "abide branch 9f3a\nabide branch 9f3a commit -m 'Trim white space'\nabide branch - commit internal/importer.go -m 'Trim white space'\nabide branch 9f3a update --method rebase\nabide branch 9f3a merge --method squash -m 'Trim white space'\nabide branch 9f3a push",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) > 1 && args[1] == "commit" || len(args) == 2 && slices.Contains(branchActs(), args[1]) {
				return nil
			}
			return fmt.Errorf("branch takes a session, and commit with files, or %s", strings.Join(branchActs(), ", "))
		},
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		if len(args) > 0 {
			return p.actOnBranch(ctx, hub, s, args[0], args[1:], to)
		}
		found, err := hub.Branch(ctx, s.SessionID)
		if err != nil || p.json {
			return p.orJSON(found, err)
		}
		if !found.Repository {
			return withCode(ExitFailed, "the session works in no git repository")
		}
		_, err = fmt.Fprintln(p.Stdout, plain.Line(standing(found)))
		return err
	})
	cmd.Flags().StringVarP(&to.message, "message", "m", "", "the `MESSAGE` of a commit or pull request")
	cmd.Flags().StringVar(&to.method, "method", "merge", "`HOW` to update: merge or rebase; or to merge: merge, squash or ff (only move the base)")
	cmd.Flags().BoolVar(&to.yes, "yes", false, "do not ask")
	p.JSONFlag(cmd)
	return cmd
}

func (p *Program) actOnBranch(ctx context.Context, hub *client.Hub, s wire.SessionInfo, act string, files []string, to branchFlags) error {
	key := rand.Text()
	// Files that are not committed are committed first if the person says so.
	first := func() error { return p.commit(ctx, hub, s, rand.Text(), nil, branchFlags{}) }
	switch act {
	case "update":
		return p.acted(ctx, to.yes, nil, func(confirm []string) (wire.BranchAct, error) {
			return hub.UpdateBranch(ctx, s.SessionID, key, wire.UpdateBranch{Method: to.method, Confirm: confirm})
		})
	case "push":
		return p.acted(ctx, to.yes, first, func(confirm []string) (wire.BranchAct, error) {
			return hub.Push(ctx, s.SessionID, key, wire.PushBranch{Confirm: confirm})
		})
	case "pull-request":
		var page wire.PullRequestPage
		err := p.confirmed(ctx, to.yes, nil, func(confirm []string) (err error) {
			page, err = hub.PullRequest(ctx, s.SessionID, key, wire.MakePullRequest{Message: to.message, Confirm: confirm})
			return err
		})
		if err != nil || p.json {
			return p.orJSON(page, err)
		}
		_, err = fmt.Fprintln(p.Stdout, plain.Line(page.URL))
		return err
	case "discard":
		return p.confirmed(ctx, to.yes, nil, func(confirm []string) error {
			return hub.DiscardBranch(ctx, s.SessionID, wire.DiscardBranch{Confirm: confirm})
		})
	case "merge":
		return p.acted(ctx, to.yes, first, func(confirm []string) (wire.BranchAct, error) {
			return hub.MergeBranch(ctx, s.SessionID, key, wire.MergeBranch{Method: to.method, Message: to.message, Confirm: confirm})
		})
	}
	return p.commit(ctx, hub, s, key, files, to)
}

// commit commits files of the workspace; all that differ if none is named.
func (p *Program) commit(ctx context.Context, hub *client.Hub, s wire.SessionInfo, key string, files []string, to branchFlags) error {
	c := wire.CommitBranch{Message: to.message}
	for _, path := range files {
		c.Files = append(c.Files, filepath.ToSlash(path))
	}
	if c.Message == "" {
		var err error
		if c.Message, err = p.draft(ctx, hub, s, to.yes); err != nil {
			return err
		}
	}
	return p.acted(ctx, to.yes, nil, func(confirm []string) (wire.BranchAct, error) {
		c.Confirm = confirm
		return hub.Commit(ctx, s.SessionID, key, c)
	})
}

// draft asks whether the session's draft of a message is to be taken.
func (p *Program) draft(ctx context.Context, hub *client.Hub, s wire.SessionInfo, yes bool) (string, error) {
	found, err := hub.Branch(ctx, s.SessionID)
	if err != nil {
		return "", err
	}
	if found.Draft == "" || !yes && !p.interactive() {
		return "", Usagef("name a message: -m MESSAGE")
	}
	if yes {
		return found.Draft, nil
	}
	for line := range strings.Lines(found.Draft) {
		fmt.Fprintln(p.Stderr, "  "+plain.Line(strings.TrimSuffix(line, "\n")))
	}
	sure, err := p.ask(ctx, time.Now(), "Commit with this message? [y/N] ")
	if err == nil && !strings.EqualFold(sure, "y") && !strings.EqualFold(sure, "yes") {
		err = withCode(ExitFailed, "nothing was committed")
	}
	return found.Draft, err
}

// acted does an act on a branch. What needs a confirmation is asked.
func (p *Program) acted(ctx context.Context, yes bool, first func() error, do func(confirm []string) (wire.BranchAct, error)) error {
	var done wire.BranchAct
	err := p.confirmed(ctx, yes, first, func(confirm []string) (err error) {
		done, err = do(confirm)
		return err
	})
	if err != nil || p.json {
		return p.orJSON(done, err)
	}
	_, err = fmt.Fprintln(p.Stdout, acted(done))
	return err
}

// confirmed does something, and asks for what needs a confirmation. Where files are not
// committed, the person may have them committed by first, if it is not nil.
func (p *Program) confirmed(ctx context.Context, yes bool, first func() error, do func(confirm []string) error) error {
	var confirm []string
	for {
		err := do(confirm)
		var refused *client.RefusedError
		if !errors.As(err, &refused) || len(refused.Needs) == 0 || len(confirm) > 5 {
			return err
		}
		uncommitted := first != nil && slices.Contains(refused.Needs, "uncommitted")
		if !yes {
			what, question := plain.Line(refused.Message), "Go on? [y/N] "
			switch {
			case !p.interactive() && uncommitted:
				return withCode(ExitRefused, "%s (commit them first, or --yes goes on without them)", what)
			case !p.interactive():
				return withCode(ExitRefused, "%s (--yes confirms)", what)
			case uncommitted:
				question = "Commit them first (c), or go on without them (y)? [c/y/N] "
			}
			answer, failed := p.ask(ctx, time.Now(), what+".\n"+question)
			switch answer = strings.ToLower(answer); {
			case failed == nil && uncommitted && (answer == "c" || answer == "commit"):
				if err := first(); err != nil {
					return err
				}
				continue
			case failed != nil || answer != "y" && answer != "yes":
				return withCode(ExitFailed, "nothing was changed")
			}
		}
		confirm = append(confirm, refused.Needs...)
	}
}
