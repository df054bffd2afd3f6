package gitstate

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/byhand"
)

// signBound limits the time to sign one commit: nobody is there to be asked for a
// passphrase, and the worktree is locked meanwhile.
const signBound = 30 * time.Second

// askBound limits the time in which git says whether it signs: a file that a configuration
// includes may be a pipe.
const askBound = 5 * time.Second

// ErrConfiguration says that git does not read its configuration.
var ErrConfiguration = errors.New("git does not read its configuration")

// Signing lets the person's own git sign the commits that are made, as the person would by
// hand: it runs what the configuration of the repository and of the person names for that.
// The caller checks first that a setting allows it.
type Signing struct {
	// Env is added to the environment of that git.
	Env []string
}

// NotSigned says why a commit was not signed. Nothing was changed.
type NotSigned struct {
	// Said are the words of git, gpg or ssh-keygen.
	Said string
}

// Error implements error.
func (e *NotSigned) Error() string { return "not signed: " + e.Said }

// SignsByHand reports whether the person's git signs commits in the worktree. Unlike Signs it
// lets git read all of the configuration, with the files that it includes. That runs nothing
// that the configuration names, so it takes no setting.
func (g *Git) SignsByHand(ctx context.Context, r *Repository, s Signing) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	out, err := byhand.Run(ctx, byhand.Program{Args: []string{g.program, "config", "--type=bool", "--get", "commit.gpgSign"}, Dir: r.Worktree, Env: s.Env})
	var exit *exec.ExitError
	var failed *byhand.Failure
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 1: // it is not set
		return false, nil
	case errors.As(err, &failed) && ctx.Err() == nil:
		return false, fmt.Errorf("%w: %s", ErrConfiguration, lastLines(failed))
	case err != nil:
		return false, fmt.Errorf("ask git whether commits are signed: %w", err)
	}
	return strings.TrimSpace(out) == "true", nil
}

// newCommit makes a commit that a branch is to have, signed if it is to be.
func (m *moving) newCommit(ctx context.Context, who []string, tree, message string, parents ...string) (string, error) {
	if m.sign == nil {
		return m.writeCommit(ctx, who, tree, message, parents...)
	}
	ctx, cancel := context.WithTimeout(ctx, signBound)
	defer cancel()
	out, err := byhand.Run(ctx, byhand.Program{
		Args: append([]string{m.g.program}, commitTree([]string{"-S"}, tree, parents)...), Dir: m.s.repository.Worktree,
		Env: slices.Concat(m.sign.Env, who), In: strings.NewReader(message),
	})
	var failed *byhand.Failure
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "", &NotSigned{Said: fmt.Sprintf("it took more than %v", signBound)}
	case errors.Is(err, context.Canceled):
		return "", err
	case errors.As(err, &failed):
		return "", &NotSigned{Said: lastLines(failed)}
	case err != nil:
		return "", err
	}
	return madeCommit(out)
}

// lastLines are the last words of a program that failed, in one line and without secrets.
func lastLines(failed *byhand.Failure) string {
	var said []string
	for line := range strings.Lines(failed.Said) {
		if line = strings.TrimSpace(line); line != "" {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		said = []string{failed.Unwrap().Error()}
	}
	return withoutSecrets(strings.Join(said[max(0, len(said)-mostLines):], "; "), nil)
}

// commitTree are the arguments of git commit-tree.
func commitTree(options []string, tree string, parents []string) []string {
	args := append([]string{"commit-tree"}, options...)
	args = append(args, tree)
	for _, p := range parents {
		if p != "" {
			args = append(args, "-p", p)
		}
	}
	return append(args, "-F", "-")
}

// madeCommit reads what git commit-tree prints.
func madeCommit(out string) (string, error) {
	made := strings.TrimSpace(out)
	if !isCommit(made) {
		return "", fmt.Errorf("write a commit: git says %q", made)
	}
	return made, nil
}
