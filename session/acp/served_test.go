package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// ask is a request of an agent to the hub. "$T" in its params stands for the id of
// the last created terminal.
type ask struct {
	Method string         `json:"method"`
	Params map[string]any `json:"params"`
}

type reply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// playAsks sends the requests of ACP_TEST_ASKS in order and reports the responses.
func playAsks(f *fake) int {
	f.hello()
	p := f.prompt()
	var asks []ask
	if err := json.Unmarshal([]byte(os.Getenv("ACP_TEST_ASKS")), &asks); err != nil {
		panic(err)
	}
	terminal := ""
	var replies []json.RawMessage
	for i, a := range asks {
		a.Params["sessionId"] = fakeSession
		params, _ := json.Marshal(a.Params)
		f.line(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, 500+i, a.Method, strings.ReplaceAll(string(params), "$T", terminal))
		m := f.next()
		var made struct{ TerminalID string }
		if json.Unmarshal(m.Result, &made) == nil && made.TerminalID != "" {
			terminal = made.TerminalID
		}
		replies = append(replies, object{"result": m.Result, "error": m.Error}.json())
	}
	said, _ := json.Marshal(replies)
	f.chunk(string(said))
	f.done(p)
	f.next()
	return 0
}

// asked runs an agent that sends the requests, and returns the responses.
func asked(t *testing.T, cfg acp.Config, asks ...ask) ([]reply, *sink, *acp.Agent) {
	t.Helper()
	data, err := json.Marshal(asks)
	require.NoError(t, err)
	cfg.Env["ACP_TEST_ASKS"] = string(data)
	s := newSink()
	a := start(t, cfg, s)
	require.NoError(t, a.Prompt(prompt("p", "go")))
	ended(t, s, "p")
	var replies []reply
	require.NoError(t, json.Unmarshal([]byte(message(s)), &replies), message(s))
	require.Len(t, replies, len(asks))
	return replies, s, a
}

func readFile(path string, more ...any) ask {
	params := map[string]any{"path": path}
	for i := 0; i+1 < len(more); i += 2 {
		params[more[i].(string)] = more[i+1]
	}
	return ask{"fs/read_text_file", params}
}

func writeFile(path, content string) ask {
	return ask{"fs/write_text_file", map[string]any{"path": path, "content": content}}
}

func TestFilesAndTerminalsAreOffUnlessTheConfigTurnsThemOn(t *testing.T) {
	cfg := config(t, "asks")
	path := filepath.Join(cfg.Workspace, "a.txt")
	replies, s, _ := asked(t, cfg, readFile(path), writeFile(path, "x"), ask{"terminal/create", map[string]any{"command": "true"}}, ask{"_vendor/thing", map[string]any{"a": 1}})
	for _, r := range replies {
		require.Equal(t, -32601, r.Error.Code)
	}
	require.NoFileExists(t, path)
	require.Len(t, of[event.Note](s), 4, "the requests must be recorded")
	require.JSONEq(t, `{"a":1,"sessionId":"fake-session"}`, string(of[event.Note](s)[3].Raw))
}

