package gitstate

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"unicode"

	"github.com/abidehub/abide/internal/byhand"
)

// The programs of hosts that make pull requests.
const (
	GitHubProgram = "gh"
	GitLabProgram = "glab"
)

// mostAddress bounds the address of a pull request, in bytes.
const mostAddress = 2000

// ErrNoProgram means that the program which makes pull requests is not installed.
var ErrNoProgram = errors.New("the program is not installed")

// NewPullRequest is a pull request that a program of the host is to make.
type NewPullRequest struct {
	// Program is GitHubProgram or GitLabProgram.
	Program string
	// Branch is to be merged into Base; empty is the repository's main branch.
	Branch, Base string
	Title, Body  string
	// Env is added to the owner's environment.
	Env []string
}

// NotMade says why a program made no pull request, or is not known to have made one.
type NotMade struct {
	// Perhaps means that it may be there all the same.
	Perhaps bool
	// Said are the program's words, without secrets.
	Said string
	// cause is ctx's error if that ended it.
	cause error
}

// Error implements error.
func (e *NotMade) Error() string { return "no pull request: " + e.Said }

// Unwrap returns the error that ended it; nil if the program did.
func (e *NotMade) Unwrap() error { return e.cause }

// Installed is ErrNoProgram if the program is not in the PATH.
func (p NewPullRequest) Installed() error {
	if _, err := exec.LookPath(p.Program); err != nil {
		return ErrNoProgram
	}
	return nil
}

// PullRequest lets the host's program make a pull request, as the person would by hand in
// the worktree, and returns its address. The program pushes nothing. The error is a
// *NotMade.
func (u Upstream) PullRequest(ctx context.Context, worktree string, p NewPullRequest) (string, error) {
	env := append([]string{"NO_PROMPT=1", "GLAB_NO_PROMPT=1", "GLAB_CHECK_UPDATE=false"}, p.Env...)
	out, err := byhand.Run(ctx, byhand.Program{Args: p.args(), Dir: worktree, Env: env})
	var failed *byhand.Failure
	switch {
	case errors.As(err, &failed):
		made := &NotMade{Said: u.said(failed.Said)}
		for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
			if errors.Is(err, ended) {
				made.Perhaps, made.cause = true, ended
			}
		}
		if made.Said == "" {
			made.Said = failed.Unwrap().Error()
		}
		return "", made
	case err != nil:
		return "", err
	}
	if address := addressIn(out); address != "" {
		return address, nil
	}
	return "", &NotMade{Perhaps: true, Said: p.Program + " ended well, but without the address of a pull request: " + u.said(out)}
}

// args are the program and its arguments. A value is never an argument of its own, so none
// is taken for an option.
func (p NewPullRequest) args() []string {
	if p.Program == GitLabProgram {
		body := p.Body
		if body == "-" {
			body += "\n" // a dash alone opens an editor
		}
		args := []string{p.Program, "mr", "create", "--yes", "--source-branch=" + p.Branch, "--title=" + p.Title, "--description=" + body}
		if p.Base != "" {
			args = append(args, "--target-branch="+p.Base)
		}
		return args
	}
	args := []string{p.Program, "pr", "create", "--head=" + p.Branch, "--title=" + p.Title, "--body=" + p.Body}
	if p.Base != "" {
		args = append(args, "--base="+p.Base)
	}
	return args
}

// addressIn is the last web address in a program's output; empty if there is none.
func addressIn(out string) (found string) {
	for _, word := range strings.Fields(ansi.ReplaceAllString(out, "")) {
		u, err := url.Parse(word)
		if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil && len(word) <= mostAddress &&
			!strings.ContainsFunc(word, func(c rune) bool { return !unicode.IsGraphic(c) || strings.ContainsRune("\"'<>\\`", c) }) {
			found = word
		}
	}
	return found
}

// said are the last lines of what a program said, on one line and without secrets.
func (u Upstream) said(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	secrets := u.secrets()
	for _, name := range []string{"GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN"} {
		secrets = append(secrets, os.Getenv(name))
	}
	return withoutSecrets(strings.Join(lines[max(0, len(lines)-mostLines):], "; "), secrets)
}
