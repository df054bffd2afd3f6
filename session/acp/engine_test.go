package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// choose answers the nth question, from 0, with an option.
func choose(t *testing.T, a *acp.Agent, s *sink, n int, option string) event.PermissionRequest {
	t.Helper()
	require.Eventually(t, func() bool { return len(of[event.PermissionRequest](s)) > n }, waitFor, time.Millisecond)
	q := of[event.PermissionRequest](s)[n]
	require.NoError(t, a.Answer(event.PermissionOutcome{PermissionID: q.PermissionID, Outcome: event.OutcomeSelected, OptionID: option}))
	return q
}

// turnOf runs one prompt to its end.
func turnOf(t *testing.T, a *acp.Agent, s *sink, text string) event.TurnEnd {
	t.Helper()
	require.NoError(t, a.Prompt(prompt(text, text)))
	return ended(t, s, text)
}

func TestModesAndOptionsAreRecordedWhenTheyChange(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	ctx := context.Background()
	require.Equal(t, "ask", of[event.Mode](s)[0].ModeID)
	require.NoError(t, a.SetMode(ctx, "auto", event.Actor{Name: "ann", ID: "d1"}))
	require.Equal(t, "auto", of[event.Mode](s)[1].ModeID)
	require.Len(t, of[event.Mode](s)[1].Modes, 2, "a mode event must list all modes")
	require.NoError(t, a.SetConfigOption(ctx, "model", "hasty", event.Actor{Name: "ann", ID: "d1"}))
	require.NoError(t, a.SetConfigOption(ctx, "verbose", true, event.Actor{Name: "ann", ID: "d1"}))
	options := of[event.Config](s)
	require.Len(t, options, 3)
	require.Contains(t, string(options[1].Options), `"currentValue":"hasty"`)
	require.Contains(t, string(options[2].Options), `"currentValue":true`)
	var refused *acp.RequestError
	require.ErrorAs(t, a.SetMode(ctx, "no such mode", event.Actor{Name: "ann", ID: "d1"}), &refused)
	require.Equal(t, -32602, refused.Code)
	require.Error(t, a.SetConfigOption(ctx, "model", 7, event.Actor{Name: "ann", ID: "d1"}))
	require.Len(t, of[event.Mode](s), 2)
	// In auto mode the agent asks for no permission.
	require.Equal(t, event.StopEndTurn, turnOf(t, a, s, "/edit x").StopReason)
	require.Empty(t, of[event.PermissionRequest](s))
}

func TestSessionIsResumedWhereTheAgentOffersIt(t *testing.T) {
	s := newSink()
	cfg := config(t, "demo")
	a := start(t, cfg, s)
	turnOf(t, a, s, "/plan")
	finish(t, a, s)

	cfg.Resume, cfg.ContextLost = a.SessionID(), true
	cfg.Account = func(context.Context) (string, error) { return "", errors.New("the log was read for an account") }
	cfg.Known = func(context.Context) (*acp.Known, error) { return nil, errors.New("the log was read for a replay") }
	s = newSink()
	b := start(t, cfg, s)
	began := of[event.AgentStarted](s)[0]
	require.Equal(t, event.ResumedByResume, began.Resumed)
	require.False(t, began.ContextLost)
	require.Equal(t, a.SessionID(), b.SessionID())
	require.Equal(t, event.StopEndTurn, turnOf(t, b, s, "/markdown").StopReason)
	stored, err := acp.List(context.Background(), beside(cfg), cfg.Workspace, "")
	require.NoError(t, err)
	require.Empty(t, stored.Next)
	require.Len(t, stored.Sessions, 1)
	require.Equal(t, "/plan", stored.Sessions[0].Title)
	require.NoError(t, b.Forget(context.Background()))
	stored, err = acp.List(context.Background(), beside(cfg), cfg.Workspace, "")
	require.NoError(t, err)
	require.Empty(t, stored.Sessions)
}