func TestAgentReadsAndWritesTextFilesOfItsWorkspace(t *testing.T) {
	cfg := config(t, "asks")
	cfg.Files = true
	dir := cfg.Workspace
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\nthree\nfour"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.sh"), []byte("old and longer"), 0o700))
	replies, s, _ := asked(t, cfg,
		readFile(filepath.Join(dir, "a.txt")),
		readFile(filepath.Join(dir, "a.txt"), "line", 2, "limit", 2),
		readFile(filepath.Join(dir, "a.txt"), "line", 9),
		readFile(filepath.Join(dir, "b.txt")),
		writeFile(filepath.Join(dir, "new", "deep", "b.txt"), "hello\n"),
		writeFile(filepath.Join(dir, "run.sh"), "new"),
	)
	require.JSONEq(t, `{"content":"one\ntwo\nthree\nfour"}`, string(replies[0].Result))
	require.JSONEq(t, `{"content":"two\nthree\n"}`, string(replies[1].Result))
	require.JSONEq(t, `{"content":""}`, string(replies[2].Result))
	require.Equal(t, -32002, replies[3].Error.Code)
	require.JSONEq(t, `{}`, string(replies[4].Result))
	data, err := os.ReadFile(filepath.Join(dir, "new", "deep", "b.txt"))
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(data))
	info, err := os.Stat(filepath.Join(dir, "run.sh"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.EqualValues(t, 3, info.Size())
	require.Equal(t, event.FileRead{Path: filepath.Join(dir, "a.txt"), Bytes: 18, Lines: 4}, of[event.FileRead](s)[0])
	require.Equal(t, event.FileWrite{Path: filepath.Join(dir, "new", "deep", "b.txt"), Bytes: 6, Lines: 1, SHA256: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"}, of[event.FileWrite](s)[0])
}

// Fault 49 of the fault list.
func TestFault49FilesOutsideTheWorkspaceAreRefusedAndReported(t *testing.T) {
	cfg := config(t, "asks")
	cfg.Files = true
	dir, outside := cfg.Workspace, t.TempDir()
	secret := filepath.Join(outside, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "folder")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "up")))
	asks := []ask{
		readFile(secret), readFile(dir + "/../" + filepath.Base(outside) + "/secret"), readFile(filepath.Join(dir, "link")),
		readFile(filepath.Join(dir, "folder", "secret")), readFile(filepath.Join(dir, "up", "x")), readFile(dir + "x/y"),
		writeFile(secret, "changed"), writeFile(filepath.Join(dir, "link"), "changed"), writeFile(filepath.Join(dir, "folder", "new"), "new"),
	}
	replies, s, _ := asked(t, cfg, asks...)
	for i, r := range replies {
		require.NotNil(t, r.Error, "%d: %s", i, r.Result)
		require.NotContains(t, r.Error.Message, "secret\"")
	}
	data, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "secret", string(data))
	require.NoFileExists(t, filepath.Join(outside, "new"))
	reports := of[event.Error](s)
	require.Len(t, reports, len(asks))
	require.Equal(t, "forbidden", reports[0].Code)
	require.Empty(t, of[event.FileRead](s))
	require.Empty(t, of[event.FileWrite](s))
}

func TestAHardLinkToARepositoryAboveTheWorkspaceIsNotWritten(t *testing.T) {
	cfg := config(t, "asks")
	cfg.Files = true
	git, linked := filepath.Join(cfg.Workspace, ".git"), filepath.Join(cfg.Workspace, "below", "linked")
	require.NoError(t, os.Mkdir(git, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Dir(linked), 0o700))
	require.NoError(t, os.Link(filepath.Join(git, "HEAD"), linked))
	cfg.Workspace = filepath.Dir(linked)
	replies, _, _ := asked(t, cfg, writeFile(linked, "changed"))
	require.NotNil(t, replies[0].Error)
	require.Contains(t, replies[0].Error.Message, "only git writes")
	text, err := os.ReadFile(linked)
	require.NoError(t, err)
	require.Equal(t, "ref: refs/heads/main\n", string(text))
}

