package gitstate_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
)

// server is a git server on loopback: a bare repository behind git http-backend.
type server struct {
	*httptest.Server
	bare string

	mu     sync.Mutex
	before func() // of each request
}

// serve starts one; it asks for the password, unless that is empty.
func serve(t *testing.T, password string) *server {
	t.Helper()
	s := &server{bare: filepath.Join(t.TempDir(), "proj.git"), before: func() {}}
	plain(t, "/", "init", "-q", "--bare", s.bare)
	plain(t, s.bare, "config", "http.receivepack", "true")
	git, err := exec.LookPath("git")
	require.NoError(t, err)
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Root: "/", Env: []string{
		"GIT_PROJECT_ROOT=" + filepath.Dir(s.bare), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ada", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
	}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		before := s.before
		s.mu.Unlock()
		before()
		if _, given, _ := r.BasicAuth(); given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// address is the remote's, with user and password if they are given.
func (s *server) address(user ...string) string {
	u, _ := url.Parse(s.URL + "/proj.git")
	if len(user) == 2 {
		u.User = url.UserPassword(user[0], user[1])
	}
	return u.String()
}

// owner gives this process the configuration of a person.
func owner(t *testing.T, config string) {
	t.Helper()
	home := t.TempDir()
	put(t, filepath.Join(home, ".gitconfig"), config)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// pushing makes a repository with the branch work and a remote.
func pushing(t *testing.T, remote string) string {
	t.Helper()
	dir := repository(t)
	plain(t, dir, "remote", "add", "origin", remote)
	plain(t, dir, "switch", "-q", "-c", "work")
	commit(t, dir, "a", "a")
	return dir
}

func push(t *testing.T, dir string) (gitstate.Move, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	return newGit(t).Push(ctx, find(t, dir), nil, func(string, gitstate.Move) error { return nil })
}

func TestAPushIsThePersonsWithHooksAndTheRemoteHasTheBranch(t *testing.T) {
	owner(t, "")
	s := serve(t, "")
	dir := pushing(t, s.address())
	ran := filepath.Join(t.TempDir(), "ran")
	makeProgram(t, filepath.Join(dir, ".git", "hooks", "pre-push"), "#!/bin/sh\ncat > "+ran+"\nenv | grep -e ABIDE -e GIT_DIR -e TERMINAL >> "+ran+"; true\n")
	t.Setenv("ABIDE_SECRET", "hush")
	head := plain(t, dir, "rev-parse", "HEAD")
	g, r := newGit(t), find(t, dir)
	before, err := g.Upstream(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, []string{"origin", "", "git -C " + dir + " push -u origin work"}, []string{before.Remote, before.Pushed, before.Command(dir)})

	begun := gitstate.Move{}
	made, err := g.Push(t.Context(), r, []string{"ABIDE_MARK=x"}, func(remote string, m gitstate.Move) error {
		require.Equal(t, "origin", remote)
		require.NoFileExists(t, ran)
		begun = m
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, gitstate.Move{Branch: "work", After: head}, begun)
	require.Equal(t, begun, made)
	require.Equal(t, head, plain(t, s.bare, "rev-parse", "refs/heads/work"))
	said, err := os.ReadFile(ran)
	require.NoError(t, err)
	require.Contains(t, string(said), "refs/heads/work "+head)
	require.Contains(t, string(said), "GIT_TERMINAL_PROMPT=0")
	require.Contains(t, string(said), "ABIDE_MARK=x")
	require.NotContains(t, string(said), "hush")
	after, err := g.Upstream(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, head, after.Pushed)
	require.True(t, after.Tracks)

	next := commit(t, dir, "b", "b")
	made, err = push(t, dir)
	require.NoError(t, err)
	require.Equal(t, gitstate.Move{Branch: "work", Before: head, After: next}, made)
	_, err = push(t, dir)
	require.NoError(t, err, "it is there already")
	_, err = g.Push(t.Context(), r, nil, func(string, gitstate.Move) error { return errors.New("not now") })
	require.ErrorContains(t, err, "not now")
}

func TestAPasswordComesFromACredentialHelperAndIsNeverAskedOrTold(t *testing.T) {
	const password = "hunter2-of-ada"
	s := serve(t, password)
	refused := func(dir string) *gitstate.NotPushed {
		t.Helper()
		_, err := push(t, dir)
		var not *gitstate.NotPushed
		require.ErrorAs(t, err, &not)
		require.NotContains(t, err.Error(), "hunter")
		return not
	}
	owner(t, "")
	t.Setenv("GIT_ASKPASS", "/bin/false-askpass")
	require.Contains(t, refused(pushing(t, s.address())).Said, "terminal prompts disabled")

	refused(pushing(t, s.address("ada", "hunter3-is-wrong")))
	told := pushing(t, s.address("ada", password))
	makeProgram(t, filepath.Join(told, ".git", "hooks", "pre-push"), "#!/bin/sh\necho \"told $2 and "+password+"\" >&2; exit 1\n")
	require.Contains(t, refused(told).Said, "told "+s.URL+"/proj.git and …")

	owner(t, "[credential]\n\thelper = \"!f() { echo username=ada; echo password="+password+"; }; f\"\n")
	dir := pushing(t, s.address())
	_, err := push(t, dir)
	require.NoError(t, err)
	require.Equal(t, plain(t, dir, "rev-parse", "HEAD"), plain(t, s.bare, "rev-parse", "refs/heads/work"))
}

func TestNothingIsForcedAndTheRemotesWordsAreInTheError(t *testing.T) {
	owner(t, "")
	s := serve(t, "")
	dir := pushing(t, s.address())
	_, err := push(t, dir)
	require.NoError(t, err)
	there := plain(t, s.bare, "rev-parse", "refs/heads/work")
	plain(t, dir, "reset", "-q", "--hard", "main")
	commit(t, dir, "a", "other")
	_, err = push(t, dir)
	var not *gitstate.NotPushed
	require.ErrorAs(t, err, &not)
	require.True(t, not.Behind, not.Said)
	require.Equal(t, there, plain(t, s.bare, "rev-parse", "refs/heads/work"))

	plain(t, dir, "reset", "-q", "--hard", there)
	commit(t, dir, "b", "b")
	makeProgram(t, filepath.Join(s.bare, "hooks", "pre-receive"), "#!/bin/sh\nprintf '\\033[31mnot on Fridays\\033[0m\\n' >&2\nexit 1\n")
	_, err = push(t, dir)
	require.ErrorAs(t, err, &not)
	require.False(t, not.Behind)
	require.Contains(t, not.Said, "not on Fridays")
	require.Contains(t, not.Said, "pre-receive hook declined")
	require.NotContains(t, not.Said, "\x1b")

	for name, wrong := range map[string]func(dir string){
		"no remote is known": func(dir string) { plain(t, dir, "remote", "remove", "origin") },
		"no branch":          func(dir string) { plain(t, dir, "switch", "-q", "--detach") },
	} {
		dir := pushing(t, s.address())
		wrong(dir)
		_, err = push(t, dir)
		require.ErrorContains(t, err, name)
	}
}

func TestAPushThatIsEndedLeavesNoProcess(t *testing.T) {
	owner(t, "")
	s := serve(t, "")
	dir := pushing(t, s.address())
	hook := filepath.Join(t.TempDir(), "hook")
	makeProgram(t, filepath.Join(dir, ".git", "hooks", "pre-push"), "#!/bin/sh\nsleep 1000 &\necho $! > "+hook+".part\nmv "+hook+".part "+hook+"\nwait\n")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	g, r := newGit(t), find(t, dir)
	go func() {
		_, err := g.Push(ctx, r, nil, func(string, gitstate.Move) error { return nil })
		done <- err
	}()
	var pid int
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(hook)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	}, bound, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Eventually(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }, bound, time.Millisecond, "the hook's child is there still")

	// A server that does not answer is given up, too.
	require.NoError(t, os.Remove(filepath.Join(dir, ".git", "hooks", "pre-push")))
	asked, answer := make(chan struct{}, 9), make(chan struct{})
	s.mu.Lock()
	s.before = func() { asked <- struct{}{}; <-answer }
	s.mu.Unlock()
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, err := g.Push(ctx, r, nil, func(string, gitstate.Move) error { return nil })
		done <- err
	}()
	<-asked
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	close(answer)
}