func TestLoadedSessionIsComparedAndNotRecordedAgain(t *testing.T) {
	s := newSink()
	cfg := config(t, "demo")
	a := start(t, cfg, s)
	require.NoError(t, a.Prompt(prompt("p1", "/ask")))
	choose(t, a, s, 0, "yes")
	ended(t, s, "p1")
	tool := of[event.ToolCall](s)[0].ToolCallID
	finish(t, a, s)

	cfg.Resume, cfg.ContextLost = a.SessionID(), true
	cfg.Env["ACP_TEST_NO_RESUME"] = "1"
	for _, c := range []struct {
		known *acp.Known
		notes int
		says  string
	}{
		{&acp.Known{Prompts: []acp.KnownPrompt{{Text: "/ask"}}, ToolCalls: []string{tool}}, 0, ""},
		{&acp.Known{Prompts: []acp.KnownPrompt{{Text: "/ask"}, {Text: "lost"}}}, 1, "remembers 0 prompts and 1 tool calls that are not in this session. It does not remember 1 of"},
		{nil, 0, ""},
	} {
		cfg.Known = func(context.Context) (*acp.Known, error) { return c.known, nil }
		s := newSink()
		b := start(t, cfg, s)
		began := of[event.AgentStarted](s)[0]
		require.Equal(t, event.ResumedByLoad, began.Resumed)
		require.Equal(t, a.SessionID(), began.AgentSessionID)
		first[event.Commands](t, s)
		require.Empty(t, of[event.AgentMessage](s), "the history was appended twice")
		require.Empty(t, of[event.ToolCall](s))
		if c.notes > 0 {
			turnOf(t, b, s, "/refuse") // until then, more may be told
		}
		require.Len(t, of[event.Note](s), c.notes)
		if c.notes > 0 {
			require.Contains(t, string(of[event.Note](s)[0].Text), c.says)
		}
		finish(t, b, s)
	}
}

func TestAgentThatForgotTheSessionBeginsAnewWithAnAccount(t *testing.T) {
	s := newSink()
	cfg := config(t, "echo")
	cfg.Resume, cfg.ContextLost = "gone", true
	cfg.Account = func(context.Context) (string, error) { return "Earlier: the sky was painted.", nil }
	a := start(t, cfg, s)
	began := of[event.AgentStarted](s)[0]
	require.Empty(t, began.Resumed)
	require.True(t, began.ContextLost)
	turnOf(t, a, s, "and now?")
	require.JSONEq(t, `[{"type":"text","text":"Earlier: the sky was painted."},{"type":"text","text":"and now?"}]`, message(s))
	turnOf(t, a, s, "again")
	require.Equal(t, 1, strings.Count(message(s), "the sky was painted"), "the summary was sent twice")
}

func TestSecondOfTwoQuestionsIsWithdrawnWhenTheFirstIsAnswered(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	require.NoError(t, a.Prompt(prompt("p", "/ask2")))
	require.Eventually(t, func() bool { return len(of[event.PermissionRequest](s)) == 2 }, waitFor, time.Millisecond)
	choose(t, a, s, 1, "everywhere")
	ended(t, s, "p")
	outcome := first[event.PermissionOutcome](t, s)
	require.Equal(t, of[event.PermissionRequest](s)[0].PermissionID, outcome.PermissionID)
	require.Equal(t, "agent", outcome.By)
	require.Contains(t, message(s), "`everywhere`")
}

func TestFormIsAskedAndAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		outcome event.PermissionOutcome
		says    string
	}{
		"accepted":  {event.PermissionOutcome{Outcome: event.OutcomeSelected, OptionID: "accept", Content: []byte(`{"name":"Ada","times":2}`)}, `{"name":"Ada","times":2}`},
		"declined":  {event.PermissionOutcome{Outcome: event.OutcomeSelected, OptionID: "decline"}, "no greeting"},
		"cancelled": {event.PermissionOutcome{Outcome: event.OutcomeCancelled}, "no greeting"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSink()
			a := start(t, config(t, "demo"), s)
			require.NoError(t, a.Prompt(prompt("p", "/form")))
			q := first[event.PermissionRequest](t, s)
			require.Equal(t, "What should the greeting say?", q.Title)
			require.Contains(t, string(q.Form), `"Dry"`)
			c.outcome.PermissionID = q.PermissionID
			require.NoError(t, a.Answer(c.outcome))
			ended(t, s, "p")
			require.Contains(t, message(s), c.says)
		})
	}
}