// Fault 81.
func TestFault81TheHubsOwnFilesAndGitsAreRefusedByWhateverNameAndReported(t *testing.T) {
	cfg := config(t, "asks")
	cfg.Files = true
	dir := cfg.Workspace
	data, settings := filepath.Join(dir, "data"), filepath.Join(t.TempDir(), "config.yaml")
	auth, git := filepath.Join(data, "auth.json"), filepath.Join(dir, ".git", "config")
	for _, path := range []string{auth, git, settings} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("kept"), 0o600))
	}
	for name, target := range map[string]string{"hard": auth, "hard-settings": settings, "hard-git": git} {
		require.NoError(t, os.Link(target, filepath.Join(dir, name)))
	}
	for name, target := range map[string]string{"soft": "data", "soft-file": "data/auth.json", "soft-git": ".git"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	alias := filepath.Join(t.TempDir(), "alias")
	require.NoError(t, os.Symlink(data, alias))
	cfg.Private = []string{alias, settings, filepath.Join(dir, "missing")}

	var asks []ask
	for _, name := range []string{"data/auth.json", "data/new", "data/new/deep", "hard", "hard-settings", "soft/auth.json", "soft/new/deep", "soft-file"} {
		asks = append(asks, writeFile(filepath.Join(dir, name), "changed"))
	}
	for _, name := range []string{"data/auth.json", "hard", "hard-settings", "soft/auth.json", "soft-file"} {
		asks = append(asks, readFile(filepath.Join(dir, name)))
	}
	for _, name := range []string{".git/config", ".git/hooks/pre-commit", "soft-git/config", "soft-git/hooks/pre-commit", "hard-git", "sub/.GIT/config", ".git"} {
		asks = append(asks, writeFile(filepath.Join(dir, name), "changed"))
	}
	refused := len(asks)
	asks = append(asks, readFile(git), writeFile(filepath.Join(dir, "src", "data", "a.gitignore"), "fine"))
	replies, s, _ := asked(t, cfg, asks...)
	for i, r := range replies[:refused] {
		require.NotNil(t, r.Error, "%v: %s", asks[i], r.Result)
		require.NotContains(t, string(r.Result), "kept")
	}
	for _, r := range replies[refused:] {
		require.Nil(t, r.Error)
	}
	for _, path := range []string{auth, git, settings} {
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "kept", string(kept))
	}
	left, err := os.ReadDir(data)
	require.NoError(t, err)
	require.Len(t, left, 1, "a file was created there")
	require.NoDirExists(t, filepath.Join(dir, ".git", "hooks"))
	reports := of[event.Error](s)
	require.Len(t, reports, refused)
	require.Equal(t, "forbidden", reports[0].Code)
}

func TestAFileThatIsNotTextIsRefused(t *testing.T) {
	cfg := config(t, "asks")
	cfg.Files = true
	dir := cfg.Workspace
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "binary"), []byte{0xff, 0xfe, 0x00}, 0o600))
	big, err := os.Create(filepath.Join(dir, "big"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(17<<20))
	require.NoError(t, big.Close())
	replies, _, _ := asked(t, cfg,
		readFile(filepath.Join(dir, "fifo")), readFile(dir), readFile(filepath.Join(dir, "binary")), readFile(filepath.Join(dir, "big")),
		readFile("relative"), writeFile(dir, "x"), writeFile(filepath.Join(dir, "fifo"), "x"), writeFile(filepath.Join(dir, "binary", "x"), "x"))
	for i, r := range replies {
		require.NotNil(t, r.Error, "%d: %s", i, r.Result)
	}
}

func TestANamedPipeInThePlaceOfTheWorkspaceIsRefused(t *testing.T) {
	cfg := config(t, "asks")
	cfg.Files, cfg.Terminals = true, true
	asks, err := json.Marshal([]ask{
		readFile(filepath.Join(cfg.Workspace, "a.txt")),
		{"terminal/create", map[string]any{"command": "true", "cwd": filepath.Join(cfg.Workspace, "sub")}},
	})
	require.NoError(t, err)
	cfg.Env["ACP_TEST_ASKS"] = string(asks)
	s := newSink()
	a := start(t, cfg, s)
	require.NoError(t, os.Rename(cfg.Workspace, cfg.Workspace+" moved"))
	require.NoError(t, syscall.Mkfifo(cfg.Workspace, 0o600))
	require.NoError(t, a.Prompt(prompt("p", "go")))
	ended(t, s, "p")
	var replies []reply
	require.NoError(t, json.Unmarshal([]byte(message(s)), &replies), message(s))
	for _, r := range replies {
		require.NotNil(t, r.Error)
	}
}