// The program ssh of this test runs what it is told on this machine.
func TestSSHAsksForNothingAndThePersonsWayToRunItStays(t *testing.T) {
	bin, bare := t.TempDir(), filepath.Join(t.TempDir(), "proj.git")
	said := filepath.Join(bin, "said")
	for _, name := range []string{"ssh", "own/ssh"} {
		require.NoError(t, os.MkdirAll(filepath.Join(bin, "own"), 0o700))
		makeProgram(t, filepath.Join(bin, name), "#!/bin/sh\necho \"$0 $*\" >> "+said+"\nfor command; do :; done\nexec sh -c \"$command\"\n")
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	plain(t, "/", "init", "-q", "--bare", bare)
	run := func(config string) string {
		t.Helper()
		owner(t, config)
		dir := pushing(t, "ssh://git@example.org:2222"+bare)
		plain(t, dir, "branch", "-m", "work"+strconv.Itoa(len(config)))
		_, err := push(t, dir)
		require.NoError(t, err)
		text, err := os.ReadFile(said)
		require.NoError(t, err)
		require.NoError(t, os.Remove(said))
		return string(text)
	}
	require.Contains(t, run(""), "/ssh -o BatchMode=yes -p 2222 git@example.org git-receive-pack")
	require.Contains(t, run("[core]\n\tsshCommand = "+bin+"/own/ssh -4\n"), "/own/ssh -4 -p 2222")
	t.Setenv("GIT_SSH_COMMAND", bin+"/own/ssh -6")
	require.Contains(t, run("[user]\n\tname = a\n"), "/own/ssh -6 -p 2222")
}