func TestTerminalOfTheAgentsOwnIsRecordedAsOutput(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	turnOf(t, a, s, "/term")
	outputs := of[event.TerminalOutput](s)
	require.Len(t, outputs, 6)
	require.Equal(t, of[event.ToolCall](s)[0].ToolCallID, outputs[0].ToolCallID)
	require.Contains(t, string(outputs[0].Data), "package 1")
	require.Equal(t, 0, *outputs[5].Exit.Code)
	updates := of[event.ToolCallUpdate](s)
	require.Len(t, updates, 1, "updates with output only must not be recorded as updates")
	require.Equal(t, event.ToolCompleted, updates[0].Status)
}

func TestTurnsEndWithTheAgentsOwnReason(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	require.Equal(t, event.StopRefusal, turnOf(t, a, s, "/refuse").StopReason)
	require.Equal(t, event.StopMaxTokens, turnOf(t, a, s, "/maxtokens").StopReason)
	failed := turnOf(t, a, s, "/error")
	require.Equal(t, event.StopInterrupted, failed.StopReason)
	require.Equal(t, event.Failure{Code: "agent_error", Message: "The demo agent failed, as asked"}, *failed.Error)
	require.Contains(t, string(failed.Raw), "scripted")
	require.Equal(t, event.StopEndTurn, turnOf(t, a, s, "/early").StopReason, "the agent must survive an error")
}

func TestAnUnknownMessageIsKeptRaw(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	turnOf(t, a, s, "/unknown")
	notes := of[event.Note](s)
	require.Len(t, notes, 6)
	require.Equal(t, "A notice\nSomething to know.", string(notes[0].Text))
	require.Equal(t, "an echo of the prompt", string(notes[2].Text))
	require.JSONEq(t, `{"sessionUpdate":"hologram","beams":[1,null,{}]}`, string(notes[3].Raw))
	require.Equal(t, "vendor/status", notes[4].Method)
	require.JSONEq(t, `{"answer":42}`, string(notes[5].Raw))
	require.Contains(t, string(of[event.AgentMessage](s)[0].Content), "image/png")
}

func TestNoiseBetweenMessagesLosesNone(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	turnOf(t, a, s, "/noise")
	require.Equal(t, "Before the noise. After the noise.", message(s))
	require.NotEmpty(t, of[event.Error](s))
}

func TestAgentKilledInMidTurnIsReportedWithItsSignal(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	require.NoError(t, a.Prompt(prompt("p", "/kill")))
	exit := exitOf(t, s)
	require.Equal(t, "killed", exit.Reason)
	require.Equal(t, "SIGKILL", exit.Signal)
	<-a.Done()
}

func TestAgentThatIgnoresCancelIsStillStopped(t *testing.T) {
	for _, command := range []string{"/hang", "/stubborn 3600"} {
		s := newSink()
		a := start(t, config(t, "demo"), s)
		require.NoError(t, a.Prompt(prompt("p", command)))
		require.NoError(t, a.Cancel())
		require.NoError(t, a.Stop(context.Background()))
		require.Equal(t, "stopped", exitOf(t, s).Reason)
	}
}

func TestLastWordsAreKept(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	require.Equal(t, event.StopEndTurn, turnOf(t, a, s, "/exit-after").StopReason)
	require.Equal(t, 0, *exitOf(t, s).Code)
	require.Contains(t, message(s), "last words")
	<-a.Done()
}

func TestFilesOfTheWorkspaceAreServedToTheDemoAgent(t *testing.T) {
	s := newSink()
	cfg := config(t, "demo")
	cfg.Files = true
	a := start(t, cfg, s)
	turnOf(t, a, s, "/fs")
	require.Contains(t, message(s), `read the second: "two\n". What is outside the workspace was refused.`)
	require.FileExists(t, filepath.Join(cfg.Workspace, "demo-agent.txt"))
	require.Len(t, of[event.FileWrite](s), 1)
	require.Equal(t, "forbidden", of[event.Error](s)[0].Code)
}

