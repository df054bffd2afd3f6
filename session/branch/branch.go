// Package branch acts on the branch that a session works on: it commits, updates, merges,
// pushes and makes pull requests. No program of the repository runs but in the last two,
// which a setting allows; internal/gitstate has the steps.
package branch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
)

// The acts.
const (
	Commit = "commit"
	Update = "update"
	Merge  = "merge"
	Push   = "push"
	// Pull makes a pull request by the program of the remote's host.
	Pull = "pull-request"
)

const (
	// NeedTurn: a turn is open here, so files may be half written.
	NeedTurn = "turn"
	// NeedUnsigned: git is to sign commits, and this one is not signed.
	NeedUnsigned = "unsigned"
	// NeedUncommitted: files that are not committed stay behind.
	NeedUncommitted = "uncommitted"
	// NeedUnpushed: the remote does not have the branch as it is here.
	NeedUnpushed = "unpushed"
)

const (
	// Bound limits the time of an act, and PushBound that of a push.
	Bound     = 3 * time.Minute
	PushBound = 10 * time.Minute
)

const (
	// MostMessage bounds a message, in bytes, MostFiles the files that a request names.
	MostMessage = 64 << 10
	MostFiles   = 10_000
	// mostNamed bounds the files that a sentence names.
	mostNamed = 10
)

// Request asks for an act.
type Request struct {
	Act string
	// Files are relative to the workspace; none are all that differ there. For Commit.
	Files []string
	// Message is the commit's, or has title and text of a pull request; if it is empty, a squash
	// has the session's draft, and a merge one of its own.
	Message string
	// Method is merge or rebase for Update; merge, squash or ff for Merge.
	Method string
	// Confirm has what of the needs a person confirmed.
	Confirm []string
	// Key is the client's id of the request. The same again changes nothing.
	Key   string
	Actor event.Actor
}

// Bound limits the time of the act.
func (r Request) Bound() time.Duration {
	if r.Act == Push {
		return PushBound
	}
	return Bound
}

// ByHand reports whether the act runs a program as the owner would run it.
func (r Request) ByHand() bool { return r.Act == Push || r.Act == Pull }

// Check refuses what cannot be done at all.
func (r Request) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", state.ErrInvalid, fmt.Sprintf(format, args...))
	}
	methods := map[string][]string{Update: {"merge", "rebase"}, Merge: {"merge", "squash", "ff"}}
	switch {
	case len(r.Message) > MostMessage:
		return wrong("a message has at most %d bytes", MostMessage)
	case strings.ContainsRune(r.Message, 0):
		return wrong("a message has no zero bytes")
	case len(r.Files) > MostFiles:
		return wrong("a commit has at most %d files", MostFiles)
	case r.Act == Commit && strings.TrimSpace(r.Message) == "":
		return wrong("a commit needs a message")
	}
	if r.Key != "" {
		if err := state.CheckID("the request", r.Key); err != nil {
			return err
		}
	}
	for _, path := range r.Files {
		if path == "" || !filepath.IsLocal(path) || strings.ContainsRune(path, 0) {
			return wrong("%q is no path below the workspace", path)
		}
	}
	if allowed := methods[r.Act]; allowed != nil {
		for _, method := range allowed {
			if r.Method == method {
				return nil
			}
		}
		return wrong("the method is one of %s", strings.Join(allowed, ", "))
	}
	return nil
}

// Place is where a session works.
type Place struct {
	Workspace string
	// Base is the branch that its own comes from; empty if it is not known.
	Base string
	// Push is the project's setting that allows to push.
	Push bool
	// Forge is the kind of the remote's host if its name does not say it.
	Forge string
	// PullRequests is the program that makes pull requests; empty if none does.
	PullRequests string
	// Sign is the project's setting that lets the owner's git sign commits.
	Sign bool
}

// Maker does the acts. Git is nil if it is not installed.
type Maker struct {
	Git    *gitstate.Git
	Logger *slog.Logger
	// Env is added to the environment of programs that run as the owner would run them.
	Env []string
}

// Do does what a request asks for. begun is called before anything that a person sees
// changes; its error ends the act.
func (m Maker) Do(ctx context.Context, p Place, r Request, begun func(state.BranchAct) error) (state.BranchAct, error) {
	act := state.BranchAct{Act: r.Act, Key: r.Key, Stage: state.ActBegun}
	repository, err := m.repository(p.Workspace)
	if err != nil {
		return act, err
	}
	failed := error(nil)
	move := func(made gitstate.Move) error {
		act.Branch, act.Before, act.After, act.Files = made.Branch, made.Before, made.After, len(made.Files)
		failed = begun(act)
		return failed
	}
	var sign *gitstate.Signing
	if !r.ByHand() { // else it makes no commit
		if sign, err = m.signing(ctx, repository, p, r); err != nil {
			return act, err
		}
	}
	switch r.Act {
	case Commit:
		_, err = m.Git.CommitFiles(ctx, repository, gitstate.NewCommit{Folder: p.Workspace, Paths: r.Files, Message: r.Message, Sign: sign, Begun: move})
	case Update, Merge:
		err = m.join(ctx, repository, p, r, sign, &act, move)
	case Push:
		err = m.push(ctx, repository, p, r, &act, move)
	case Pull:
		err = m.pull(ctx, repository, p, r, &act, move)
	default:
		return act, fmt.Errorf("%w: no act is called %q", state.ErrInvalid, r.Act)
	}
	if failed != nil {
		return act, failed
	}
	return act, m.sentence(err)
}

