package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/abidehub/abide/internal/rootfs"
	"github.com/abidehub/abide/session/event"
)

// openTerminals is how many terminals an agent may have at a time.
const openTerminals = 32

// terminals runs commands of the agent in the workspace.
type terminals struct {
	// set at construction
	cfg    Config
	prefix string
	record func(...event.Payload) error

	mu     sync.Mutex
	made   int                  // guarded by mu
	open   map[string]*terminal // guarded by mu
	closed bool                 // guarded by mu
}

func newTerminals(cfg Config, id string, record func(...event.Payload) error) *terminals {
	return &terminals{cfg: cfg, prefix: "t-" + id, record: record, open: map[string]*terminal{}}
}

// terminalRequest is the params of all the methods.
type terminalRequest struct {
	TerminalID string   `json:"terminalId"`
	Command    string   `json:"command"`
	Args       []string `json:"args"`
	Env        []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	Dir         string `json:"cwd"`
	OutputLimit *int   `json:"outputByteLimit"`
}

// create implements terminal/create.
func (ts *terminals) create(_ context.Context, params json.RawMessage) (any, error) {
	var r terminalRequest
	if err := json.Unmarshal(params, &r); err != nil || r.Command == "" {
		return nil, invalid("unreadable params")
	}
	dir, err := ts.directory(r.Dir)
	if err != nil {
		return nil, err
	}
	cfg := ts.cfg
	cfg.Env = maps.Clone(ts.cfg.Env) // the agent's configured variables apply to its commands too
	if cfg.Env == nil {
		cfg.Env = map[string]string{}
	}
	for _, v := range r.Env {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.ContainsRune(v.Value, 0) {
			return nil, invalid("environment name %q", v.Name)
		}
		cfg.Env[v.Name] = v.Value
	}
	words := append([]string{r.Command}, r.Args...)
	if len(r.Args) == 0 && strings.ContainsAny(r.Command, " \t\n|&;<>()$`\"'*?") {
		// Some agents put a whole shell command line here.
		words = []string{"/bin/sh", "-c", r.Command}
	}
	if l := ts.cfg.Allow; l != nil && !l.Command(words, dir) {
		return nil, forbidden("the job's policy does not allow the command %q", strings.Join(words, " "))
	}
	cmd, err := command(words, cfg.environment(os.Environ()))
	if err != nil {
		return nil, invalid("run %q: %v", r.Command, err)
	}
	cmd.Dir = dir

	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.closed {
		return nil, ErrGone
	}
	if len(ts.open) >= openTerminals {
		return nil, invalid("%d terminals are open; release one first", openTerminals)
	}
	ts.made++
	id := fmt.Sprintf("%s-%d", ts.prefix, ts.made)
	t, err := startTerminal(id, cmd, r.OutputLimit, ts.cfg.Bounds, ts.record)
	if err != nil {
		return nil, invalid("run %q: %v", r.Command, err)
	}
	ts.open[id] = t
	return map[string]string{"terminalId": id}, nil
}

// directory returns the directory of a command, which must be in the workspace.
func (ts *terminals) directory(dir string) (string, error) {
	if dir == "" {
		return ts.cfg.Workspace, nil
	}
	rel, err := within(ts.cfg.Workspace, dir)
	if err != nil {
		return "", err
	}
	root, err := rootfs.Open(ts.cfg.Workspace)
	if err != nil {
		return "", fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	if info, err := root.Stat(rel); err != nil {
		return "", fileError(dir, err)
	} else if !info.IsDir() {
		return "", invalid("%s is not a directory", dir)
	}
	return filepath.Join(ts.cfg.Workspace, rel), nil
}

func (ts *terminals) find(params json.RawMessage) (*terminal, error) {
	var r terminalRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, invalid("unreadable params: %v", err)
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.open[r.TerminalID]; t != nil {
		return t, nil
	}
	return nil, notFound("no terminal %q", r.TerminalID)
}

// output implements terminal/output.
func (ts *terminals) output(_ context.Context, params json.RawMessage) (any, error) {
	t, err := ts.find(params)
	if err != nil {
		return nil, err
	}
	return t.output(), nil
}

// wait implements terminal/wait_for_exit.
func (ts *terminals) wait(ctx context.Context, params json.RawMessage) (any, error) {
	t, err := ts.find(params)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.done:
		return t.exitStatus(), nil
	case <-ctx.Done():
		return nil, &refusedError{code: codeCancelled, err: ctx.Err()}
	}
}

// kill implements terminal/kill: the terminal and its output remain.
func (ts *terminals) kill(_ context.Context, params json.RawMessage) (any, error) {
	t, err := ts.find(params)
	if err != nil {
		return nil, err
	}
	t.proc.kill()
	return struct{}{}, nil
}

// release implements terminal/release.
func (ts *terminals) release(_ context.Context, params json.RawMessage) (any, error) {
	t, err := ts.find(params)
	if err != nil {
		return nil, err
	}
	ts.mu.Lock()
	delete(ts.open, t.id)
	ts.mu.Unlock()
	t.proc.kill()
	<-t.done
	return struct{}{}, nil
}

// killAll ends every command; no other one can start.
func (ts *terminals) killAll() []*terminal {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.closed = true
	var all []*terminal
	for _, t := range ts.open {
		t.proc.kill()
		all = append(all, t)
	}
	return all
}
