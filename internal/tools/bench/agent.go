package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// agentRole is the role of an agent: a process that answers a prompt, such as
// "words 1000", with that many lines of that kind, as fast as they are read.
const agentRole = "agent"

// The kinds of lines that an agent writes.
const (
	words = "words" // chunks of a message
	calls = "calls" // tool calls: id, title and status
	mix   = "mix"   // the updates of five recorded sessions, testdata/mix.jsonl
)

// recorded are session/update lines as Claude Code, Codex, Kimi and OpenCode wrote them
// in one task each: text, thoughts, tool calls, their updates with output and diffs, and
// usage. Three plans were added. Lists of commands, which come once in a session, were
// left out.
//
//go:embed testdata/mix.jsonl
var recorded []byte

// script is what an agent writes, again and again.
type script struct {
	lines []byte
	ends  []int // of each line in lines
}

func scripts() map[string]script {
	all := map[string]script{mix: scriptOf(recorded)}
	var told, called []byte
	for n := range (32 << 10) / updateBytes {
		told = append(told, update(n)...)
	}
	for n := range 128 {
		called = append(called, call(n)...)
	}
	all[words], all[calls] = scriptOf(told), scriptOf(called)
	return all
}

func scriptOf(lines []byte) script {
	s := script{lines: lines}
	for end, line := 0, []byte(nil); end < len(lines); s.ends = append(s.ends, end) {
		line, _, _ = bytes.Cut(lines[end:], []byte("\n"))
		end += len(line) + 1
	}
	return s
}

// updateBytes is the mean length of an agent's line. An event of it has about
// lineBytes.
const updateBytes = 360

// update is one line of an agent: a chunk of its message. Lines that follow one
// another have other words and other lengths.
func update(n int) string {
	line := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"bench","update":{"sessionUpdate":"agent_message_chunk",` +
		`"messageId":"msg_01","content":{"type":"text","text":"`
	const end = `\n"}}}}` + "\n"
	const said = "All work and no play makes Jack a dull boy, he said. "
	length := updateBytes - len(line) - len(end) + n%41 - 20
	return line + strings.Repeat(said, 12)[n%len(said):][:length] + end
}

// call is one line of an agent: a tool call, or the end of the one before.
func call(n int) string {
	if n%2 == 0 {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"bench","update":{"sessionUpdate":"tool_call",`+
			`"toolCallId":"call_%d","title":"Read internal/part%d/file.go","status":"in_progress"}}}`+"\n", n/2, n%17)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"bench","update":{"sessionUpdate":"tool_call_update",`+
		`"toolCallId":"call_%d","title":"Read internal/part%d/file.go (%d lines)","status":"completed"}}}`+"\n", n/2, n%17, n*7)
}

