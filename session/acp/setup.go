package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// SetUp runs the set-up command of a working copy as an agent of cfg would run it, and
// returns once it and all that it started have ended. It records a tool call, the
// command's output, and the end of both. It ends the command with ctx, or when the sink
// takes no more. The error says how the command failed.
func SetUp(ctx context.Context, cfg Config, command []string, sink Sink) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	if err := becomeSubreaper(); err != nil {
		cfg.Logger.Warn("orphans of agents are not reaped on this system", "err", err)
	}
	s := setup{cfg: cfg, sink: sink, id: "setup-" + randomHex(8)}
	input, err := json.Marshal(map[string]any{"command": command})
	if err != nil {
		return err
	}
	call := event.ToolCallFields{
		ToolCallID: s.id, Title: "Set-up: " + strings.Join(command, " "), Kind: "execute", Status: event.ToolInProgress,
		Content: json.RawMessage(fmt.Sprintf(`[{"type":"terminal","terminalId":%q}]`, s.id)), RawInput: input, Synthetic: true,
	}
	if err := s.record(event.ToolCall{ToolCallFields: call}); err != nil {
		return err
	}
	failed := s.run(ctx, command)
	end := event.ToolCallFields{ToolCallID: s.id, Status: event.ToolCompleted, Synthetic: true}
	if failed != nil {
		end.Status = event.ToolFailed
	}
	return errors.Join(failed, s.record(event.ToolCallUpdate{ToolCallFields: end}))
}

// setup is a set-up command that runs.
type setup struct {
	cfg  Config
	sink Sink
	id   string // of its tool call and its terminal
}

// record waits for a blocked log. The sink ends the wait when its session is closed.
func (s *setup) record(payloads ...event.Payload) error {
	return s.sink.Record(context.Background(), payloads)
}

func (s *setup) run(ctx context.Context, words []string) error {
	cmd, err := command(words, s.cfg.environment(os.Environ()))
	if err != nil {
		return fmt.Errorf("%q cannot be run: %w", words[0], err)
	}
	cmd.Dir = s.cfg.Workspace
	t, err := startTerminal(s.id, cmd, nil, s.cfg.Bounds, s.record)
	if err != nil {
		return fmt.Errorf("%q cannot be run: %w", words[0], err)
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		t.proc.kill()
		<-t.done
	}
	sweepLeft(s.cfg, t.proc.pid())
	code, signal := t.proc.exit()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case signal != "":
		return fmt.Errorf("it was ended by %s", signal)
	case code == nil || *code != 0:
		return fmt.Errorf("it ended with exit code %d", *code)
	}
	return nil
}
