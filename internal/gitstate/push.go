package gitstate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/abidehub/abide/internal/byhand"
)

// NotPushed says why a remote does not have a branch now.
type NotPushed struct {
	// Behind means that the remote's branch has commits which are not here.
	Behind bool
	// Said are the words of git, of the remote and of hooks, without secrets.
	Said string
	// cause is ctx's error if that ended it.
	cause error
}

// Error implements error.
func (e *NotPushed) Error() string { return "not pushed: " + e.Said }

// Unwrap returns the error that ended it; nil if git did.
func (e *NotPushed) Unwrap() error { return e.cause }

// Upstream is where the branch of a repository is pushed to.
type Upstream struct {
	Head
	// Remote is its name.
	Remote string
	// Pushed is the commit that the remote's branch of the same name has, as far as is known
	// here; empty for none.
	Pushed string
	// Tracks means that the branch is configured to follow a remote's.
	Tracks bool

	values map[string]string // of the configuration
	known  bool              // no file was left out of it
}

// Command is a shell's command that pushes the branch of the worktree by hand; empty if
// there is no branch or no remote.
func (u Upstream) Command(worktree string) string {
	if u.Branch == "" || u.Remote == "" || strings.ContainsFunc(worktree, unicode.IsControl) {
		return ""
	}
	words := []string{"git", "-C", shellWord(worktree), "push"}
	if !u.Tracks {
		words = append(words, "-u")
	}
	return strings.Join(append(words, shellWord(u.Remote), shellWord(u.Branch)), " ")
}

// Address is the remote's, without user and password.
func (u Upstream) Address() string { return withoutUser(u.values["remote."+u.Remote+".url"]) }

// shellWord quotes a word where a shell would take it for more.
func shellWord(word string) string {
	if strings.ContainsFunc(word, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_./:@%+-", c)
	}) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// Upstream finds out where the branch that is checked out is pushed to. Its Remote is empty
// if there is none.
func (g *Git) Upstream(ctx context.Context, r *Repository) (Upstream, error) {
	s, err := g.standIn(ctx, r)
	if err != nil {
		return Upstream{}, err
	}
	defer s.remove()
	p, err := g.personal(ctx, s)
	if err != nil {
		return Upstream{}, err
	}
	u := Upstream{Head: g.headOf(ctx, s), values: p.values, known: p.partly == ""}
	branch := "branch." + u.Branch + "."
	u.Tracks = p.values[branch+"remote"] != ""
	for _, name := range []string{p.values[branch+"pushremote"], p.values["remote.pushdefault"], p.values[branch+"remote"], "origin", onlyRemote(p.values)} {
		if isRemoteName(name) && p.values["remote."+name+".url"] != "" {
			u.Remote = name
			break
		}
	}
	if u.Remote != "" && u.Branch != "" {
		u.Pushed, err = r.RemoteBranch(u.Remote, u.Branch)
	}
	return u, err
}

// RemoteBranch is the commit of a remote's branch, as far as is known here; empty for none.
func (r *Repository) RemoteBranch(remote, branch string) (string, error) {
	if !isRemoteName(remote) || !IsBranchName(branch) {
		return "", nil
	}
	return r.resolve("refs/remotes/" + remote + "/" + branch)
}

// isRemoteName reports whether a remote may be called so; none looks like an option.
func isRemoteName(name string) bool { return IsBranchName(name) && !strings.HasPrefix(name, "-") }

// onlyRemote is the remote of a configuration that has one; empty if it has none or more.
func onlyRemote(values map[string]string) (only string) {
	for key := range values {
		name, isURL := strings.CutSuffix(key, ".url")
		if name, isRemote := strings.CutPrefix(name, "remote."); isURL && isRemote {
			if only != "" {
				return ""
			}
			only = name
		}
	}
	return only
}

