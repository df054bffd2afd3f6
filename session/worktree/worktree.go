// Package worktree makes a git worktree for a new session.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

const (
	// worktreeBound limits the time to write the files of a worktree, undoBound the
	// time to remove them.
	worktreeBound = time.Minute
	undoBound     = 10 * time.Second
)

// Request is a folder to be created and the commit to check out in it.
type Request struct{ Folder, Commit string }

// Maker makes worktrees. Git is nil if it is not installed.
type Maker struct {
	Git    *gitstate.Git
	Logger *slog.Logger
}

// Add creates a worktree of the workspace's repository. It returns the
// folder in the worktree that corresponds to the workspace. undo removes the
// worktree.
func (m Maker) Add(ctx context.Context, allowed *settings.Hub, workspace string, r Request) (made string, undo func(), err error) {
	folder, err := allowed.NewFolder(r.Folder)
	if err != nil {
		return "", nil, err
	}
	repository, err := gitstate.Find(workspace)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%w: workspace %q is in no git repository", state.ErrInvalid, workspace)
	case m.Git == nil:
		return "", nil, fmt.Errorf("%w: a worktree needs git %s or newer on the hub's machine", state.ErrInvalid, gitstate.MinVersion)
	case r.Commit == "":
		return "", nil, fmt.Errorf("%w: the session does not say at which commit its workspace was", state.ErrConflict)
	}
	bounded, cancel := context.WithTimeout(ctx, worktreeBound)
	defer cancel()
	if err := m.Git.AddWorktree(bounded, repository, folder, r.Commit); err != nil {
		return "", nil, m.noWorktree(err, r)
	}
	undo = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoBound)
		defer cancel()
		if err := m.Git.RemoveWorktree(ctx, repository, folder); err != nil {
			m.Logger.Warn("a worktree of no session stays", "folder", folder, "err", err)
		}
	}
	below, err := filepath.Rel(repository.Worktree, workspace)
	if err == nil {
		made, err = allowed.Resolve(filepath.Join(folder, below))
	}
	if err != nil {
		undo()
		return "", nil, err
	}
	return made, undo, nil
}

// noWorktree is the error for a worktree that could not be created.
func (m Maker) noWorktree(err error, r Request) error {
	switch {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%w: %q is there already: name another folder, or delete this one if a fork was interrupted", state.ErrConflict, r.Folder)
	case errors.Is(err, gitstate.ErrUnsuited):
		_, why, _ := strings.Cut(err.Error(), gitstate.ErrUnsuited.Error()+": ")
		return fmt.Errorf("%w: the hub cannot make a worktree of this repository, it writes the files as the commit has them: %s", state.ErrConflict, why)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: writing out the worktree took too long", state.ErrUnavailable)
	}
	m.Logger.Warn("a worktree could not be made", "folder", r.Folder, "commit", r.Commit, "err", err)
	return fmt.Errorf("%w: git could not make a worktree of commit %.12s in %q; the hub's log says why", state.ErrConflict, r.Commit, r.Folder)
}
