// Package byhand runs programs as the hub's owner would run them by hand: with the
// owner's environment and configuration, and so with hooks, credential helpers, ssh and
// gpg. The caller checks first that a setting allows it.
//
// A program has no terminal and cannot ask anything. It ends with its context and with
// the hub, and its whole process group with it.
package byhand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// mostSaid bounds the output and the errors that are kept, in bytes: the last of them.
const mostSaid = 16 << 10

// Program is a run of a program.
type Program struct {
	// Args are the program and its arguments.
	Args []string
	// Dir is where it runs.
	Dir string
	// Env is added to the owner's environment.
	Env []string
	In  io.Reader
	// Most bounds the output that is kept, in bytes; 0 is 16 KiB.
	Most int
}

// Failure says how a program failed.
type Failure struct {
	Program string
	// Out and Said are the last of its output and its errors.
	Out, Said string
	cause     error
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %v: %s", f.Program, f.cause, f.Said) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.cause }

// Run runs a program until it ends and returns the last of its output. The error is a
// *Failure, which is ctx's error, too, if that ended it.
func Run(ctx context.Context, p Program) (string, error) {
	failed := &Failure{Program: p.Args[0]}
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.Dir, append(environment(os.Environ()), p.Env...), p.In
	cmd.SysProcAttr = detached()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, said := &last{most: p.Most}, &last{}
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	if cmd.Process != nil {
		_ = cmd.Cancel() // what it left behind, if anything
	}
	if errors.Is(err, exec.ErrWaitDelay) { // it has ended well, and a child of it held the output
		err = nil
	}
	failed.Out, failed.Said = out.text(), said.text()
	switch {
	case ctx.Err() != nil && err != nil:
		failed.cause = ctx.Err()
	case err != nil:
		failed.cause = err
	default:
		return failed.Out, nil
	}
	return failed.Out, failed
}

// environment is the owner's, without the hub's own variables, those by which git finds
// another repository or writes traces, and those that let a program ask.
func environment(of []string) []string {
	left := slices.DeleteFunc(slices.Clone(of), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "ABIDE_") || strings.HasPrefix(name, "GIT_TRACE") || slices.Contains([]string{
			"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CURL_VERBOSE", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE",
			"GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY",
			"GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
			"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
		}, name)
	})
	return append(left,
		"LC_ALL=C.UTF-8", "NO_COLOR=1", "TERM=dumb", // git's words are read
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never",
		"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_PAGER=cat", "PAGER=cat",
		"GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1",
	)
}

// last keeps the last bytes that are written.
type last struct {
	most int // 0 is mostSaid
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer. It never fails.
func (l *last) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := cmp.Or(l.most, mostSaid)
	l.kept = append(l.kept, p[max(0, len(p)-most):]...)
	if over := len(l.kept) - most; over > 0 {
		l.kept = l.kept[:copy(l.kept, l.kept[over:])]
	}
	return len(p), nil
}

func (l *last) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.ToValidUTF8(string(l.kept), "\uFFFD")
}
