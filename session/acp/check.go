package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/abidehub/abide/session/event"
)

// Find returns the path of an agent's program, as Start looks for it: in the agent's
// own PATH.
func Find(cfg Config) (string, error) {
	if len(cfg.Command) == 0 {
		return "", fmt.Errorf("%w: no command", ErrConfig)
	}
	path, _, err := Program(cfg, cfg.Command)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if info.IsDir() {
		return "", fmt.Errorf("%s is a directory", path)
	}
	return path, nil
}

// Program returns the path of a command's program and the environment to run it in, as
// the agent would find and run it.
func Program(cfg Config, words []string) (path string, env []string, err error) {
	env = cfg.environment(os.Environ())
	path, err = program(words[0], env)
	return path, env, err
}

// Checked is the result of a check.
type Checked struct {
	// Name and Version are the agent's own; empty if it did not answer initialize.
	Name, Version string
	// Methods are its ways to log in.
	Methods []AuthMethod
	// NeedsLogin means that it refuses to begin a session before a login, and Reason is
	// why, in its words.
	NeedsLogin bool
	Reason     string
	// LogsOut reports whether it takes a request to log out.
	LogsOut bool
	// Mode is the id of the mode in which its session began, if it has modes.
	Mode string
	// Answer is its answer to the prompt.
	Answer string
	// Err says why it failed, in the agent's words where it has some.
	Err error
	// Stderr is the end of its stderr, without secrets.
	Stderr string
}

// mostAnswer bounds the answer to a check's prompt, in bytes.
const mostAnswer = 8 << 10

// Check starts an agent, begins a session and ends both. With a prompt it waits for the
// answer, too; questions of the agent are cancelled meanwhile. When Check returns, the
// agent and all it started are gone. It stops trying when ctx ends.
func Check(ctx context.Context, cfg Config, prompt string) Checked {
	var c Checked
	seen := &checkSink{ended: make(chan struct{})}
	a, err := visit(ctx, cfg, seen, func(a *Agent, o offers) error {
		c.Name, c.Version, c.Methods, c.LogsOut = o.name, o.version, o.auth, o.logout
		seen.cancelBy(func(id string) {
			_ = a.Answer(event.PermissionOutcome{PermissionID: id, Outcome: event.OutcomeCancelled}) // an agent that is gone asks for nothing
		})
		session, err := a.beginSession(ctx, o)
		if err != nil {
			return o.explain(err)
		}
		a.mu.Lock()
		a.session = session
		a.mu.Unlock()
		if prompt != "" {
			err = ask(ctx, a, seen, prompt)
		}
		_ = a.Forget(ctx) // most agents keep it, which does no harm
		return err
	})
	seen.mu.Lock()
	defer seen.mu.Unlock()
	var login *AuthError
	c.Err = err
	if errors.As(err, &login) {
		c.NeedsLogin, c.Reason = true, login.Reason
	}
	if a != nil && errors.Is(err, ErrGone) {
		c.Err = a.cfg.orFolder(a.endedEarly())
	}
	c.Mode, c.Answer = seen.mode, strings.TrimSpace(strings.ToValidUTF8(seen.text, ""))
	if a != nil {
		c.Stderr = a.stderr.tail()
	}
	return c
}

// ask sends a check's prompt and waits for the end of its turn.
func ask(ctx context.Context, a *Agent, seen *checkSink, prompt string) error {
	if err := a.Prompt(event.UserPrompt{PromptID: "check", Text: event.Text(prompt)}); err != nil {
		return err
	}
	select {
	case <-seen.ended:
	case <-a.quiet:
	case <-ctx.Done():
		return fmt.Errorf("no answer to the prompt: %w", context.Cause(ctx))
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	switch {
	case seen.failed != "":
		return errors.New(seen.failed)
	case !seen.over:
		return fmt.Errorf("no answer to the prompt: %w", ErrGone)
	}
	return nil
}

// LogIn logs an agent in by a method that needs no terminal.
func LogIn(ctx context.Context, cfg Config, method string) error {
	_, err := visit(ctx, cfg, nobody{}, func(a *Agent, o offers) error {
		m, offered := o.method(method)
		if !offered || m.Command != nil {
			return fmt.Errorf("%q is not a way to log in by a request", method)
		}
		_, err := a.bounded(ctx, methodAuthenticate, map[string]any{"methodId": method})
		return err
	})
	return err
}

// LogOut logs an agent out. ErrNotOffered means that it has no request for that.
func LogOut(ctx context.Context, cfg Config) error {
	_, err := visit(ctx, cfg, nobody{}, func(a *Agent, o offers) error {
		if !o.logout {
			return fmt.Errorf("%s: %w", methodLogout, ErrNotOffered)
		}
		_, err := a.bounded(ctx, methodLogout, struct{}{})
		return err
	})
	return err
}

// visit starts an agent, gives it to do once it has introduced itself, and ends it. The
// agent is nil if its process did not start.
func visit(ctx context.Context, cfg Config, sink Sink, do func(*Agent, offers) error) (*Agent, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := launch(ctx, cfg, sink)
	if err != nil {
		return nil, err
	}
	o, err := a.hello(ctx)
	if err == nil {
		err = do(a, o)
	}
	if stuck := a.Stop(ctx); stuck != nil {
		return a, errors.Join(err, stuck)
	}
	<-a.Done()
	return a, err
}

// nobody is a Sink that keeps nothing.
type nobody struct{}

// Record implements Sink.
func (nobody) Record(context.Context, []event.Payload) error { return nil }

// checkSink is the Sink of a check.
type checkSink struct {
	ended chan struct{} // closed when the turn is over

	mu     sync.Mutex
	cancel func(permission string) // guarded by mu, as the rest
	text   string
	mode   string
	failed string
	over   bool
}

// Record implements Sink.
func (s *checkSink) Record(_ context.Context, payloads []event.Payload) error {
	s.mu.Lock()
	var asked []string
	for _, p := range payloads {
		switch p := p.(type) {
		case event.Mode:
			s.mode = p.ModeID
		case event.AgentMessage:
			if len(s.text)+len(p.Text) <= mostAnswer {
				s.text += string(p.Text)
			}
		case event.PermissionRequest:
			asked = append(asked, p.PermissionID)
		case event.TurnEnd:
			if p.Error != nil {
				s.failed = p.Error.Message
			}
			s.over = true
			close(s.ended)
		}
	}
	cancel := s.cancel
	s.mu.Unlock()
	for _, id := range asked {
		if cancel != nil {
			cancel(id)
		}
	}
	return nil
}

func (s *checkSink) cancelBy(cancel func(permission string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = cancel
}
