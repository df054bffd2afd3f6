package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/internal/localhub"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"abide": main, "hostile-agent": hostileAgent, "holding-agent": holdingAgent})
}

// The scripts run this program, like a person in a shell.
func TestScripts(t *testing.T) {
	// All scripts share the time of the test, but for what the report of a hung one takes.
	deadline, limited := t.Deadline()
	if left := time.Until(deadline); limited {
		deadline = deadline.Add(-left / 20)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			// Beside the script's folder: in one that holds the home directory no session may run.
			home := e.WorkDir + "-home"
			e.Defer(func() { os.RemoveAll(home) })
			e.Setenv("HOME", home)
			e.Setenv("DATA", filepath.Join(e.WorkDir, "data"))
			docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
			if err != nil {
				return err
			}
			e.Setenv("DOCS", docs)
			// Without it a program built with -race takes a second to exit.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    cmdExits,
			"up":       cmdUp,
			"http":     cmdHTTP,
			"field":    cmdField,
			"eventual": cmdEventual,
			"answers":  cmdAnswers,
			"agents":   cmdAgents,
			"private":  cmdPrivate,
			"umask":    cmdUmask,
			"oneline":  cmdOneLine,
			"term":     cmdTerm,
			"down":     cmdDown,
			"shape":    cmdShape,
			"secret":   cmdSecret,
			"queued":   cmdQueued,
			"sane":     cmdSane,
			"example":  cmdExample,
		},
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Deadline:            deadline,
	})
}

const patience = time.Minute

// exits CODE PROGRAM ARGS…: requires that the program exits with CODE.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, not %s", code, args[0])
	}
}

// up: waits until the hub of $DATA answers, and sets $URL and $TOKEN.
func cmdUp(ts *testscript.TestScript, neg bool, args []string) {
	wait(ts, "the hub", func() bool {
		base, err := localhub.Address(ts.Getenv("DATA"))
		ts.Setenv("URL", base)
		ts.Setenv("ADDR", strings.TrimPrefix(base, "http://"))
		return err == nil
	})
	ts.Check(ts.Exec("abide", "token", "--data", ts.Getenv("DATA")))
	ts.Setenv("TOKEN", strings.TrimSpace(ts.ReadFile("stdout")))
}

func wait(ts *testscript.TestScript, what string, done func() bool) {
	for deadline := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("waited in vain for %s", what)
		}
	}
}

// http STATUS METHOD PATH [BODY]: sends a request to the hub with $TOKEN. The
// response body becomes stdout.
func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http status method path [body]")
	}
	status, body := ask(ts, args[1], args[2], strings.Join(args[3:], " "))
	_, err := ts.Stdout().Write(body)
	ts.Check(err)
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("answered %d: %s", status, body)
	}
}

func ask(ts *testscript.TestScript, method, path, body string) (int, []byte) {
	req, err := http.NewRequest(method, ts.Getenv("URL")+path, strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("TOKEN"))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	ts.Check(err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	ts.Check(err)
	return res.StatusCode, data
}

// field NAME VARIABLE: stores a field of the JSON on stdout in a variable.
func cmdField(ts *testscript.TestScript, neg bool, args []string) {
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &object))
	value, ok := object[args[0]].(string)
	if !ok {
		ts.Fatalf("no text in field %s", args[0])
	}
	ts.Setenv(args[1], value)
}

// eventual PATH TEXT: requests PATH until the response contains TEXT.
func cmdEventual(ts *testscript.TestScript, neg bool, args []string) {
	wait(ts, args[1], func() bool {
		_, body := ask(ts, "GET", args[0], "")
		return bytes.Contains(body, []byte(args[1])) != neg
	})
}

// answers NAME: waits until the hub answers to a host name, or does not.
func cmdAnswers(ts *testscript.TestScript, neg bool, args []string) {
	wait(ts, args[0], func() bool {
		req, err := http.NewRequest("GET", ts.Getenv("URL")+"/api/ready", nil)
		ts.Check(err)
		req.Host = args[0]
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		ts.Check(err)
		ts.Check(res.Body.Close())
		return (res.StatusCode == http.StatusOK) != neg
	})
}

// agents N: waits until N processes have the marker of $DATA's hub in their
// environment. On other systems than Linux it does nothing.
func cmdAgents(ts *testscript.TestScript, neg bool, args []string) {
	if runtime.GOOS != "linux" {
		return
	}
	data, err := os.ReadFile(filepath.Join(ts.Getenv("DATA"), "hub.json"))
	ts.Check(err)
	var hub struct {
		HubID string `json:"hub_id"`
	}
	ts.Check(json.Unmarshal(data, &hub))
	marker := []byte("ABIDE_AGENT=" + hub.HubID + ".")
	wait(ts, args[0]+" agents", func() bool {
		n := 0
		paths, err := filepath.Glob("/proc/[0-9]*/environ")
		ts.Check(err)
		for _, path := range paths {
			if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, marker) {
				n++
			}
		}
		return strconv.Itoa(n) == args[0]
	})
}