// join updates the branch from its base, or merges it into that.
func (m Maker) join(ctx context.Context, r *gitstate.Repository, p Place, request Request, sign *gitstate.Signing, act *state.BranchAct, begun func(gitstate.Move) error) error {
	head, err := r.Head()
	if err != nil {
		return err
	}
	if head.Branch == "" {
		return gitstate.ErrDetached
	}
	base, err := r.BaseOf(head.Branch, p.Base)
	if err != nil {
		return err
	}
	if base.Branch == "" || base.Commit == "" {
		return fmt.Errorf("%w: %s has no base: no branch that it comes from is known, and there is no main branch beside it", gitstate.ErrNothing, head.Branch)
	}
	j := gitstate.Join{Method: request.Method, Message: request.Message, Sign: sign, Begun: begun}
	if request.Act == Update {
		j.From, j.Commit, j.Forward = base.Branch, base.Commit, true
		act.From = base.Branch
		_, err = m.Git.Join(ctx, r, j)
		return err
	}
	if at, err := r.Branch(base.Branch); err != nil || at == "" {
		return errors.Join(err, fmt.Errorf("%w: %s is only at the remote: push, and merge there", gitstate.ErrNothing, base.Branch))
	}
	standing, err := m.Git.Compare(ctx, r, base)
	if err != nil {
		return err
	}
	if standing.Uncommitted > 0 {
		if standing.Compared && standing.Ahead == 0 {
			return fmt.Errorf("%w: %s has no commits of its own: commit these files first: %s", gitstate.ErrNothing, head.Branch, namesOf(standing.Names, standing.Uncommitted))
		}
		what := "these files are not committed, so they stay behind: " + namesOf(standing.Names, standing.Uncommitted)
		if err := Confirmed(request.Confirm, NeedUncommitted, what); err != nil {
			return err
		}
	}
	j.Into, j.From, j.Commit = base.Branch, head.Branch, head.Commit
	act.From, act.Tip = head.Branch, head.Commit
	_, err = m.Git.Join(ctx, r, j)
	return err
}

// repository is that of a workspace.
func (m Maker) repository(workspace string) (*gitstate.Repository, error) {
	r, err := gitstate.Find(workspace)
	switch {
	case errors.Is(err, gitstate.ErrNone):
		return nil, fmt.Errorf("%w: the session works in no git repository", state.ErrConflict)
	case err != nil:
		return nil, fmt.Errorf("%w: the hub does not read this repository: %v", state.ErrConflict, err)
	case m.Git == nil:
		return nil, fmt.Errorf("%w: it takes git %s or newer on the hub's machine", state.ErrConflict, gitstate.MinVersion)
	}
	return r, nil
}

// signing lets the owner's git sign where it is to and the project allows it. Where only git
// is to, it asks for a confirmation.
func (m Maker) signing(ctx context.Context, repository *gitstate.Repository, p Place, r Request) (*gitstate.Signing, error) {
	sign := gitstate.Signing{Env: m.Env}
	signs, err := m.Git.SignsByHand(ctx, repository, sign)
	switch {
	case err != nil:
		return nil, m.sentence(err)
	case !signs:
		return nil, nil
	case p.Sign:
		return &sign, nil
	}
	return nil, Confirmed(r.Confirm, NeedUnsigned, "the commit is not signed, though commit.gpgSign is set: the hub signs only where the owner sets projects.FOLDER.git.sign")
}

// Confirmed is an error that asks for a confirmation which is missing.
func Confirmed(confirmed []string, need, what string) error {
	for _, c := range confirmed {
		if c == need {
			return nil
		}
	}
	return &resume.NeedsConfirmation{Needs: []string{need}, What: what}
}

// Happened reports whether an act that was begun moved its branch: yes, no, or not known.
func (m Maker) Happened(ctx context.Context, workspace string, act state.BranchAct) (happened, known bool) {
	repository, err := gitstate.Find(workspace)
	if err != nil {
		return false, false
	}
	if act.Act == Pull {
		return false, false // only the host knows
	}
	at, err := "", error(nil)
	if act.Act == Push {
		at, err = repository.RemoteBranch(act.Remote, act.Branch)
	} else {
		at, err = repository.Branch(act.Branch)
	}
	switch {
	case err != nil:
		return false, false
	case at == act.After:
		return true, true
	case act.Act == Push && (at == act.Before || at == ""):
		return false, false // the remote may have it all the same
	case at == act.Before:
		return false, true
	case at == "" || m.Git == nil:
		return false, false
	}
	holds, err := m.Git.Holds(ctx, repository, at, act.After)
	return holds, err == nil
}

