package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

// forkTail limits the end of the agent's last message in the summary for a fork, in
// bytes.
const forkTail = 4 << 10

// ForkRequest asks for a new session that begins with a summary of another one up
// to an event.
type ForkRequest struct {
	Seq event.Seq
	// Workspace and Agent default to those of the original.
	Workspace, Agent string
	// Worktree asks for a new git worktree, which begins at the commit of the original's
	// workspace at that event unless it names a base. Workspace must be empty.
	Worktree *NewWorktree
	// Files puts the files of the new worktree as they were before the prompt of that
	// event's turn, or at its end; empty leaves those of the commit.
	Files ForkFiles
	Actor event.Actor
	// Key makes a repeated request harmless, as in CreateRequest.
	Key string
}

// ForkFiles is a moment of a turn.
type ForkFiles string

const (
	ForkBefore ForkFiles = "before"
	ForkEnd    ForkFiles = "end"
)

// Fork creates a session that continues from an event of this one. Its log begins
// with a summary of the prompts and the last message until then. The agent gets the
// summary before the first prompt, unless it resumes its own copy of the session: see
// forkAgent. The log of the original does not change. When Fork
// returns, a power cut cannot lose the fork: its session_start names the original.
func (m *Manager) Fork(ctx context.Context, id string, r ForkRequest) (*BackgroundSession, error) {
	from, err := m.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	marks, md := from.log.Marks(), from.log.Metadata()
	if r.Seq < marks.Min || r.Seq > marks.Visible {
		return nil, fmt.Errorf("%w: seq %d is not one of the events %d to %d", state.ErrInvalid, r.Seq, marks.Min, marks.Visible)
	}
	read, err := readFork(ctx, from.log, marks.Min, r.Seq)
	if err != nil {
		return nil, err
	}
	files, err := m.forkFiles(from, r, read.turn)
	if err != nil {
		return nil, err
	}
	origin := &event.Forked{SessionID: id, Seq: r.Seq}
	create := CreateRequest{Agent: r.Agent, Workspace: r.Workspace, Name: forkName(md.Name), Actor: r.Actor, Key: r.Key, forkOf: origin}
	if create.Agent == "" {
		create.Agent = md.Agent
	}
	if create.Workspace == "" {
		create.Workspace = md.Workspace
	}
	within := worktreeOf(md)
	if r.Worktree != nil {
		if r.Workspace != "" {
			return nil, fmt.Errorf("%w: name a workspace or a worktree, not both", state.ErrInvalid)
		}
		if within != nil {
			create.Workspace = within.Of // the worktree may be gone
		}
		create.Worktree = r.Worktree.atEvent(read.commit, within, md.Name)
	} else if create.Workspace == md.Workspace && within != nil {
		shared := *within
		shared.Setup = false // it is the original's
		create.within = &shared
	}
	made, err := m.createOnce(ctx, create)
	if err != nil {
		return nil, err
	}
	if err := m.putForkFiles(ctx, made, files); err != nil {
		return nil, err
	}
	account := read.text()
	if was, is := md.Workspace, made.log.Metadata().Workspace; was != is {
		account += fmt.Sprintf("The work continues in another folder: it was %s and is now %s. Paths from before may not be there.\n", was, is)
	}
	native := ""
	if to := made.log.Metadata(); !read.open && to.Agent == md.Agent && to.Workspace == md.Workspace && !made.forked(ctx) {
		native = from.forkAgent(ctx, r.Seq, to.Workspace)
	}
	if err := made.beginFork(ctx, origin, native, account, r.Actor); err != nil {
		return nil, err
	}
	m.changes.Add(id)
	return made, nil
}

// forkFiles finds the state that the files of a fork begin from; empty if none was asked for.
func (m *Manager) forkFiles(from *BackgroundSession, r ForkRequest, turn int) (string, error) {
	name := ""
	switch {
	case r.Files == "":
		return "", nil
	case r.Worktree == nil:
		return "", fmt.Errorf("%w: files go with a worktree: in the same folder, undo puts them back", state.ErrInvalid)
	case r.Files == ForkBefore:
		name = filestate.Before(turn)
	case r.Files == ForkEnd:
		name = filestate.After(turn)
	default:
		return "", fmt.Errorf("%w: files is before or end", state.ErrInvalid)
	}
	if m.hub.states == nil {
		return "", fmt.Errorf("%w: this hub keeps no files (undo_wait is 0)", state.ErrConflict)
	}
	states, err := m.hub.states.States(filestate.Of{Session: from.id, Folder: from.log.Metadata().Workspace})
	if err != nil || states[name] == "" {
		return "", fmt.Errorf("%w: the files of turn %d were not kept, or are kept no longer: leave files out for those of the commit", state.ErrConflict, turn)
	}
	return states[name], nil
}