// blob is an attachment's content without a file behind it.
type blob struct{ *bytes.Reader }

func (blob) Close() error { return nil }

func TestAttachmentsReachTheAgentInTheFormItTakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "abc")
	require.NoError(t, os.WriteFile(path, []byte("on disk"), 0o600))
	p := prompt("p", "look")
	p.Attachments = []event.Attachment{
		{Name: "a.png", MediaType: "image/png", Bytes: 8, SHA256: "png"},
		{Name: "b c.txt", MediaType: "text/plain", Bytes: 2, SHA256: "txt"},
	}
	open := func(sha string) (io.ReadCloser, error) {
		if sha == "png" {
			return blob{bytes.NewReader([]byte("\x89PNG\r\n\x1a\n"))}, nil
		}
		return os.Open(path)
	}
	s := newSink()
	cfg := config(t, "echo")
	cfg.OpenBlob = open
	cfg.Env["ACP_TEST_CAPABILITIES"] = `{"promptCapabilities":{"image":true,"embeddedContext":true}}`
	a := start(t, cfg, s)
	require.NoError(t, a.Prompt(p))
	ended(t, s, "p")
	require.JSONEq(t, `[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="},
		{"type":"resource","resource":{"uri":"attachment:b%20c.txt","mimeType":"text/plain","text":"on disk"}}]`, message(s))

	// An agent that supports neither gets a link to the file. Without a file the
	// turn fails.
	s = newSink()
	cfg = config(t, "echo")
	cfg.OpenBlob = open
	a = start(t, cfg, s)
	p.Attachments = p.Attachments[1:]
	require.NoError(t, a.Prompt(p))
	ended(t, s, "p")
	require.JSONEq(t, `[{"type":"text","text":"look"},{"type":"resource_link","name":"b c.txt","mimeType":"text/plain","uri":"file://`+path+`"}]`, message(s))
	p.PromptID, p.Attachments[0].SHA256 = "q", "png"
	require.NoError(t, a.Prompt(p))
	require.Equal(t, "not_sent", ended(t, s, "q").Error.Code)
	require.Equal(t, event.StopEndTurn, turnOf(t, a, s, "r").StopReason)
}

// TestPicturesAreToldByTheirBytes attaches files whose type is not that of their
// bytes. A model's service refuses such a picture.
func TestPicturesAreToldByTheirBytes(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"png": "\x89PNG\r\n\x1a\n", "jpeg": "\xff\xd8\xff\xe0", "gif": "GIF89a", "webp": "RIFF\x00\x00\x00\x00WEBPVP8 ",
		"heic": "\x00\x00\x00\x18ftypheic", "svg": "<svg xmlns='http://www.w3.org/2000/svg'/>", "html": "<html>404</html>", "empty": "",
	}
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	for name, c := range map[string]struct{ claimed, kind, mime string }{
		"png": {"image/jpeg", "image", "image/png"}, "jpeg": {"image/png", "image", "image/jpeg"},
		"gif": {"application/octet-stream", "image", "image/gif"}, "webp": {"image/webp", "image", "image/webp"},
		"heic": {"image/jpeg", "resource_link", "application/octet-stream"}, "svg": {"image/svg+xml", "resource_link", "image/svg+xml"},
		"html": {"image/png", "resource_link", "text/html"}, "empty": {"image/png", "resource_link", "text/plain"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSink()
			cfg := config(t, "echo")
			cfg.OpenBlob = func(sha string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, sha)) }
			cfg.Env["ACP_TEST_CAPABILITIES"] = `{"promptCapabilities":{"image":true}}`
			a := start(t, cfg, s)
			p := prompt("p", "look")
			p.Attachments = []event.Attachment{{Name: name, MediaType: c.claimed, Bytes: int64(len(files[name])), SHA256: name}}
			require.NoError(t, a.Prompt(p))
			ended(t, s, "p")
			var blocks []struct{ Type, MimeType string }
			require.NoError(t, json.Unmarshal([]byte(message(s)), &blocks))
			require.Equal(t, c.kind, blocks[1].Type)
			require.Equal(t, c.mime, blocks[1].MimeType)
			if c.kind == "image" {
				return
			}
			// To an agent that takes files they go whole, and are not named pictures either.
			s = newSink()
			cfg = beside(cfg)
			cfg.Env["ACP_TEST_CAPABILITIES"] = `{"promptCapabilities":{"image":true,"embeddedContext":true}}`
			a = start(t, cfg, s)
			require.NoError(t, a.Prompt(p))
			ended(t, s, "p")
			var embedded []struct {
				Type     string
				Resource struct{ MimeType string }
			}
			require.NoError(t, json.Unmarshal([]byte(message(s)), &embedded))
			require.Equal(t, "resource", embedded[1].Type)
			require.Equal(t, c.mime, embedded[1].Resource.MimeType)
		})
	}
}

