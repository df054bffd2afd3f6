// Package worktree makes the git worktree that a session works in, its own copy of a
// repository, on a branch of its own.
package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/ownfiles"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

const (
	// worktreeBound limits the time to write the files of a worktree, undoBound the
	// time to remove them.
	worktreeBound = time.Minute
	undoBound     = 10 * time.Second
	// mostNamesakes limits the numbers that are tried behind a name.
	mostNamesakes = 200
	// slugRunes limits a name that is made of a prompt.
	slugRunes = 40
	// branchPrefix begins the names of the branches that the hub chooses.
	branchPrefix = "abide/"
)

// Request describes a worktree to be made. Empty fields are chosen.
type Request struct {
	// Branch is the name of its new branch. Base names where that begins: a branch, a tag
	// or a commit; the workspace's commit if it is empty.
	Branch, Base string
	// Folder is its absolute path. It must be in an allowed folder.
	Folder string
	// Fork means that the branch begins at the commit At, which comes from the branch From,
	// unless there is a Base.
	Fork     bool
	At, From string
	// Words are what the branch is named after, such as a prompt.
	Words string
	// For identifies the request. A repeated request completes a worktree that a kill
	// interrupted.
	For string

	planned bool // by Plan, which has checked Folder
}

// Made is a worktree that was made.
type Made struct {
	event.Worktree
	// Workspace is the folder in it that corresponds to the one that it is a copy of.
	Workspace string
	// Undo removes it and its branch.
	Undo func()
}

// Maker makes worktrees. Git is nil if it is not installed.
type Maker struct {
	Git    *gitstate.Git
	Logger *slog.Logger
}

