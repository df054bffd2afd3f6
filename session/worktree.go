package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/state"
)

const (
	// worktreeBound limits the time to write the files of a worktree, undoBound the
	// time to remove them.
	worktreeBound = time.Minute
	undoBound     = 10 * time.Second
)

// worktree is a folder to be created and the commit to check out in it.
type worktree struct{ folder, commit string }

// addWorktree creates a worktree of the workspace's repository. It returns the
// folder in the worktree that corresponds to the workspace. undo removes the
// worktree.
func (m *Manager) addWorktree(ctx context.Context, settings *Settings, workspace string, w worktree) (made string, undo func(), err error) {
	folder, err := settings.newFolder(w.folder)
	if err != nil {
		return "", nil, err
	}
	repository, err := gitstate.Find(workspace)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%w: workspace %q is in no git repository", state.ErrInvalid, workspace)
	case m.git == nil:
		return "", nil, fmt.Errorf("%w: a worktree needs git %s or newer on the hub's machine", state.ErrInvalid, gitstate.MinVersion)
	case w.commit == "":
		return "", nil, fmt.Errorf("%w: the session does not say at which commit its workspace was", state.ErrConflict)
	}
	bounded, cancel := context.WithTimeout(ctx, worktreeBound)
	defer cancel()
	if err := m.git.AddWorktree(bounded, repository, folder, w.commit); err != nil {
		return "", nil, m.noWorktree(err, w)
	}
	undo = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoBound)
		defer cancel()
		if err := m.git.RemoveWorktree(ctx, repository, folder); err != nil {
			m.logger.Warn("a worktree of no session stays", "folder", folder, "err", err)
		}
	}
	below, err := filepath.Rel(repository.Worktree, workspace)
	if err == nil {
		made, err = settings.resolveWorkspace(filepath.Join(folder, below))
	}
	if err != nil {
		undo()
		return "", nil, err
	}
	return made, undo, nil
}

// noWorktree is the error for a worktree that could not be created.
func (m *Manager) noWorktree(err error, w worktree) error {
	switch {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%w: %q is there already", state.ErrConflict, w.folder)
	case errors.Is(err, gitstate.ErrUnsuited):
		_, why, _ := strings.Cut(err.Error(), gitstate.ErrUnsuited.Error()+": ")
		return fmt.Errorf("%w: the hub cannot make a worktree of this repository, it writes the files as the commit has them: %s", state.ErrConflict, why)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: writing out the worktree took too long", state.ErrUnavailable)
	}
	m.logger.Warn("a worktree could not be made", "folder", w.folder, "commit", w.commit, "err", err)
	return fmt.Errorf("%w: git could not make a worktree of commit %.12s in %q; the hub's log says why", state.ErrConflict, w.commit, w.folder)
}

// newFolder checks that a folder may be created for a session. It returns the path
// with the links of its parent resolved.
func (s *Settings) newFolder(dir string) (string, error) {
	dir = filepath.Clean(ExpandHome(dir))
	parent, err := s.resolveWorkspace(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(dir)), nil
}