// TestAnAgentGetsMCPServersOfItsKinds configures one server of each kind.
func TestAnAgentGetsMCPServersOfItsKinds(t *testing.T) {
	for capabilities, c := range map[string]struct{ taken, note string }{
		`{}`:                                {"local", "The agent does not take MCP servers of this kind: web, stream."},
		`{"mcpCapabilities":{"http":true}}`: {"local,web", "The agent does not take MCP servers of this kind: stream."},
		`{"mcpCapabilities":{"http":true,"sse":true}}`: {"local,web,stream", ""},
	} {
		t.Run(c.taken, func(t *testing.T) {
			s := newSink()
			cfg := config(t, "echo")
			cfg.Env["ACP_TEST_CAPABILITIES"] = capabilities
			cfg.MCPServers = []acp.MCPServer{
				{Name: "local", Command: "/bin/true"}, {Name: "web", Type: "http", URL: "http://x"}, {Name: "stream", Type: "sse", URL: "http://y"},
			}
			start(t, cfg, s)
			require.Equal(t, strings.Split(c.taken, ","), first[event.AgentStarted](t, s).Settings.MCPServers)
			var notes []string
			for _, n := range of[event.Note](s) {
				notes = append(notes, string(n.Text))
			}
			require.Equal(t, c.note, strings.Join(notes, "\n"))
		})
	}
}

// TestACommandIsFoundWhereTheAgentWouldFindIt gives the agent a PATH and a home of
// its own.
func TestACommandIsFoundWhereTheAgentWouldFindIt(t *testing.T) {
	own, err := os.Executable()
	require.NoError(t, err)
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, "tools"), 0o700))
	require.NoError(t, os.Symlink(own, filepath.Join(home, "tools", "my-agent")))
	for _, command := range []string{"my-agent", "~/tools/my-agent"} {
		cfg := config(t, "echo")
		cfg.Command = []string{command}
		cfg.Env["HOME"], cfg.Env["PATH"] = home, "relative:/nowhere:"+home+"/tools"
		start(t, cfg, newSink())
	}
	cfg := config(t, "echo")
	cfg.Command = []string{"my-agent"}
	cfg.Env["PATH"] = "/nowhere"
	_, err = acp.Start(context.Background(), cfg, newSink())
	require.ErrorContains(t, err, `agent command "my-agent": not found in PATH (the agent's is "/nowhere")`)
}