// putForkFiles puts the files of a fork that has not begun as they are in a state of the
// original.
func (m *Manager) putForkFiles(ctx context.Context, made *BackgroundSession, files string) error {
	if files == "" || made.forked(ctx) {
		return nil
	}
	of := filestate.Of{Session: made.id, Folder: made.log.Metadata().Workspace}
	now, err := m.hub.states.Keep(ctx, of, filestate.Undone(0), nil)
	if err == nil {
		_, err = m.hub.states.Restore(ctx, of, now, files)
	}
	if err != nil {
		m.logger.Warn("the files of a fork could not be put", "session", made.id, "err", err)
		return fmt.Errorf("%w: the files could not be put into the worktree: try again, or leave files out; the hub's log says why", state.ErrUnavailable)
	}
	return nil
}

// forkName returns the name of a fork of a session with this name. It is empty if the
// name is, or if it is an agent's that a person could not give.
func forkName(of string) string {
	const prefix = "Fork of "
	if of != "" && !strings.HasPrefix(of, prefix) {
		of = prefix + of
	}
	runes := []rune(of)
	name, err := state.GivenName(string(runes[:min(len(runes), state.MaxName)]))
	if err != nil {
		return ""
	}
	return name
}

// forksOf finds the forks among the sessions. An import says of itself that it is one,
// which is not this hub's word.
func forksOf(sessions journal.Store) *list.Forks {
	forks := list.NewForks()
	all := sessions.List()
	slices.SortFunc(all, func(a, b journal.Metadata) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, meta := range all {
		forks.Add(meta.SessionID, forkOf(meta))
	}
	return forks
}

// forkOf returns the original of a fork; nil if the session is none.
func forkOf(meta journal.Metadata) *event.Forked {
	if meta.Imported {
		return nil
	}
	return meta.ForkedFrom
}

// worktreeOf returns the worktree of a session; nil if it has none of this hub.
func worktreeOf(meta journal.Metadata) *event.Worktree {
	if meta.Imported {
		return nil
	}
	return meta.Worktree
}

// atEvent completes the request for the worktree of a fork: the commit of its event, and
// the branch that the original, which may have a worktree itself, comes from.
func (w NewWorktree) atEvent(commit string, original *event.Worktree, name string) *NewWorktree {
	w.fork, w.at, w.words = true, commit, name
	if original != nil {
		w.from = original.Base
	}
	return &w
}

// readFork reads the parts of a log, up to an event, that a fork needs.
func readFork(ctx context.Context, log observer.Source, first, last event.Seq) (*forkReader, error) {
	from := &forkReader{}
	if err := observer.New(observer.UpTo(log, last), from, first-1, resume.ReadBytes).CatchUp(ctx); err != nil {
		return nil, fmt.Errorf("read the session to fork: %w", err)
	}
	return from, nil
}

// forkReader collects the summary from the beginning of a log.
type forkReader struct {
	account transcript.Account
	said    string
	open    bool   // a turn has no end
	turn    int    // of the last event in one
	commit  string // the workspace's last known commit
}

// text returns the prompts and the end of the last message.
func (r *forkReader) text() string {
	text := r.account.Text()
	if text == "" {
		text = "You are continuing a session in which nothing was asked yet.\n"
	}
	if said := strings.TrimSpace(r.said); said != "" {
		text += "The end of what you said last:\n" + said + "\n"
	}
	return text
}

// Deliver implements observer.Sink.
func (r *forkReader) Deliver(_ context.Context, b event.Batch) error {
	events, err := b.Events()
	if err != nil {
		return err
	}
	for _, e := range events {
		r.account.Apply(e)
		r.turn = max(r.turn, e.Turn)
		switch e.Type {
		case event.TypeUserPrompt, event.TypeTurnEnd, event.TypeAgentMessage, event.TypeSessionStart, event.TypeWorkspaceSeen:
			if p, err := e.Payload(); err == nil {
				r.take(p)
			}
		}
	}
	return nil
}

func (r *forkReader) take(p event.Payload) {
	switch p := p.(type) {
	case event.UserPrompt:
		r.said, r.open = "", true
	case event.TurnEnd:
		r.open = false
	case event.AgentMessage:
		r.said += string(p.Text)
		if cut := len(r.said) - forkTail; cut > 0 {
			r.said = strings.ToValidUTF8(r.said[cut:], "")
		}
	case event.SessionStart:
		if p.Git != nil {
			r.commit = p.Git.Commit
		}
	case event.WorkspaceSeen:
		if p.Commit != "" {
			r.commit = p.Commit
		}
	}
}