// sentence says for a person why git did not do it, and what to do.
func (m Maker) sentence(err error) error {
	var conflict *gitstate.Conflict
	var way *gitstate.InTheWay
	var notSigned *gitstate.NotSigned
	var unconfirmed *resume.NeedsConfirmation
	after := func(of error) string {
		_, why, _ := strings.Cut(err.Error(), of.Error()+": ")
		return why
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unconfirmed), errors.Is(err, state.ErrConflict), errors.Is(err, state.ErrUnavailable), errors.Is(err, state.ErrInvalid):
		return err
	case errors.As(err, &conflict):
		return fmt.Errorf("%w: these files conflict: %s", state.ErrConflict, names(conflict.Files))
	case errors.As(err, &way):
		return fmt.Errorf("%w: these files are not as the commit has them, commit them or put them away first: %s", state.ErrConflict, names(way.Files))
	case errors.As(err, &notSigned):
		return fmt.Errorf("%w: git did not sign the commit, so nothing was changed (a passphrase has to be known to gpg-agent or ssh-agent): %s", state.ErrConflict, notSigned.Said)
	case errors.Is(err, gitstate.ErrConfiguration):
		return fmt.Errorf("%w: git does not read its configuration, so nothing was changed: %s", state.ErrConflict, after(gitstate.ErrConfiguration))
	case errors.Is(err, gitstate.ErrUnsuited):
		return fmt.Errorf("%w: the hub runs no program of a repository, so it cannot do this: %s; do it with git, or ask the agent", state.ErrConflict, after(gitstate.ErrUnsuited))
	case errors.Is(err, gitstate.ErrNothing):
		return fmt.Errorf("%w: %s", state.ErrConflict, after(gitstate.ErrNothing))
	case errors.Is(err, gitstate.ErrOpen):
		return fmt.Errorf("%w: in this folder git is in the middle of %s", state.ErrConflict, after(gitstate.ErrOpen))
	case errors.Is(err, gitstate.ErrDetached):
		return fmt.Errorf("%w: no branch is checked out here: git switch -c NAME makes one", state.ErrConflict)
	case errors.Is(err, gitstate.ErrNoPerson):
		return fmt.Errorf("%w: git does not know who you are on the hub's machine: %s", state.ErrConflict, after(gitstate.ErrNoPerson))
	case errors.Is(err, gitstate.ErrMoved):
		return fmt.Errorf("%w: the branch has changed meanwhile: look at it, and try again", state.ErrConflict)
	case errors.Is(err, gitstate.ErrLocked):
		return fmt.Errorf("%w: the repository is locked by another git for ten seconds: %s", state.ErrConflict, after(gitstate.ErrLocked))
	case errors.Is(err, gitstate.ErrTooLarge):
		return fmt.Errorf("%w: it is too much for the hub (%v): do it with git", state.ErrConflict, err)
	case errors.Is(err, gitstate.ErrUnavailable):
		return fmt.Errorf("%w: %v", state.ErrConflict, err)
	case errors.Is(err, gitstate.ErrRefused):
		return fmt.Errorf("%w: the hub does not read this repository: %v", state.ErrConflict, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: git took too long", state.ErrUnavailable)
	}
	m.Logger.Warn("an act on a branch failed", "err", err)
	return fmt.Errorf("%w: git failed; the hub's log says why", state.ErrConflict)
}

// names lists the first files.
func names(files []string) string { return namesOf(files, len(files)) }

// namesOf lists the first of so many files.
func namesOf(files []string, all int) string {
	files = files[:min(len(files), mostNamed)]
	list := strings.Join(files, ", ")
	if more := all - len(files); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// Words says what an act did, for the session.
func Words(act state.BranchAct, subject string) string {
	files := fmt.Sprintf("%d files", act.Files)
	if act.Files == 1 {
		files = "1 file"
	}
	switch act.Act {
	case Update:
		return fmt.Sprintf("Updated %s from %s: %s changed, now at %.9s.", act.Branch, act.From, files, act.After)
	case Merge:
		return fmt.Sprintf("Merged %s into %s: %s changed, now at %.9s.", act.From, act.Branch, files, act.After)
	case Push:
		return fmt.Sprintf("Pushed %s to %s, now at %.9s.", act.Branch, act.Remote, act.After)
	case Pull:
		return fmt.Sprintf("Made a pull request of %s: %s", act.Branch, act.URL)
	}
	return fmt.Sprintf("Committed %s on %s as %.9s: %s", files, act.Branch, act.After, subject)
}