// Push pushes the branch that is checked out to the remote's branch of the same name, as
// the person would by hand: git reads the configuration of the repository and of the
// person and runs what that names. Nothing is forced. begun is called before, with the
// commit that the remote is known to have and the one it is to have; its error ends the
// push. The error is a *NotPushed if git or the remote refused.
func (g *Git) Push(ctx context.Context, r *Repository, env []string, begun func(remote string, m Move) error) (Move, error) {
	u, err := g.Upstream(ctx, r)
	switch {
	case err != nil:
		return Move{}, err
	case u.Branch == "":
		return Move{}, ErrDetached
	case u.Commit == "":
		return Move{}, fmt.Errorf("%w: the branch has no commit yet", ErrNothing)
	case u.Remote == "":
		return Move{}, fmt.Errorf("%w: no remote is known to push to: git remote add origin ADDRESS", ErrNothing)
	}
	made := Move{Branch: u.Branch, Before: u.Pushed, After: u.Commit}
	if err := begun(u.Remote, made); err != nil {
		return made, err
	}
	args := []string{g.program, "push", "--porcelain"}
	if !u.Tracks {
		args = append(args, "--set-upstream")
	}
	ref := "refs/heads/" + u.Branch
	if u.known && u.values["core.sshcommand"] == "" && os.Getenv("GIT_SSH_COMMAND")+os.Getenv("GIT_SSH") == "" {
		// ssh asks for no password: keys without one and the person's ssh agent serve.
		env = append(slices.Clone(env), "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	}
	out, err := byhand.Run(ctx, byhand.Program{Args: append(args, "--", u.Remote, ref+":"+ref), Dir: r.Worktree, Env: env})
	if err != nil {
		return made, u.notPushed(out, err)
	}
	if at, err := r.RemoteBranch(u.Remote, u.Branch); err == nil && at != "" {
		made.After = at // a commit may have come meanwhile
	}
	return made, nil
}

func (u Upstream) notPushed(out string, err error) error {
	var failed *byhand.Failure
	if !errors.As(err, &failed) {
		return err
	}
	refused := &NotPushed{}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			refused.cause = ended
		}
	}
	var said []string
	for line := range strings.Lines(failed.Said) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "remote:"))
		if line != "" && !strings.HasPrefix(line, "hint:") && !strings.HasPrefix(line, "To ") && !strings.HasPrefix(line, "error: failed to push some refs") {
			said = append(said, line)
		}
	}
	for line := range strings.Lines(out) {
		if reason, ok := strings.CutPrefix(line, "!\t"); ok {
			_, reason, _ = strings.Cut(strings.TrimSpace(reason), "\t")
			refused.Behind = refused.Behind || strings.Contains(reason, "(fetch first)") || strings.Contains(reason, "(non-fast-forward)")
			said = append(said, reason)
		}
	}
	if len(said) == 0 {
		said = []string{failed.Unwrap().Error()}
	}
	refused.Said = withoutSecrets(strings.Join(said[max(0, len(said)-mostLines):], "; "), u.secrets())
	return refused
}

// mostLines bounds the lines of an error.
const mostLines = 12

// secrets are those in the addresses of the remote.
func (u Upstream) secrets() (all []string) {
	for _, key := range []string{".url", ".pushurl"} {
		address, err := url.Parse(u.values["remote."+u.Remote+key])
		if err != nil || address.User == nil {
			continue
		}
		password, set := address.User.Password()
		if !set {
			password = address.User.Username()
		}
		_, raw, _ := strings.Cut(address.User.String(), ":")
		all = append(all, password, raw)
	}
	return all
}

var userInAddress = regexp.MustCompile(`://[^\s/'"]*@`)

// withoutSecrets cuts user and password from the addresses in a text, control characters,
// and the given secrets.
func withoutSecrets(text string, secrets []string) string {
	text = userInAddress.ReplaceAllString(text, "://")
	for _, secret := range secrets {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, ansi.ReplaceAllString(text, ""))
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")