// Add creates a worktree of the workspace's repository.
func (m Maker) Add(ctx context.Context, allowed *settings.Hub, workspace string, r Request) (Made, error) {
	repository, err := m.repository(workspace)
	if err != nil {
		return Made{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, worktreeBound)
	defer cancel()
	linked, err := repository.MadeFor(r.For)
	if err != nil {
		return Made{}, m.notMade(err, r.Folder, r.Branch)
	}
	if linked == nil || linked.Unfinished {
		if linked, err = m.add(bounded, allowed, repository, r, linked); err != nil {
			return Made{}, err
		}
	}
	made := Made{Worktree: event.Worktree{
		Folder: linked.Folder, Branch: linked.Mark.Branch, Base: linked.Mark.Base, Commit: linked.Mark.Commit, Of: workspace,
	}}
	made.Undo = func() { m.undo(context.WithoutCancel(ctx), repository, r.For) }
	if made.Workspace, err = m.workspaceIn(allowed, repository, made.Worktree); err == nil {
		err = m.copyIgnored(bounded, allowed, repository, made.Worktree)
	}
	if err != nil {
		made.Undo()
		return Made{}, err
	}
	return made, nil
}

// plannedName is how much of Request.For is in the names of a planned worktree: no other
// has them when it is made.
const plannedName = 8

// Plan names a worktree of the workspace's repository that Complete makes later. It checks
// the request.
func (m Maker) Plan(ctx context.Context, allowed *settings.Hub, workspace string, r Request) (Made, error) {
	repository, err := m.repository(workspace)
	if err != nil {
		return Made{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, worktreeBound)
	defer cancel()
	mark, err := m.start(bounded, repository, r)
	if err == nil && r.Branch != "" {
		err = branchName(r.Branch)
		if err == nil && !repository.Free(r.Branch) {
			err = m.notMade(gitstate.ErrBranchExists, r.Folder, r.Branch)
		}
	}
	if err != nil {
		return Made{}, err
	}
	parent, prefix, err := place(allowed, repository, r)
	if err != nil {
		return Made{}, err
	}
	name := cmp.Or(slug(strings.TrimPrefix(r.Branch, branchPrefix)), slug(r.Words), "work") + "-" + r.For[:plannedName]
	w := event.Worktree{Folder: filepath.Join(parent, prefix+name), Branch: cmp.Or(r.Branch, branchPrefix+name), Base: mark.Base, Commit: mark.Commit, Of: workspace}
	if r.Folder != "" {
		w.Folder = filepath.Join(parent, filepath.Base(r.Folder))
	}
	below, err := filepath.Rel(repository.Worktree, workspace)
	return Made{Worktree: w, Workspace: filepath.Join(w.Folder, below), Undo: func() {}}, err
}

// Complete makes a worktree that was planned. Repeated with the same request it is made
// once.
func (m Maker) Complete(ctx context.Context, allowed *settings.Hub, planned Made, request string) error {
	w := planned.Worktree
	repository, err := m.repository(w.Of)
	if err != nil {
		return err
	}
	linked, err := repository.Linked()
	if err != nil {
		return m.notMade(err, w.Folder, w.Branch)
	}
	for _, l := range linked { // earlier hubs made it with the job
		if l.Folder == w.Folder && l.Mark != nil && l.Mark.Request != request && l.Mark.Branch == w.Branch && !l.Unfinished {
			return nil
		}
	}
	made, err := m.Add(ctx, allowed, w.Of, Request{
		Branch: w.Branch, Folder: w.Folder, Fork: true, At: w.Commit, From: w.Base, For: request, planned: true,
	})
	if err == nil && made.Workspace != planned.Workspace {
		made.Undo()
		err = fmt.Errorf("%w: the folder %q of the commit is a link", state.ErrConflict, planned.Workspace)
	}
	return err
}

func branchName(name string) error {
	if !gitstate.IsBranchName(name) {
		return fmt.Errorf("%w: git accepts no branch called %q", state.ErrInvalid, name)
	}
	return nil
}

// repository is that of a workspace.
func (m Maker) repository(workspace string) (*gitstate.Repository, error) {
	repository, err := gitstate.Find(workspace)
	switch {
	case errors.Is(err, gitstate.ErrNone) && gitstate.IsBare(workspace):
		return nil, fmt.Errorf("%w: %q is a bare repository, which has no files to work in: clone it, and choose the clone", state.ErrConflict, workspace)
	case errors.Is(err, gitstate.ErrNone):
		return nil, fmt.Errorf("%w: workspace %q is in no git repository, so there is nothing to copy", state.ErrInvalid, workspace)
	case err != nil:
		return nil, fmt.Errorf("%w: the hub does not read the git repository of %q: %v", state.ErrConflict, workspace, err)
	case m.Git == nil:
		return nil, fmt.Errorf("%w: a worktree needs git %s or newer on the hub's machine", state.ErrInvalid, gitstate.MinVersion)
	}
	return repository, nil
}

// add makes a worktree under the first names that are free. before is what a kill left of
// it; nil for nothing.
func (m Maker) add(ctx context.Context, allowed *settings.Hub, r *gitstate.Repository, request Request, before *gitstate.Linked) (*gitstate.Linked, error) {
	mark, err := m.start(ctx, r, request)
	if err != nil {
		return nil, err
	}
	if request.Branch != "" {
		if err := branchName(request.Branch); err != nil {
			return nil, err
		}
	}
	if before != nil && (request.Branch == "" || request.Branch == before.Mark.Branch) {
		mark = *before.Mark
	} else {
		before = nil
	}
	parent, prefix, err := place(allowed, r, request)
	if err != nil {
		return nil, err
	}
	words := cmp.Or(slug(strings.TrimPrefix(request.Branch, branchPrefix)), slug(request.Words), "work")
	for i := range mostNamesakes {
		name := words
		if i > 0 {
			name += "-" + strconv.Itoa(i+1)
		}
		mark.Branch = cmp.Or(request.Branch, branchPrefix+name)
		folder := filepath.Join(parent, prefix+name)
		if request.Folder != "" {
			folder = filepath.Join(parent, filepath.Base(request.Folder))
		}
		if before != nil && i == 0 {
			mark.Branch, folder = before.Mark.Branch, cmp.Or(before.Folder, folder)
		} else if request.Branch == "" && !r.Free(mark.Branch) || request.Folder == "" && exists(folder) {
			continue
		}
		err := m.Git.AddWorktree(ctx, r, folder, mark)
		switch {
		case errors.Is(err, gitstate.ErrBranchExists) && request.Branch == "", errors.Is(err, fs.ErrExist) && request.Folder == "":
			continue // another was quicker
		case err != nil:
			return nil, m.notMade(err, folder, mark.Branch)
		}
		return r.MadeFor(request.For)
	}
	return nil, fmt.Errorf("%w: no name like %s%s is free for a branch: name one", state.ErrConflict, branchPrefix, words)
}

// start finds out where the branch begins.
func (m Maker) start(ctx context.Context, r *gitstate.Repository, request Request) (gitstate.Mark, error) {
	mark := gitstate.Mark{Request: request.For}
	if request.Fork && request.Base == "" {
		if request.At == "" {
			return mark, fmt.Errorf("%w: the session does not say at which commit its workspace was: name a base", state.ErrConflict)
		}
		mark.Commit, mark.Base = request.At, request.From
		if head, _ := m.Git.Standing(ctx, r); mark.Base == "" {
			mark.Base = head.Branch
		}
	} else if request.Base != "" {
		var err error
		mark.Commit, mark.Base, err = m.Git.Commit(ctx, r, request.Base)
		if errors.Is(err, gitstate.ErrNoRef) {
			return mark, fmt.Errorf("%w: %q is no branch, tag or commit of this repository", state.ErrInvalid, request.Base)
		}
		if err != nil {
			return mark, m.notMade(err, request.Folder, request.Branch)
		}
	} else {
		head, _ := m.Git.Standing(ctx, r)
		mark.Commit, mark.Base = head.Commit, head.Branch
	}
	if mark.Commit == "" {
		return mark, fmt.Errorf("%w: the repository has no commit yet: make a first one, and a copy has something to begin with", state.ErrConflict)
	}
	return mark, nil
}

// place returns the folder that the worktree is to be made in, which exists then, and how
// its name begins.
func place(allowed *settings.Hub, r *gitstate.Repository, request Request) (parent, prefix string, err error) {
	if request.planned {
		return filepath.Dir(request.Folder), "", os.MkdirAll(filepath.Dir(request.Folder), 0o700)
	}
	if request.Folder != "" {
		folder, err := allowed.NewFolder(request.Folder)
		if err == nil && inGit(r, folder) {
			err = fmt.Errorf("%w: %q is in the files of git itself: name another folder for the working copy", state.ErrInvalid, folder)
		}
		return filepath.Dir(folder), "", err
	}
	parent = filepath.Join(allowed.Worktrees.Folder, filepath.Base(r.Worktree))
	if allowed.Worktrees.Folder == "" {
		parent, prefix = filepath.Dir(r.Worktree), filepath.Base(r.Worktree)+"-"
	} else if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", "", fmt.Errorf("%w: the folder for working copies cannot be made: %v; name another one: worktrees in the configuration", state.ErrUnavailable, err)
	}
	real, err := settings.RealDir(parent)
	if err == nil {
		err = allowed.NotOwn(real)
	}
	if err != nil {
		return "", "", err
	}
	if outer, err := gitstate.Find(real); !errors.Is(err, gitstate.ErrNone) {
		at := real
		if err == nil {
			at = outer.Worktree
		}
		return "", "", fmt.Errorf("%w: working copies would be made in %q, which is in the git repository %q: name another folder, worktrees in the configuration", state.ErrConflict, real, at)
	}
	return real, prefix, nil
}

// inGit reports whether a real path is in a .git, or in what the repository has outside
// of its own.
func inGit(r *gitstate.Repository, path string) bool {
	return ownfiles.InGit(path) || slices.ContainsFunc(gitstate.Own(r.Worktree), func(own string) bool {
		below, err := filepath.Rel(own, path)
		return err == nil && filepath.IsLocal(below)
	})
}

// workspaceIn is the folder of a worktree that corresponds to the one it is a copy of.
func (m Maker) workspaceIn(allowed *settings.Hub, r *gitstate.Repository, w event.Worktree) (string, error) {
	below, err := filepath.Rel(r.Worktree, w.Of)
	if err != nil {
		return "", err
	}
	real, err := settings.RealDir(filepath.Join(w.Folder, below))
	if err != nil {
		return "", fmt.Errorf("%w: the folder %q is not in the commit %.12s: begin in a folder that is committed", state.ErrConflict, below, w.Commit)
	}
	if rel, err := filepath.Rel(w.Folder, real); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%w: the folder %q of the commit is a link that leads out of the copy", state.ErrConflict, below)
	}
	return real, allowed.NotOwn(real)
}