// TestAPromptsAttachmentsHaveOneBudget attaches more than the limit of bytes sent
// with a prompt. An attachment over it is sent as a link, and the line stays below
// the maximum although JSON escaping makes the text longer.
func TestAPromptsAttachmentsHaveOneBudget(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"small":  strings.Repeat("a", 300),
		"grows":  strings.Repeat("<", 300), // six bytes each in JSON
		"binary": strings.Repeat("\xff", 300),
		"png":    "\x89PNG\r\n\x1a\n" + strings.Repeat("\xff", 292),
	}
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	s := newSink()
	cfg := config(t, "echo")
	cfg.Limits.StdinBytes = 2000
	cfg.OpenBlob = func(sha string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, sha)) }
	cfg.Env["ACP_TEST_CAPABILITIES"] = `{"promptCapabilities":{"image":true,"embeddedContext":true}}`
	a := start(t, cfg, s)
	p := prompt("p", "look")
	for _, of := range []struct{ name, kind string }{
		{"grows", "text/html"}, {"png", "image/png"}, {"small", "text/plain"}, {"binary", "application/zip"}, {"small", "text/plain"},
	} {
		p.Attachments = append(p.Attachments, event.Attachment{Name: of.name, MediaType: of.kind, Bytes: 300, SHA256: of.name})
	}
	require.NoError(t, a.Prompt(p))
	ended(t, s, "p")
	given := message(s)
	require.Less(t, len(given), cfg.Limits.StdinBytes)
	var blocks []struct{ Type, URI string }
	require.NoError(t, json.Unmarshal([]byte(given), &blocks))
	kinds := make([]string, 0, len(blocks))
	for _, b := range blocks {
		kinds = append(kinds, b.Type)
	}
	require.Equal(t, []string{"text", "resource_link", "image", "resource", "resource_link", "resource_link"}, kinds)
	require.Equal(t, "file://"+filepath.Join(dir, "grows"), blocks[1].URI)
}

func TestMCPServersArePassedOn(t *testing.T) {
	s := newSink()
	cfg := config(t, "echo")
	cfg.Env["ACP_TEST_CAPABILITIES"] = `{"mcpCapabilities":{"http":true}}`
	cfg.MCPServers = []acp.MCPServer{
		{Name: "files", Command: "mcp-files", Args: []string{"--all"}, Env: map[string]string{"B": "2", "A": "1"}},
		{Name: "bare", Command: "x"},
		{Name: "web", Type: "http", URL: "http://localhost/", Headers: map[string]string{"X": "y"}},
	}
	a := start(t, cfg, s)
	turnOf(t, a, s, "servers")
	require.JSONEq(t, `[
		{"name":"files","command":"mcp-files","args":["--all"],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]},
		{"name":"bare","command":"x","args":[],"env":[]},
		{"type":"http","name":"web","url":"http://localhost/","headers":[{"name":"X","value":"y"}]}]`, message(s))
}

// TestAnAgentGetsFurtherDirectoriesIfItTakesThem looks at what begins a session.
func TestAnAgentGetsFurtherDirectoriesIfItTakesThem(t *testing.T) {
	for capabilities, c := range map[string]struct{ given, note string }{
		`{"sessionCapabilities":{"additionalDirectories":{}}}`: {`["/src/lib","/src/more"]`, ""},
		`{"sessionCapabilities":{}}`:                           {"null", "The agent takes no further directories: /src/lib, /src/more."},
	} {
		s := newSink()
		cfg := config(t, "echo")
		cfg.Env["ACP_TEST_CAPABILITIES"] = capabilities
		cfg.Directories = []string{"/src/lib", "/src/more"}
		a := start(t, cfg, s)
		turnOf(t, a, s, "directories")
		require.JSONEq(t, c.given, message(s))
		var notes []string
		for _, n := range of[event.Note](s) {
			notes = append(notes, string(n.Text))
		}
		require.Equal(t, c.note, strings.Join(notes, "\n"))
	}
}

func TestAgentThatWantsALoginSaysWhatToRun(t *testing.T) {
	for refusal, why := range map[string]string{
		`{"code":-32000,"message":"Authentication required"}`:                                              "",
		`{"code":-32000,"message":"Authentication required","data":{"message":"your key expired in May"}}`: "your key expired in May",
		`{"code":-32000,"message":"authentication required: set X_KEY."}`:                                  "set X_KEY.",
		`{"code":-32000,"message":"sign in again"}`:                                                        "sign in again",
	} {
		s := newSink()
		cfg := config(t, "login")
		cfg.Env["ACP_TEST_ERROR"] = refusal
		_, err := acp.Start(context.Background(), cfg, s)
		var auth *acp.AuthError
		require.ErrorAs(t, err, &auth)
		require.Equal(t, why, auth.Reason)
		require.Equal(t, []string{"agent", "login"}, auth.Methods[0].Command)
		require.False(t, auth.Methods[0].Configured)
		require.True(t, auth.Methods[1].Configured)
		words := "the agent needs a login"
		if why != "" {
			words += ": " + strings.TrimSuffix(why, ".")
		}
		words += " (Log in: the agent asks to run `agent login`; run it only if you trust it; Log in here: run `" + cfg.Command[0] + " login`)"
		require.EqualError(t, err, words)
		require.Contains(t, first[event.Error](t, s).Message, words)
		c := acp.Check(bounded(t), beside(cfg), "")
		require.True(t, c.NeedsLogin)
		require.Equal(t, why, c.Reason)
	}
}

