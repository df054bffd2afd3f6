package demoagent_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/demoagent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client drives an agent over pipes, line by line.
type client struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan []byte
	done  chan error
	exits chan int
	asked int
	said  bytes.Buffer // all output of the agent
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// serve runs an agent on pipes until the test ends.
func serve(t *testing.T, o demoagent.Options) *client {
	t.Helper()
	if o.StateDir == "" {
		o.StateDir = t.TempDir()
	}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	c := &client{t: t, in: inWrite, lines: make(chan []byte, 1), done: make(chan error, 1), exits: make(chan int, 1)}
	o.Exit = func(code int) { c.exits <- code }
	o.Stderr = io.Discard
	go func() {
		c.done <- demoagent.Run(context.Background(), inRead, outWrite, o)
		outWrite.Close()
	}()
	go func() { // ends with the agent's output
		defer close(c.lines)
		r := bufio.NewReader(outRead)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			c.lines <- line
		}
	}()
	t.Cleanup(func() {
		inWrite.Close()
		for range c.lines {
		}
		require.NoError(t, <-c.done)
	})
	return c
}

func (c *client) send(format string, args ...any) {
	_, err := fmt.Fprintf(c.in, format+"\n", args...)
	require.NoError(c.t, err)
}

// patience is the time limit for something that should happen at once.
const patience = time.Minute

func (c *client) next() message {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		require.True(c.t, ok, "the agent ended")
		c.said.Write(line)
		var m message
		_ = json.Unmarshal(line, &m) // some lines are invalid on purpose
		return m
	case <-time.After(patience):
		require.Fail(c.t, "the agent said nothing")
		return message{}
	}
}

// call sends a request. Until the response it answers permission requests with the
// option and declines forms.
func (c *client) call(method, params, option string) message {
	c.t.Helper()
	c.asked++
	id := fmt.Sprint(c.asked)
	c.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
	for {
		m := c.next()
		switch {
		case m.Method == "" && string(m.ID) == id:
			return m
		case m.Method == "session/request_permission":
			c.send(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, m.ID, option)
		case m.Method == "elicitation/create":
			c.send(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, m.ID)
		case m.Method != "" && m.ID != nil:
			c.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}
}

// begin initializes the connection and creates a session.
func (c *client) begin(workspace string) string {
	c.t.Helper()
	c.call("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`, "")
	m := c.call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, workspace), "")
	var began struct{ SessionID string }
	require.NoError(c.t, json.Unmarshal(m.Result, &began))
	return began.SessionID
}

func (c *client) prompt(session, text, option string) message {
	c.t.Helper()
	return c.call("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text), option)
}

var scratchDir = regexp.MustCompile(`[^"]*/abide-demo-\d+`)

func workspace(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("# A project\n"), 0o600))
	return dir
}

func TestSamePromptsPlayTheSameScript(t *testing.T) {
	dir := workspace(t)
	var runs []string
	for range 2 {
		c := serve(t, demoagent.Options{Seed: 7})
		session := c.begin(dir)
		require.Equal(t, "demo-7-1", session)
		for _, text := range []string{"show me around", "/edit a.md", "/markdown", "/burst 500", "/term"} {
			c.prompt(session, text, "yes")
		}
		runs = append(runs, scratchDir.ReplaceAllString(c.said.String(), "scratch"))
	}
	require.Equal(t, sorted(runs[0]), sorted(runs[1]))
	require.Contains(t, runs[0], "With your")
}

// sorted removes the only variable order: available commands come after the
// response to session/new, concurrently with the first turn.
func sorted(run string) []string {
	var lines, offers []string
	for line := range strings.Lines(run) {
		if strings.Contains(line, "available_commands_update") {
			offers = append(offers, line)
		} else {
			lines = append(lines, line)
		}
	}
	return append(lines, offers...)
}

func TestWorkspaceIsLeftAsItWasAndTheScratchCopyIsRemoved(t *testing.T) {
	dir, temporary := workspace(t), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	c := serve(t, demoagent.Options{})
	session := c.begin(dir)
	c.prompt(session, "show me around", "yes")
	c.prompt(session, "/edit README.md", "always")
	copies, err := filepath.Glob(filepath.Join(temporary, "abide-demo-*", "README.md"))
	require.NoError(t, err)
	require.Len(t, copies, 1)
	changed, err := os.ReadFile(copies[0])
	require.NoError(t, err)
	require.Contains(t, string(changed), "A line written in turn 2.")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	original, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	require.Equal(t, "# A project\n", string(original))

	c.in.Close()
	require.Eventually(t, func() bool { entries, err := os.ReadDir(temporary); return err == nil && len(entries) == 0 }, patience, time.Millisecond)
}

