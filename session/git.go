package session

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

// gitBound is how long git may take to say where a workspace stands. What it
// cannot say in that time is left out.
const gitBound = 2 * time.Second

// gitState asks git about a workspace. Nil means that git knows nothing of it.
func gitState(ctx context.Context, workspace string) *event.Git {
	ctx, cancel := context.WithTimeout(ctx, gitBound)
	defer cancel()
	commit, err := git(ctx, workspace, "rev-parse", "HEAD")
	if err != nil {
		return nil
	}
	state := &event.Git{Commit: commit}
	if branch, err := git(ctx, workspace, "symbolic-ref", "--quiet", "--short", "HEAD"); err == nil {
		state.Branch = branch
	}
	if changes, err := git(ctx, workspace, "status", "--porcelain", "--untracked-files=no"); err == nil {
		state.Dirty = changes != ""
	}
	return state
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	// A repository may name programs for git to run; none of these commands
	// needs one.
	args = append([]string{"-C", dir, "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null"}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
