package gitstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MinVersion is the oldest git that Run accepts: GIT_CONFIG_COUNT and
// GIT_CONFIG_GLOBAL are understood from it on.
const MinVersion = "2.32"

var (
	// ErrUnavailable says that there is no git on this machine, or one that is too old.
	ErrUnavailable = errors.New("git is not available")
	// ErrTooLarge says that git's answer, or a repository's configuration, is beyond the bounds.
	ErrTooLarge = errors.New("too large")
)

const (
	// atOnce bounds the git processes of a hub.
	atOnce = 4
	// mostOutput bounds the output of one git process, in bytes.
	mostOutput = 16 << 20
)

// Git runs git. Its methods may be called at any time from any goroutine.
type Git struct {
	program string
	running chan struct{} // one place for each process
	mu      sync.Mutex
	turns   map[string]*turn // of the worktrees in which git runs or waits
}

// turn is held by the git process of one worktree; the others wait for it. So a worktree
// in which git hangs takes one place, and not all of them.
type turn struct {
	held    chan struct{}
	waiting int // with the one that holds it
}

// New finds git and checks its version. An empty program is looked up in PATH. The
// error is ErrUnavailable.
func New(ctx context.Context, program string) (*Git, error) {
	if program == "" {
		found, err := exec.LookPath("git")
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		program = found
	}
	g := &Git{program: program, running: make(chan struct{}, atOnce), turns: map[string]*turn{}}
	out, err := g.output(ctx, "", "/", nil, "version")
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
// command alike: nothing that the repository names runs. It ends with ctx; the
// caller sets the time limit. More than 16 MiB of output is ErrTooLarge.
func (g *Git) Run(ctx context.Context, r *Repository, folder string, args ...string) ([]byte, error) {
	c, err := g.configuration(ctx, r)
	if err != nil {
		return nil, err
	}
	return g.run(ctx, r, folder, c, args...)
}

func (g *Git) run(ctx context.Context, r *Repository, folder string, c configuration, args ...string) ([]byte, error) {
	return g.output(ctx, r.Worktree, folder, append(r.environment(), c.overrides()...), safeArgs(args)...)
}

// safeArgs adds the options that switch off features which no configuration can.
func safeArgs(args []string) []string {
	if len(args) == 0 {
		return args
	}
	var own []string
	switch args[0] {
	case "status":
		own = []string{"--ignore-submodules=all"}
	case "diff":
		own = []string{"--ignore-submodules=all", "--no-ext-diff", "--no-textconv", "--no-color"}
	}
	return append([]string{"--no-pager", args[0]}, append(own, args[1:]...)...)
}

// environment names the repository, so that git neither searches for one nor
// follows core.worktree or commondir.
func (r *Repository) environment() []string {
	return []string{"GIT_DIR=" + r.dir, "GIT_WORK_TREE=" + r.Worktree, "GIT_COMMON_DIR=" + r.common}
}

// place waits for the worktree's turn and then for a place.
func (g *Git) place(ctx context.Context, worktree string) (leave func(), err error) {
	g.mu.Lock()
	t := g.turns[worktree]
	if t == nil {
		t = &turn{held: make(chan struct{}, 1)}
		g.turns[worktree] = t
	}
	t.waiting++
	g.mu.Unlock()
	gone := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(g.turns, worktree)
		}
	}
	select {
	case t.held <- struct{}{}:
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
	select {
	case g.running <- struct{}{}:
		return func() { <-g.running; <-t.held; gone() }, nil
	case <-ctx.Done():
		<-t.held
		gone()
		return nil, ctx.Err()
	}
}

// output runs git for a worktree, with the minimal environment and more.
func (g *Git) output(ctx context.Context, worktree, dir string, more []string, args ...string) ([]byte, error) {
	leave, err := g.place(ctx, worktree)
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.program, args...)
	cmd.Dir = dir
	cmd.Env = append(minimalEnvironment(), more...)
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	out := &bounded{most: mostOutput, full: cancel}
	said := &bounded{most: 4 << 10, full: func() {}}
	cmd.Stdout, cmd.Stderr = out, said
	err = cmd.Run()
	switch {
	case out.over:
		return nil, fmt.Errorf("git %s: its output: %w", args[0], ErrTooLarge)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.kept.String()))
	}
	return out.kept.Bytes(), nil
}

// minimalEnvironment holds nothing of the hub's own. A transport that git tries is
// refused under any name, so a partial clone fetches nothing.
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
