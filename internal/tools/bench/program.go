package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/auth"
)

// program is `abide serve` as it is shipped, in a process of its own.
type program struct {
	cmd   *exec.Cmd
	addr  string
	token string
}

// build builds abide once and returns its path.
func (b *bench) build(ctx context.Context) (string, error) {
	path := filepath.Join(b.dir, "abide")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/abidehub/abide").Output()
	if err != nil {
		return "", fmt.Errorf("find abide's sources: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "./cmd/abide")
	cmd.Dir, cmd.Stderr = strings.TrimSpace(string(root)), os.Stderr
	return path, cmd.Run()
}

// run starts the program on a data directory and waits until it listens.
func (b *bench) run(ctx context.Context, data string) (*program, error) {
	path, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	token, err := mint(data)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(b.dir, "config.yaml")
	if err := os.WriteFile(config, []byte("workspaces: ["+b.dir+"]\nlimits: {sessions: 2000}\n"), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, "serve", "--data", data, "--config", config, "--addr", "127.0.0.1:0", "--open=false")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &program{cmd: cmd, token: token}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on http://")
	if err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("abide said %q: %w", line, err), p.kill())
	}
	p.addr = addr
	go func() { _, _ = io.Copy(io.Discard, lines) }() // until the program ends
	return p, nil
}

func mint(data string) (string, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return "", err
	}
	registry, err := auth.Open(data, nil, nil)
	if err != nil {
		return "", err
	}
	token, _, err := registry.MintToken(auth.TokenRequest{Name: "bench", Scope: auth.Owner})
	return token, err
}

// kill ends the program as kill -9 does.
func (p *program) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.cmd.Wait() // it was killed
	return nil
}

// observe says how a client follows a session from its newest events on.
func (p *program) observe(id string) greeting {
	return greeting{Addr: p.addr, Request: "GET /api/sessions/" + id + "/ws" +
		upgrade(p.addr) + "Sec-WebSocket-Protocol: abide.v1\r\nAuthorization: Bearer " + p.token + "\r\n\r\n"}
}

// create makes a session over HTTP and returns its id.
func (p *program) create(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.addr+"/api/sessions", strings.NewReader(`{}`))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	_, id, ok := bytes.Cut(body, []byte(`"session_id":"`))
	if answer.StatusCode/100 != 2 || !ok {
		return "", fmt.Errorf("abide created no session: %s: %s", answer.Status, body)
	}
	id, _, _ = bytes.Cut(id, []byte(`"`))
	return string(id), nil
}

// grown is the resident memory that the program took while f ran and a while after,
// in bytes.
func (p *program) grown(f func() error) (int64, error) {
	before := residentOf(p.cmd.Process.Pid)
	if err := f(); err != nil {
		return 0, err
	}
	time.Sleep(quietly)
	return residentOf(p.cmd.Process.Pid) - before, nil
}

// measureIdle weighs sessions that were created and never prompted, and clients
// that only watch one, in the program as it is shipped: nothing is collected for the
// measurement.
func measureIdle(ctx context.Context, b *bench) error {
	const sessionGoal, clientGoal = 24 << 10, 16 << 10
	sessions, clients := b.scaled(500, 4), b.scaled(1000, 2)
	each, err := b.idle(ctx, sessions, func(p *program, _ string, _ *crowd) error {
		_, err := p.create(ctx)
		return err
	})
	if err != nil {
		return err
	}
	b.weighed(fmt.Sprintf("resident memory of one of %d idle sessions, never prompted", sessions), sessionGoal, each)
	each, err = b.idle(ctx, clients, func(p *program, id string, c *crowd) error {
		r, err := connect(p.observe(id), 0, false)
		if err != nil {
			return err
		}
		c.readers = append(c.readers, r)
		c.wait.Go(func() { r.run(1 << 60) })
		time.Sleep(5 * time.Millisecond) // one after the other, as people come
		return nil
	})
	if err == nil {
		b.weighed("resident memory of an idle client", clientGoal, each)
	}
	return err
}

// idle starts a program with one session and returns the memory that one of n
// additions takes. The memory that the first ones take for good is not counted.
func (b *bench) idle(ctx context.Context, n int, add func(*program, string, *crowd) error) (each int64, err error) {
	data, err := os.MkdirTemp(b.dir, "idle-")
	if err != nil {
		return 0, err
	}
	p, err := b.run(ctx, data)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.kill()) }()
	id, err := p.create(ctx)
	if err != nil {
		return 0, err
	}
	c := &crowd{}
	defer c.leave()
	many := func(n int) func() error {
		return func() error {
			for range n {
				if err := add(p, id, c); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if _, err := p.grown(many(20)); err != nil {
		return 0, err
	}
	took, err := p.grown(many(n))
	return took / int64(n), err
}

// measureFirstTouch opens a session whose fold is missing, as after kill -9: the
// time from a client's dial to the last byte of the newest 50 events, and to the
// state.
func measureFirstTouch(ctx context.Context, b *bench) error {
	events := b.scaled(1_000_000, 4)
	data := filepath.Join(b.dir, "first")
	s, err := openStore(data)
	if err != nil {
		return err
	}
	l, err := newLog(ctx, s)
	if err == nil {
		err = converse(ctx, l, events)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	var newest, state []time.Duration
	for range b.scaled(5, 2) {
		if err := os.RemoveAll(filepath.Join(data, "sessions", l.ID(), "derived")); err != nil {
			return err
		}
		a, z, err := b.firstTouch(ctx, data, l.ID())
		if err != nil {
			return err
		}
		newest, state = append(newest, a), append(state, z)
	}
	b.within(fmt.Sprintf("first touch of %s events without a fold, dial to the newest 50", count(events)), 50*time.Millisecond, median(newest))
	b.detail("the same, dial to the first state: %s", median(state))
	return nil
}

func (b *bench) firstTouch(ctx context.Context, data, id string) (newest, state time.Duration, err error) {
	p, err := b.run(ctx, data)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, p.kill()) }()
	began := time.Now()
	r, err := connect(p.observe(id), 0, false)
	if err != nil {
		return 0, 0, err
	}
	defer r.conn.Close()
	for {
		length, _, err := r.header()
		if err != nil {
			return 0, 0, err
		}
		frame := make([]byte, length)
		if _, err := io.ReadFull(r.in, frame); err != nil {
			return 0, 0, err
		}
		switch {
		case bytes.HasPrefix(frame, []byte(`{"type":"events_loaded"`)):
			newest = time.Since(began)
		case bytes.HasPrefix(frame, []byte(`{"type":"state"`)):
			return newest, time.Since(began), nil
		}
	}
}
