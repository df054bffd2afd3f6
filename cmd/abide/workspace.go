package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/resume"
)

// changedFiles limits the changed files that are listed for a resumed agent.
const changedFiles = 50

// identityBound limits the time to identify a repository: finding its first commit
// walks its history. Unknown values are not compared.
const identityBound = 700 * time.Millisecond

// workspaces inspects workspaces, by reading files and by running git so that it
// runs no program that the workspace names.
type workspaces struct{ git *gitstate.Git } // nil where there is no git

func newWorkspaces(ctx context.Context, logger *slog.Logger) workspaces {
	git, err := gitstate.New(ctx, "")
	if err != nil {
		logger.Info("changed files of a workspace are not listed", "err", err)
	}
	return workspaces{git}
}

// inspect is a session.InspectWorkspace.
func (w workspaces) inspect(ctx context.Context, folder string, diff bool) resume.Workspace {
	var state resume.Workspace
	identify, cancel := context.WithTimeout(ctx, identityBound)
	id, err := w.git.Identify(identify, folder)
	cancel()
	if err == nil {
		state.Folder, state.Root, state.Remote = fmt.Sprintf("%d:%d", id.Device, id.Inode), id.Root, id.Remote
	}
	repository, err := gitstate.Find(folder)
	if err != nil {
		return state
	}
	state.Repository = true
	head, err := repository.Head()
	if err != nil {
		state.Unknown = "the repository cannot be read"
		return state
	}
	state.Branch, state.Commit = head.Branch, head.Commit
	if w.git == nil {
		state.Unknown = "git is not installed"
		return state
	}
	status, err := w.git.Status(ctx, repository, folder, changedFiles)
	if err != nil {
		state.Unknown = "it failed"
		if errors.Is(err, context.DeadlineExceeded) {
			state.Unknown = "it took too long"
		}
		return state
	}
	for _, f := range status.Files {
		state.Changed = append(state.Changed, f.Code+" "+f.Path)
	}
	state.More = status.Total - len(status.Files)
	if diff && state.Commit != "" && status.Total > 0 {
		// Without the statistics the names are still listed.
		state.DiffStat, _ = w.git.DiffStat(ctx, repository, folder, state.Commit, changedFiles)
	}
	return state
}