// undo removes a worktree of which no session was made, and its branch.
func (m Maker) undo(ctx context.Context, r *gitstate.Repository, request string) {
	ctx, cancel := context.WithTimeout(ctx, undoBound)
	defer cancel()
	made, err := r.MadeFor(request)
	if err == nil && made != nil {
		err = m.Git.RemoveWorktree(ctx, r, *made, gitstate.Removal{BranchAt: made.Mark.Commit})
	}
	if err != nil {
		m.Logger.Warn("a worktree of no session stays", "repository", r.Worktree, "err", err)
	}
}

// notMade is the error for a worktree that could not be created.
func (m Maker) notMade(err error, folder, branch string) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: %q is there already: name another folder", state.ErrConflict, folder)
	case errors.Is(err, gitstate.ErrBranchExists):
		return fmt.Errorf("%w: a branch called %q cannot be made, it or a part of its name is one already: name another", state.ErrConflict, branch)
	case errors.Is(err, gitstate.ErrLocked):
		_, why, _ := strings.Cut(err.Error(), gitstate.ErrLocked.Error()+": ")
		return fmt.Errorf("%w: the repository is locked by another git for ten seconds: %s", state.ErrConflict, why)
	case errors.Is(err, gitstate.ErrUnsuited):
		_, why, _ := strings.Cut(err.Error(), gitstate.ErrUnsuited.Error()+": ")
		return fmt.Errorf("%w: the hub cannot make a worktree of this repository, it writes the files as the commit has them: %s", state.ErrConflict, why)
	case errors.Is(err, gitstate.ErrRefused):
		return fmt.Errorf("%w: the hub does not read this repository: %v", state.ErrConflict, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: writing out the worktree took too long", state.ErrUnavailable)
	}
	m.Logger.Warn("a worktree could not be made", "folder", folder, "branch", branch, "err", err)
	return fmt.Errorf("%w: git could not make a worktree in %q; the hub's log says why", state.ErrConflict, folder)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// slug makes a name of words: their letters and digits, in lower case.
func slug(words string) string {
	var parts []string
	length := 0
	for _, part := range strings.FieldsFunc(strings.ToLower(words), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		runes := []rune(part)
		if room := slugRunes - length; len(runes) > room {
			if length > 0 {
				break
			}
			part = string(runes[:room])
		}
		parts, length = append(parts, part), length+len([]rune(part))+1
		if length >= slugRunes {
			break
		}
	}
	return strings.Join(parts, "-")
}