// playAgent speaks as much of the Agent Client Protocol as a measurement needs.
func playAgent() error {
	known := scripts()
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Prompt []struct{ Text string } }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return err
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}`
		case "session/new":
			result = `{"sessionId":"bench"}`
		case "session/prompt":
			kind, times, _ := strings.Cut(m.Params.Prompt[0].Text, " ")
			n, err := strconv.Atoi(times)
			if err != nil {
				return err
			}
			if err := known[kind].flood(n); err != nil {
				return err
			}
			result = `{"stopReason":"end_turn"}`
		}
		if m.ID == nil {
			continue
		}
		if _, err := fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result); err != nil {
			return err
		}
	}
	return in.Err()
}

// flood writes n lines.
func (s script) flood(n int) error {
	for n > 0 {
		take := min(n, len(s.ends))
		if _, err := os.Stdout.Write(s.lines[:s.ends[take-1]]); err != nil {
			return err
		}
		n -= take
	}
	return nil
}

func agentCommand() ([]string, error) {
	self, err := os.Executable()
	return []string{"/usr/bin/env", roleName + "=" + agentRole, self}, err
}

// startAgent is the session's way to the agent, as the program has it.
func startAgent(ctx context.Context, spec session.AgentSpec, sink session.AgentSink) (session.Agent, error) {
	command, err := agentCommand()
	if err != nil {
		return nil, err
	}
	return acp.Start(ctx, acp.Config{
		Name: spec.Agent, Command: command, Workspace: spec.Workspace,
		HubID: "bench", RunID: "bench", SessionID: spec.SessionID, Version: "bench",
	}, sink)
}

// feeder is a publisher that has an agent.
type feeder interface {
	// feed has the agent write n lines of a kind, and returns once each was taken:
	// written to disk where there is one, given to every client's queue where there
	// are such.
	feed(ctx context.Context, kind string, n int) error
}

// feed implements feeder by a prompt. The turn's own events come first and last.
func (h *hub) feed(ctx context.Context, kind string, n int) error {
	h.prompts++
	last := h.last() + turnLead + int64(n) + 1
	_, err := h.session.Prompt(ctx, session.PromptRequest{PromptID: fmt.Sprint("p", h.prompts), Text: fmt.Sprint(kind, " ", n), Actor: event.Actor{Name: "bench"}})
	if err != nil {
		return err
	}
	for {
		changed := h.session.StateChanged()
		if h.session.State().Turn.State == session.TurnIdle && h.last() >= last {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
			return errors.New("the turn does not end")
		}
	}
}

// turnLead is how many events of its own a turn has before the agent's first.
const turnLead = 2

// pipe is an agent as anything but a hub runs it.
type pipe struct {
	prompts io.Writer
	lines   *bufio.Reader
}

func newPipe(ctx context.Context) (*pipe, error) {
	command, err := agentCommand()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &pipe{prompts: in, lines: bufio.NewReaderSize(out, 256<<10)}, cmd.Start() // it ends with its stdin
}

// each has the agent write n lines of a kind and passes on each.
func (p *pipe) each(kind string, n int, take func(line []byte) error) error {
	if _, err := fmt.Fprintf(p.prompts, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"prompt":[{"text":"%s %d"}]}}`+"\n", kind, n); err != nil {
		return err
	}
	for range n {
		line, err := p.lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		if err := take(line); err != nil {
			return err
		}
	}
	_, err := p.lines.ReadSlice('\n') // the answer
	return err
}

// feed implements feeder as a program would that relays an agent with the library:
// it takes the message apart with encoding/json, to know notifications from
// answers, and publishes their parameters.
func (r *rival) feed(ctx context.Context, kind string, n int) error {
	return r.relay(ctx, kind, n, func(line []byte) error {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if m.Method != "session/update" {
			return fmt.Errorf("unexpected %s", m.Method)
		}
		return r.publish(ctx, m.Params)
	})
}

func (r *rival) relay(ctx context.Context, kind string, n int, take func(line []byte) error) (err error) {
	if r.pipe == nil {
		if r.pipe, err = newPipe(ctx); err != nil {
			return err
		}
	}
	return r.pipe.each(kind, n, take)
}

// fair is the rival that does what abide cannot do without: it validates each line
// once, and publishes the agent's own bytes in an envelope.
type fair struct{ *rival }

func newFair(ctx context.Context, dir string) (publisher, error) {
	p, err := newCentrifuge(ctx, dir)
	if err != nil {
		return nil, err
	}
	return fair{p.(*rival)}, nil
}

func (f fair) feed(ctx context.Context, kind string, n int) error {
	return f.relay(ctx, kind, n, func(line []byte) error {
		line = line[:len(line)-1]
		if !json.Valid(line) {
			return errors.New("a line of the agent is no JSON")
		}
		return f.publish(ctx, line)
	})
}

// writer is the floor under any log: each line of the agent is written to a file
// by a write(2) of its own.
type writer struct {
	file  *os.File
	pipe  *pipe
	lines int64
}

func newWriter(ctx context.Context, dir string) (publisher, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(dir, "raw"))
	if err != nil {
		return nil, err
	}
	p, err := newPipe(ctx)
	return &writer{file: file, pipe: p}, err
}

func (w *writer) hello() greeting { return greeting{} }
func (w *writer) last() int64     { return w.lines }

func (w *writer) publish(_ context.Context, data []byte) error {
	w.lines++
	_, err := w.file.Write(data)
	return err
}

func (w *writer) feed(ctx context.Context, kind string, n int) error {
	return w.pipe.each(kind, n, func(line []byte) error { return w.publish(ctx, line) })
}