func TestOtherVersionOfTheProtocolIsRefused(t *testing.T) {
	cfg := config(t, "echo")
	cfg.Env["ACP_TEST_VERSION"] = "2"
	_, err := acp.Start(context.Background(), cfg, newSink())
	require.ErrorContains(t, err, "version 2")
}

// clock is a clock that the test advances.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[chan time.Time]time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := make(chan time.Time, 1)
	c.timers[timer] = c.now.Add(d)
	return timer
}

// forward advances the clock in steps, so that timers created meanwhile fire too.
func (c *clock) forward(d time.Duration) {
	const step = 30 * time.Second
	for ; d > 0; d -= step {
		c.mu.Lock()
		c.now = c.now.Add(step)
		for timer, at := range c.timers {
			if !at.After(c.now) {
				delete(c.timers, timer)
				timer <- c.now
			}
		}
		c.mu.Unlock()
		time.Sleep(time.Millisecond) // lets the waiting goroutine set its next timer; if it was too slow, more steps follow
	}
}

func TestFault44SilenceInATurnIsReportedOnceAndNotWhileAPersonIsAwaited(t *testing.T) {
	c := &clock{now: time.Unix(1_700_000_000, 0), timers: map[chan time.Time]time.Time{}}
	s := newSink()
	cfg := config(t, "demo")
	cfg.Clock = c
	a := start(t, cfg, s)
	c.forward(30 * time.Minute)
	require.Empty(t, of[event.AgentStalled](s), "an idle agent must not count as stalled")
	require.NoError(t, a.Prompt(prompt("p", "/ask")))
	first[event.PermissionRequest](t, s)
	c.forward(30 * time.Minute)
	require.Empty(t, of[event.AgentStalled](s), "an agent waiting for a permission must not count as stalled")
	choose(t, a, s, 0, "no")
	ended(t, s, "p")
	require.NoError(t, a.Prompt(prompt("q", "/hang")))
	s.wait(t, "its last words", func(p event.Payload) bool {
		call, ok := p.(event.ToolCall)
		return ok && strings.Contains(call.Title, "never comes")
	})
	require.Eventually(t, func() bool { c.forward(time.Minute); return len(of[event.AgentStalled](s)) > 0 }, waitFor, time.Millisecond)
	require.GreaterOrEqual(t, of[event.AgentStalled](s)[0].SilentMS, int64(600_000))
	c.forward(30 * time.Minute)
	require.Len(t, of[event.AgentStalled](s), 1)
}

func TestKindsWithoutAnEventOfTheirOwnAreNotesWithTheirWords(t *testing.T) {
	update := func(body string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + fakeSession + `","update":` + body + `}}`
	}
	s := newSink()
	cfg := config(t, "say")
	cfg.Env["ACP_TEST_LINES"] = strings.Join([]string{
		update(`{"sessionUpdate":"notice","title":"Careful","message":"The disk is nearly full."}`),
		update(`{"sessionUpdate":"compaction_summary","summary":"What was said before."}`),
		`{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e"}}`,
	}, "\n")
	a := start(t, cfg, s)
	turnOf(t, a, s, "go")
	notes := of[event.Note](s)
	require.Len(t, notes, 3)
	require.Equal(t, event.Text("Careful\nThe disk is nearly full."), notes[0].Text)
	require.Equal(t, event.Text("What was said before."), notes[1].Text)
	require.JSONEq(t, `{"sessionUpdate":"compaction_summary","summary":"What was said before."}`, string(notes[1].Raw))
	require.Equal(t, "elicitation/complete", notes[2].Method)
	require.JSONEq(t, `{"elicitationId":"e"}`, string(notes[2].Raw))
}
