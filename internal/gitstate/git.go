package gitstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MinVersion is the oldest git that Run accepts: GIT_CONFIG_GLOBAL is understood from
// it on.
const MinVersion = "2.32"

var (
	// ErrUnavailable says that there is no git on this machine, or one that is too old.
	ErrUnavailable = errors.New("git is not available")
	// ErrTooLarge says that git's answer, or a repository's configuration, is beyond the bounds.
	ErrTooLarge = errors.New("too large")
)

const (
	// versionBound limits the time of `git version`, callBound that of every other git
	// process, and treeBound that of one that reads a whole tree.
	versionBound = 5 * time.Second
	callBound    = 30 * time.Second
	treeBound    = 2 * time.Minute
	// mostOutput bounds the output of one git process, in bytes.
	mostOutput = 16 << 20
)

// Git runs git. Its methods may be called at any time from any goroutine.
type Git struct {
	program string
	slots   *slots
	parsed  *parsed
	stepped func(string) // nil but in tests: called between the steps of a change
}

// New finds git and checks its version, which takes five seconds at most. An empty
// program is looked up in PATH. The error is ErrUnavailable.
func New(ctx context.Context, program string) (*Git, error) {
	if program == "" {
		found, err := exec.LookPath("git")
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		program = found
	}
	g := &Git{program: program, slots: newSlots(), parsed: newParsed()}
	ctx, cancel := context.WithTimeout(ctx, versionBound)
	defer cancel()
	out, err := g.output(ctx, command{dir: "/", args: []string{"version"}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if !recent(string(out)) {
		return nil, fmt.Errorf("%w: %s is needed, this is %q", ErrUnavailable, MinVersion, strings.TrimSpace(string(out)))
	}
	return g, nil
}

// recent reports whether `git version` prints at least MinVersion.
func recent(printed string) bool {
	found := regexp.MustCompile(`(\d+)\.(\d+)`).FindStringSubmatch(printed)
	least := strings.Split(MinVersion, ".")
	if found == nil {
		return false
	}
	for i, text := range least {
		have, _ := strconv.Atoi(found[i+1])
		want, _ := strconv.Atoi(text)
		if have != want {
			return have > want
		}
	}
	return true
}

// Run runs a git command in folder, which is in the repository's worktree, and
// returns its output. It is the only place of the hub that runs git, for every
// command alike: git reads a configuration of the hub's own (see standIn), and nothing
// that the repository names runs. It ends with ctx, and after 30 s. A command that took
// too long in this worktree is refused for the next minute, with ErrHung. More than
// 16 MiB of output is ErrTooLarge.
func (g *Git) Run(ctx context.Context, r *Repository, folder string, args ...string) ([]byte, error) {
	s, err := g.standIn(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	return g.output(ctx, s.command(folder, args...))
}

// safeArgs adds the options that switch off features which no configuration can.
func safeArgs(args []string) []string {
	var own []string
	switch args[0] {
	case "status":
		own = []string{"--ignore-submodules=all"}
	case "diff":
		own = []string{"--ignore-submodules=all", "--no-ext-diff", "--no-textconv", "--no-color"}
	}
	return append([]string{"--no-pager", args[0]}, append(own, args[1:]...)...)
}

// command is one run of git.
type command struct {
	worktree string // whose turn it waits for; empty for none
	dir      string
	env      []string // added to the minimal environment
	args     []string
	in       io.Reader
	bound    time.Duration // callBound if zero
}

// output runs git and returns its output.
func (g *Git) output(ctx context.Context, c command) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &bounded{most: mostOutput, full: cancel}
	err := g.run(ctx, c, out)
	if out.over {
		return nil, fmt.Errorf("git %s: its output: %w", c.args[0], ErrTooLarge)
	}
	if err != nil {
		return nil, err
	}
	return out.kept.Bytes(), nil
}

// stream runs git and hands its output to take, which reads while git writes.
func (g *Git) stream(ctx context.Context, c command, take func(io.Reader) error) error {
	read, write := io.Pipe()
	taken := make(chan error, 1)
	go func() {
		err := take(read)
		_ = read.CloseWithError(err) // git's next write fails
		taken <- err
	}()
	err := g.run(ctx, c, write)
	_ = write.CloseWithError(err) // nil is the end of the output
	return errors.Join(<-taken, err)
}

// run runs git once, with the minimal environment.
func (g *Git) run(ctx context.Context, c command, out io.Writer) error {
	if c.bound == 0 {
		c.bound = callBound
	}
	ctx, cancel := context.WithTimeout(ctx, c.bound)
	defer cancel()
	slot, err := g.slots.take(ctx, c)
	if err != nil {
		return fmt.Errorf("git %s: %w", c.args[0], err)
	}
	ctx = slot.ctx
	cmd := exec.CommandContext(ctx, g.program, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append(minimalEnvironment(), c.env...)
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = grouped()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	said := &bounded{most: 4 << 10, full: func() {}}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, out, said
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // git has ended, and a child of it holds the output
		_ = cmd.Cancel() // it may have ended, too
	}
	cause := slot.leave()
	switch {
	case cause != nil:
		return fmt.Errorf("git %s: %w", c.args[0], cause)
	case err != nil:
		return fmt.Errorf("git %s: %w: %s", c.args[0], err, strings.TrimSpace(said.kept.String()))
	}
	return nil
}

// minimalEnvironment holds nothing of the hub's own, and no GIT_ variable of it, such as
// GIT_ATTR_SOURCE. A transport that git tries is refused under any name.
func minimalEnvironment() []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1", "GIT_PROTOCOL_FROM_USER=0",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_SSH_COMMAND=false",
		"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_PAGER=cat",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1",
	}
}

// bounded keeps at most so many bytes and calls full once there are more.
type bounded struct {
	kept bytes.Buffer // not embedded: its ReadFrom would go past the bound
	most int
	over bool
	full func()
}

// Write implements io.Writer. It never fails, so that git's last output is read.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.kept.Len()
	if len(p) <= room {
		return b.kept.Write(p)
	}
	b.kept.Write(p[:max(room, 0)])
	b.over = true
	b.full()
	return len(p), nil
}

// OnStep calls f between the steps of a change, until it is called with nil. Tests kill
// there.
func (g *Git) OnStep(f func(step string)) { g.stepped = f }

// step is between two steps of a change, where a kill must do no harm.
func (g *Git) step(name string) {
	if g.stepped != nil {
		g.stepped(name)
	}
}