// private DIR: requires that DIR has no file that other users may access.
func cmdPrivate(ts *testscript.TestScript, neg bool, args []string) {
	seen := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a running hub renames its temporary files
		}
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm()&^want != 0 { // git's objects cannot be written either
			ts.Fatalf("%s has mode %v", path, info.Mode().Perm())
		}
		seen++
		return nil
	}))
	if seen < 5 {
		ts.Fatalf("only %d files", seen)
	}
}

// umask MODE: sets the umask of programs started from here on. All scripts of a run
// share it, so each must work under any umask.
func cmdUmask(ts *testscript.TestScript, neg bool, args []string) {
	mode, err := strconv.ParseInt(args[0], 8, 32)
	ts.Check(err)
	old := syscall.Umask(int(mode))
	ts.Defer(func() { syscall.Umask(old) })
}

// oneline: requires that stderr is one line that begins with the program's name.
func cmdOneLine(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile("stderr")
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "abide: ") {
		ts.Fatalf("not one line: %q", text)
	}
}

// term [N]: sends SIGTERM to all background commands, or to the last one.
func cmdTerm(ts *testscript.TestScript, neg bool, args []string) {
	running := ts.BackgroundCmds()
	if len(args) > 0 {
		running = running[len(running)-1:]
	}
	for _, cmd := range running {
		if err := cmd.Process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
			ts.Check(err)
		}
	}
}

// down: waits until the hub of $DATA no longer answers.
func cmdDown(ts *testscript.TestScript, neg bool, args []string) {
	wait(ts, "the hub's end", func() bool {
		_, err := localhub.Address(ts.Getenv("DATA"))
		return errors.Is(err, localhub.ErrNoHub)
	})
}

// shape: the JSON on stdout with the values that differ between runs replaced.
func cmdShape(ts *testscript.TestScript, neg bool, args []string) {
	var indented bytes.Buffer
	ts.Check(json.Indent(&indented, []byte(ts.ReadFile("stdout")), "", "  "))
	text := indented.String()
	for _, alike := range []struct{ pattern, with string }{
		{`\d{8}-\d{6}-[0-9a-f]{8}`, "ID"},
		{`\bi[0-9a-f]{16}\b`, "INTERRUPTION"},
		{`"20\d\d-[^"]+Z"`, `"TIME"`},
		{`"[0-9a-f]{16}"`, `"HEX16"`},
		{`"[0-9a-f]{32}"`, `"HEX32"`},
		{`"uid:\d+"`, `"UID"`},
		{`"asked_by": "(abide [a-z]+) [^"]*"`, `"asked_by": "$1"`},
		{`": "` + regexp.QuoteMeta(ts.Getenv("WORK")), `": "WORK`},
		// Workspace inspections are recorded as they complete, so seqs differ
		// between runs.
		{`"(\w*seq|event_count)": \d+`, `"$1": N`},
	} {
		text = regexp.MustCompile(alike.pattern).ReplaceAllString(text, alike.with)
	}
	_, err := io.WriteString(ts.Stdout(), text)
	ts.Check(err)
}

// secret FILE TEXT MODE: writes a file.
func cmdSecret(ts *testscript.TestScript, neg bool, args []string) {
	mode, err := strconv.ParseUint(args[2], 8, 32)
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(path, []byte(args[1]), 0o600))
	ts.Check(os.Chmod(path, os.FileMode(mode)))
}

// queued N: waits until N prompts are queued in the newest session.
func cmdQueued(ts *testscript.TestScript, neg bool, args []string) {
	wait(ts, args[0]+" queued prompts", func() bool {
		var list struct {
			Sessions []struct {
				ID string `json:"session_id"`
			} `json:"sessions"`
		}
		_, body := ask(ts, "GET", "/api/sessions", "")
		ts.Check(json.Unmarshal(body, &list))
		var queue struct {
			Queue []json.RawMessage `json:"queue"`
		}
		_, body = ask(ts, "GET", "/api/sessions/"+list.Sessions[0].ID+"/queue", "")
		ts.Check(json.Unmarshal(body, &queue))
		return strconv.Itoa(len(queue.Queue)) == args[0]
	})
}

// example DOCUMENT FILE: writes the script quoted in a document to a file.
func cmdExample(ts *testscript.TestScript, neg bool, args []string) {
	document, err := os.ReadFile(filepath.Join(ts.Getenv("DOCS"), args[0]))
	ts.Check(err)
	_, rest, found := strings.Cut(string(document), "<!-- script -->\n```sh\n")
	script, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		ts.Fatalf("%s holds no script", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(script), 0o600))
}