func TestRejectedChangeIsNotMade(t *testing.T) {
	c := serve(t, demoagent.Options{})
	session := c.begin(workspace(t))
	c.prompt(session, "show me around", "no")
	require.Contains(t, c.said.String(), `"status":"failed"`)
	require.Contains(t, strings.Join(words(c.said.Bytes()), ""), "**nothing was changed**")
}

// words returns the texts of all message chunks.
func words(said []byte) []string {
	var texts []string
	for line := range bytes.Lines(said) {
		var m struct {
			Params struct {
				Update struct {
					Kind    string `json:"sessionUpdate"`
					Content json.RawMessage
				}
			}
		}
		var block struct{ Text string }
		if json.Unmarshal(line, &m) == nil && m.Params.Update.Kind == "agent_message_chunk" && json.Unmarshal(m.Params.Update.Content, &block) == nil {
			texts = append(texts, block.Text)
		}
	}
	return texts
}

func TestEveryOfferedCommandPlaysAndTheAgentGoesOn(t *testing.T) {
	c := serve(t, demoagent.Options{})
	session := c.begin(workspace(t))
	var offered []string
	for offered == nil {
		m := c.next()
		var p struct {
			Update struct{ AvailableCommands []struct{ Name string } }
		}
		require.NoError(t, json.Unmarshal(m.Params, &p))
		for _, command := range p.Update.AvailableCommands {
			offered = append(offered, command.Name)
		}
	}
	deadly := map[string]bool{"crash": true, "kill": true, "exit-after": true, "hang": true, "stubborn": true}
	for _, name := range offered {
		if deadly[name] {
			continue // covered by their own tests and with a real process
		}
		m := c.prompt(session, "/"+name, "yes")
		if name == "error" {
			require.Contains(t, string(m.Error), "as asked")
		} else {
			require.Contains(t, string(m.Result), "stopReason", name)
		}
	}
	require.Contains(t, string(c.prompt(session, "/no-such-command", "").Result), "end_turn")
}

func TestBurstIsCompleteAndInOrder(t *testing.T) {
	c := serve(t, demoagent.Options{})
	session := c.begin(workspace(t))
	c.prompt(session, "/burst 20000", "")
	texts := words(c.said.Bytes())
	require.Len(t, texts, 20_000)
	for i, text := range texts {
		require.Equal(t, fmt.Sprintf("%d\n", i+1), text)
	}
}

func TestCancelEndsTheTurnAtAnyMoment(t *testing.T) {
	c := serve(t, demoagent.Options{Speed: 1})
	session := c.begin(workspace(t))
	for i := range 20 {
		id := 1000 + i
		c.send(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"/slow 60"}]}}`, id, session)
		if i%2 == 0 { // otherwise it comes right after the prompt
			for !strings.Contains(string(c.next().Params), "agent_message_chunk") {
			}
		}
		c.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, session)
		for {
			if m := c.next(); string(m.ID) == fmt.Sprint(id) {
				require.Contains(t, string(m.Result), "cancelled")
				break
			}
		}
	}
}

func TestSpeedZeroPausesNowhere(t *testing.T) {
	c := serve(t, demoagent.Options{})
	session := c.begin(workspace(t))
	began := time.Now()
	c.prompt(session, "/slow 600", "")
	require.Less(t, time.Since(began), patience)
}

func TestCrashAndExitAfterEndTheProcessWithTheirCodes(t *testing.T) {
	c := serve(t, demoagent.Options{})
	session := c.begin(workspace(t))
	c.prompt(session, "/crash", "")
	require.Equal(t, 3, <-c.exits)
	require.Contains(t, string(c.prompt(session, "/exit-after", "").Result), "end_turn", "the answer comes first")
	require.Equal(t, 0, <-c.exits)
}

func TestSessionIsLoadedAsItWasAlsoWhenAKillCutItsLastLine(t *testing.T) {
	state, dir := t.TempDir(), workspace(t)
	c := serve(t, demoagent.Options{StateDir: state})
	session := c.begin(dir)
	c.prompt(session, "first", "yes")
	c.prompt(session, "/plan", "")
	file := filepath.Join(state, session+".jsonl")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, whole[:len(whole)-10], 0o600))

	d := serve(t, demoagent.Options{StateDir: state})
	d.call("initialize", `{"protocolVersion":1}`, "")
	m := d.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, session, dir), "")
	require.Contains(t, string(m.Result), "currentModeId")
	require.Equal(t, bytes.Count(whole, []byte("\n"))-2, bytes.Count(d.said.Bytes(), []byte(`"session/update"`)), "all lines but the header and the last, cut one")
	require.Contains(t, d.said.String(), `"user_message_chunk"`)
	for _, id := range []string{"../" + session, "demo-9-9", ""} {
		m := d.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, dir), "")
		require.NotNil(t, m.Error)
	}
	m = d.call("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir), "")
	require.NotContains(t, string(m.Result), `"`+session+`"`, "an id is given once")
}