func TestAgentRunsCommandsInItsWorkspace(t *testing.T) {
	cfg := config(t, "asks")
	cfg.Terminals = true
	require.NoError(t, os.Mkdir(filepath.Join(cfg.Workspace, "sub"), 0o700))
	sh := func(script string, more ...any) ask {
		params := map[string]any{"command": "sh", "args": []string{"-c", script}}
		for i := 0; i+1 < len(more); i += 2 {
			params[more[i].(string)] = more[i+1]
		}
		return ask{"terminal/create", params}
	}
	on := func(verb string) ask { return ask{"terminal/" + verb, map[string]any{"terminalId": "$T"}} }
	cfg.Env["GREETING"], cfg.Env["MARK"] = "overridden", "!"
	replies, s, _ := asked(t, cfg,
		sh(`echo "$GREETING$MARK from $(basename "$PWD")"; echo oops >&2; exit 3`, "cwd", filepath.Join(cfg.Workspace, "sub"),
			"env", []map[string]string{{"name": "GREETING", "value": "hello"}}),
		on("wait_for_exit"), on("output"), on("release"), on("output"),
		sh(`echo begun; sleep 60`), on("kill"), on("wait_for_exit"), on("release"),
		sh(`yes ä | head -c 99999`, "outputByteLimit", 11), on("wait_for_exit"), on("output"), on("release"),
		ask{"terminal/create", map[string]any{"command": "echo one two | tr a-z A-Z"}}, on("wait_for_exit"), on("output"),
		ask{"terminal/create", map[string]any{"command": "true", "cwd": "/"}},
		ask{"terminal/create", map[string]any{"command": "no-such-command"}},
	)
	require.JSONEq(t, `{"exitCode":3,"signal":null}`, string(replies[1].Result))
	require.JSONEq(t, `{"output":"hello! from sub\noops\n","truncated":false,"exitStatus":{"exitCode":3,"signal":null}}`, string(replies[2].Result))
	require.JSONEq(t, `{}`, string(replies[3].Result))
	require.Equal(t, -32002, replies[4].Error.Code, "a released terminal must be unknown")
	require.JSONEq(t, `{"exitCode":null,"signal":"SIGKILL"}`, string(replies[7].Result))
	var cut struct {
		Output    string
		Truncated bool
	}
	require.NoError(t, json.Unmarshal(replies[11].Result, &cut))
	require.True(t, cut.Truncated)
	require.LessOrEqual(t, len(cut.Output), 11)
	require.NotContains(t, cut.Output, "\uFFFD", "cut within a character")
	require.Contains(t, string(replies[15].Result), "ONE TWO")
	require.NotNil(t, replies[16].Error)
	require.NotNil(t, replies[17].Error)

	text, exits := map[string]string{}, map[string]*event.TerminalExit{}
	for _, o := range of[event.TerminalOutput](s) {
		require.Nil(t, exits[o.TerminalID], "output after the terminal's exit")
		text[o.TerminalID] += string(o.Data)
		exits[o.TerminalID] = o.Exit
	}
	require.Len(t, exits, 4)
	first := of[event.TerminalOutput](s)[0].TerminalID
	require.Equal(t, "hello! from sub\noops\n", text[first])
	require.Equal(t, 3, *exits[first].Code)
	for id, output := range text {
		if strings.Contains(output, "ä") {
			require.Len(t, output, 99_999, "the log lacks output: %s", id)
		}
	}
}

func TestStopEndsTheCommandsOfTheAgent(t *testing.T) {
	cfg := config(t, "asks")
	cfg.Terminals = true
	_, s, a := asked(t, cfg, ask{"terminal/create", map[string]any{"command": "sh", "args": []string{"-c", "trap '' TERM HUP; echo $$; while :; do sleep 1; done"}}})
	out := first[event.TerminalOutput](t, s)
	pid := strings.TrimSpace(string(out.Data))
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("needs /proc")
	}
	require.DirExists(t, "/proc/"+pid)
	require.NoError(t, a.Stop(context.Background()))
	require.NoDirExists(t, "/proc/"+pid)
	<-a.Done()
	all := of[event.TerminalOutput](s)
	require.Equal(t, "SIGKILL", all[len(all)-1].Exit.Signal)
	require.Equal(t, fmt.Sprint(len(types(s.all()))-1), fmt.Sprint(index(stringsOf(types(s.all())), "agent_exit")), "agent_exit must be the last event")
}

func stringsOf(kinds []event.Type) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return out
}

func TestAnAgentHasABoundedNumberOfTerminals(t *testing.T) {
	cfg := config(t, "asks")
	cfg.Terminals = true
	var asks []ask
	for range 33 {
		asks = append(asks, ask{"terminal/create", map[string]any{"command": "sleep", "args": []string{"60"}}})
	}
	asks = append(asks, ask{"terminal/release", map[string]any{"terminalId": "$T"}}, asks[0])
	replies, _, _ := asked(t, cfg, asks...)
	for i, r := range replies {
		require.Equal(t, i == 32, r.Error != nil, "%d", i)
	}
	require.Contains(t, replies[32].Error.Message, "release one first")
}
