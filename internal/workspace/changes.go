package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/abidehub/abide/internal/forge"
	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/server/wire"
)

// mostChanges bounds the changed files that are listed.
const mostChanges = 1000

// Changes asks git for the differences from the commit in root and below.
func (f *Files) Changes(ctx context.Context, root string) (wire.Changes, error) {
	c := wire.Changes{Files: []wire.ChangedFile{}}
	repository, err := gitstate.Find(root)
	if errors.Is(err, gitstate.ErrNone) {
		return c, nil
	}
	c.Repository = true
	if err != nil {
		c.Unknown = "the repository cannot be read"
		return c, nil
	}
	head, remote := f.git.Standing(ctx, repository)
	c.Branch, c.Commit, c.NewPullRequest = head.Branch, head.Commit, newPullRequest(remote, head.Branch)
	if f.git == nil {
		c.Unknown = "git is not installed"
		return c, nil
	}
	status, err := f.git.Status(ctx, repository, root, mostChanges)
	switch {
	case errors.Is(err, gitstate.ErrRefused):
		c.Unknown = "the repository cannot be read"
		return c, nil
	case ctx.Err() != nil:
		c.Unknown = "git took too long"
		return c, nil
	case err != nil:
		c.Unknown = "git failed"
		return c, nil
	}
	below, err := filepath.Rel(repository.Worktree, root)
	if err != nil {
		return c, err
	}
	c.LeftOut = status.Total - len(status.Files)
	c.Files = f.changesBelow(root, below, status.Files)
	return c, nil
}

// changesBelow are the changes with paths relative to a folder of the worktree.
func (f *Files) changesBelow(root, below string, all []gitstate.Change) []wire.ChangedFile {
	list, hidden := []wire.ChangedFile{}, f.hidden(root)
	for _, change := range all {
		path := change.Path
		if below != "." {
			inside, ok := strings.CutPrefix(path, below+"/")
			if !ok {
				continue
			}
			path = inside
		}
		if !hidden(strings.TrimSuffix(path, "/")) {
			if !utf8.ValidString(path) {
				path = strings.ToValidUTF8(path, "\uFFFD")
			}
			list = append(list, wire.ChangedFile{Path: path, Code: change.Code})
		}
	}
	return list
}

// newPullRequest is the page of a remote's host that opens a pull request for a
// branch. It is empty for a host that is not known.
func newPullRequest(remote, branch string) string {
	if branch == "" || branch == "main" || branch == "master" {
		return ""
	}
	return forge.PullRequest{Remote: remote, Branch: branch}.Page()
}
