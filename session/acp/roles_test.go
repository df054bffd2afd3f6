package acp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// roles are the fake agents and other helper processes.
func roles() map[string]func(*fake) int {
	return map[string]func(*fake) int{
		"hostile":    playHostile,
		"loads":      playLoads,
		"lists":      playLists,
		"lists-many": playListsMany,
		"models":     playModels,
		"say":        playSay,
		"exits":      playExits,
		"deaf":       playDeaf,
		"stubborn":   playStubborn,
		"parent":     playParent,
		"hider":      playHider,
		"daemon":     playDaemon,
		"sleeper":    playSleeper,
		"endless":    playEndless,
		"flood":      playFlood,
		"mute":       playMute,
		"order":      playOrder,
		"early":      playEarly,
		"greedy":     playGreedy,
		"withdraws":  playWithdraws,
		"closes":     playCloses,
		"homeless":   playHomeless,
		"environ":    playEnviron,
		"replay":     playReplay,
		"asks":       playAsks,
		"echo":       playEcho,
		"repeats":    playRepeats,
		"login":      playLogin,
		"hub":        playHub,
		"fails":      playFails,
		"comes_back": playComesBack,
		"tells_late": playTellsLate,
		"tty":        playTTY,
		"dos":        playDOS,
		"refuses":    playRefuses,
	}
}

// playSay writes the lines of ACP_TEST_LINES after the prompt. It replaces SESSION
// in them by the session id.
func playSay(f *fake) int {
	f.hello()
	p := f.prompt()
	for _, line := range strings.Split(os.Getenv("ACP_TEST_LINES"), "\n") {
		fmt.Fprint(f.out, line+"\n")
	}
	f.done(p)
	f.next()
	return 0
}

// playFails answers the prompt with the error of ACP_TEST_ERROR.
func playFails(f *fake) int {
	f.hello()
	p := f.prompt()
	refusal := os.Getenv("ACP_TEST_ERROR")
	if name := os.Getenv("ACP_TEST_ERROR_FILE"); name != "" {
		data, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		refusal = string(data)
	}
	f.line(`{"jsonrpc":"2.0","id":%s,"error":%s}`, p.ID, refusal)
	f.next()
	return 0
}

// playDOS writes as programs of another system do: a mark of the byte order first, and
// CR LF at the end of each line.
func playDOS(f *fake) int {
	fmt.Fprint(f.out, "\ufeff")
	f.said = crlf{f.out}
	f.hello()
	p := f.prompt()
	f.chunk("first\r\nsecond")
	f.done(p)
	f.next()
	return 0
}

type crlf struct{ to io.Writer }

// Write implements io.Writer for whole lines.
func (c crlf) Write(p []byte) (int, error) {
	_, err := c.to.Write(append(bytes.TrimSuffix(p, []byte("\n")), "\r\n"...))
	return len(p), err
}

// playTTY says whether it leads a session, and what opening the terminal gives.
func playTTY(f *fake) int {
	f.hello()
	p := f.prompt()
	session, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	_, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	f.chunk(fmt.Sprintf("leader %t, %v", int(session) == os.Getpid(), err))
	f.done(p)
	f.next()
	return 0
}

// playExits exits right after its response.
func playExits(f *fake) int {
	f.hello()
	p := f.prompt()
	f.chunk("last words")
	f.done(p)
	return 0
}

// playDeaf stops reading during a turn.
func playDeaf(f *fake) int {
	f.hello()
	select {}
}

// playStubborn ignores cancel, EOF and SIGTERM.
func playStubborn(f *fake) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	f.hello()
	f.prompt()
	f.chunk("busy")
	select {}
}

// child runs the test binary in another role.
func child(role string, env []string, attributes *syscall.SysProcAttr) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(env, roleName+"="+role)
	cmd.SysProcAttr = attributes
	return cmd
}

// playParent starts a child in its own process session and prints the pid.
func playParent(f *fake) int {
	f.hello()
	p := f.prompt()
	cmd := child("sleeper", os.Environ(), &syscall.SysProcAttr{Setsid: true})
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	f.chunk(fmt.Sprint(cmd.Process.Pid))
	f.done(p)
	f.next()
	return 0
}

// playHider starts a child or an orphan, as its prompt says, without a marker and
// in its own process session. That process starts another one. playHider prints
// their pids.
func playHider(f *fake) int {
	f.hello()
	p := f.prompt()
	read, write, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := child("daemon", nil, &syscall.SysProcAttr{Setsid: true})
	if strings.Contains(string(p.Params), "an orphan") {
		cmd = exec.Command("/bin/sh", "-c", "exec env -i "+roleName+"=daemon setsid \"$0\" <&0 >&1 &", cmd.Path)
	}
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	pids, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		panic(err)
	}
	f.chunk(strings.TrimSpace(pids))
	f.done(p)
	f.next()
	return 0
}

// playDaemon starts a child and prints both pids.
func playDaemon(f *fake) int {
	cmd := child("sleeper", nil, nil)
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println(os.Getpid(), cmd.Process.Pid)
	return playSleeper(f)
}

func playSleeper(*fake) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	time.Sleep(time.Minute)
	return 0
}

// playEndless writes a line without an end.
func playEndless(f *fake) int {
	f.hello()
	f.prompt()
	f.chunk("before")
	piece := strings.Repeat("x", 1<<20)
	for range 1 << 10 {
		if _, err := f.out.WriteString(piece); err != nil {
			return 0
		}
	}
	return 1
}

// playFlood writes invalid lines with some messages between them.
func playFlood(f *fake) int {
	f.hello()
	p := f.prompt()
	for i := range 100_000 {
		fmt.Fprintf(f.out, "INFO starting step %d of a very talkative library\n", i)
	}
	f.out.WriteString("\xff\xfe broken\n")
	f.out.WriteString("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\x00}\n")
	f.out.WriteString("{\"half\": \n")
	f.out.WriteString("[1,2,3]\n{}\n\n   \n\"text\"\n")
	f.chunk("still here")
	f.done(p)
	f.next()
	return 0
}

// playMute sends nothing.
func playMute(f *fake) int {
	f.next()
	fmt.Fprintln(os.Stderr, "waiting for something, api_key=abcdef123456")
	select {}
}

// playOrder asks for a permission in the middle of many updates.
func playOrder(f *fake) int {
	f.hello()
	p := f.prompt()
	for i := range 500 {
		f.chunk(fmt.Sprintf("%d ", i))
	}
	f.line(`{"jsonrpc":"2.0","id":"ask-1","method":"session/request_permission","params":{"sessionId":%q,`+
		`"toolCall":{"toolCallId":"t1","title":"rm -rf /tmp/x","kind":"execute"},`+
		`"options":[{"optionId":"a","name":"Yes","kind":"allow_once"},{"optionId":"b","name":"Yes, here","kind":"allow_once"}]}}`, fakeSession)
	for i := range 500 {
		f.chunk(fmt.Sprintf("%d ", i))
	}
	for {
		if m := f.next(); string(m.ID) == `"ask-1"` {
			f.chunk(string(m.Result))
			f.done(p)
		}
	}
}

// playEarly sends updates before its response to session/new.
func playEarly(f *fake) int {
	m := f.expect("initialize")
	f.line(`{"jsonrpc":"2.0","method":"_hello","params":{"first":true}}`)
	f.result(m.ID, `{"protocolVersion":1}`)
	m = f.expect("session/new")
	f.chunk("early")
	f.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"not ours"}}}}`)
	fmt.Fprintln(f.out, "a banner")
	f.result(m.ID, fmt.Sprintf(`{"sessionId":%q,"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]}}`, fakeSession))
	f.chunk(" late")
	f.next()
	return 0
}

// playGreedy asks for more permissions than may be open.
func playGreedy(f *fake) int {
	f.hello()
	p := f.prompt()
	for i := range 100 {
		f.line(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":%q,"toolCall":{"toolCallId":"t%d"},"options":[{"optionId":"a","name":"Yes","kind":"allow_once"}]}}`, 1000+i, fakeSession, i)
	}
	cancelled := 0
	for range 100 - 8 {
		if m := f.next(); strings.Contains(string(m.Result), "cancelled") {
			cancelled++
		}
	}
	f.chunk(fmt.Sprint(cancelled))
	f.done(p)
	f.next()
	return 0
}

// playWithdraws asks for a permission and withdraws the request.
func playWithdraws(f *fake) int {
	f.hello()
	p := f.prompt()
	f.line(`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":%q,"toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"Yes","kind":"allow_once"}]}}`, fakeSession)
	f.line(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`)
	m := f.next()
	f.chunk(string(m.ID) + string(m.Error))
	f.done(p)
	f.next()
	return 0
}

// playCloses starts a child, closes its stdin or its stdout at its start or in a turn, and
// keeps running. It writes both pids to stderr.
func playCloses(f *fake) int {
	cmd := child("sleeper", os.Environ(), &syscall.SysProcAttr{Setsid: true})
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, os.Getpid(), cmd.Process.Pid)
	pipe := map[string]*os.File{"stdin": os.Stdin, "stdout": os.Stdout}[os.Getenv("ACP_TEST_CLOSES")]
	if os.Getenv("ACP_TEST_IN_TURN") == "" {
		m := f.expect("initialize")
		pipe.Close()
		f.result(m.ID, `{"protocolVersion":1}`)
	} else {
		f.hello()
		f.prompt()
		f.chunk("busy")
		pipe.Close()
		f.line(`{"jsonrpc":"2.0","id":"ask","method":"session/request_permission","params":{"sessionId":%q,"toolCall":{"toolCallId":"t"},`+
			`"options":[{"optionId":"a","name":"Yes","kind":"allow_once"}]}}`, fakeSession)
	}
	time.Sleep(time.Hour)
	return 0
}

// playHomeless removes its folder, and exits at its start or in a turn, or answers the
// prompt with an error.
func playHomeless(f *fake) int {
	when := os.Getenv("ACP_TEST_WHEN")
	var p incoming
	if when != "start" {
		f.hello()
		p = f.prompt()
	}
	if dir, err := os.Getwd(); err != nil || os.RemoveAll(dir) != nil {
		panic("the folder cannot be removed")
	}
	if when == "error" {
		f.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error.","data":"ENOENT: uv_cwd"}}`, p.ID)
		f.next()
	}
	return 1
}

// playEnviron prints its environment.
func playEnviron(f *fake) int {
	f.hello()
	p := f.prompt()
	env, _ := json.Marshal(os.Environ())
	f.chunk(string(env))
	f.done(p)
	f.next()
	return 0
}

// playHub runs an agent like a hub, and is killed.
func playHub(f *fake) int {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	s := newSink()
	a, err := acp.Start(context.Background(), acp.Config{
		Name: "test", Command: []string{self}, Workspace: os.TempDir(), HubID: os.Getenv("ACP_TEST_HUB"), RunID: "1", SessionID: "s",
		Env: map[string]string{roleName: os.Getenv("ACP_TEST_CHILD")},
	}, s)
	if err != nil {
		panic(err)
	}
	s.onRecord = func(payloads []event.Payload) {
		for _, p := range payloads {
			if p.EventType() == event.TypeAgentMessage {
				fmt.Println("working")
			}
		}
	}
	if err := a.Prompt(event.UserPrompt{PromptID: "p", Text: "work"}); err != nil {
		panic(err)
	}
	select {}
}

// playEcho answers with its request: the prompt's blocks, or its MCP servers. It
// cannot resume a session.
func playEcho(f *fake) int {
	version, capabilities := os.Getenv("ACP_TEST_VERSION"), os.Getenv("ACP_TEST_CAPABILITIES")
	if version == "" {
		version = "1"
	}
	if capabilities == "" {
		capabilities = `{"loadSession":true,"sessionCapabilities":{"resume":{}}}`
	}
	f.result(f.expect("initialize").ID, fmt.Sprintf(`{"protocolVersion":%s,"agentCapabilities":%s}`, version, capabilities))
	var servers json.RawMessage
	directories := json.RawMessage("null")
	for {
		m := f.next()
		var p struct {
			Prompt      json.RawMessage
			MCPServers  json.RawMessage `json:"mcpServers"`
			Directories json.RawMessage `json:"additionalDirectories"`
		}
		_ = json.Unmarshal(m.Params, &p)
		switch m.Method {
		case "session/resume", "session/load":
			f.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"no such session"}}`, m.ID)
		case "session/new":
			servers = p.MCPServers
			if p.Directories != nil {
				directories = p.Directories
			}
			f.result(m.ID, fmt.Sprintf(`{"sessionId":%q}`, fakeSession))
		case "session/prompt":
			switch {
			case strings.Contains(string(p.Prompt), `"servers"`):
				f.chunk(string(servers))
			case strings.Contains(string(p.Prompt), `"directories"`):
				f.chunk(string(directories))
			default:
				f.chunk(string(p.Prompt))
			}
			f.done(m)
		}
	}
}

// playLogin works only after a login.
func playLogin(f *fake) int {
	f.result(f.expect("initialize").ID, `{"protocolVersion":1,"authMethods":[{"id":"l","name":"Log in","_meta":{"terminal-auth":{"command":"agent","args":["login"]}}},`+
		`{"id":"own","name":"Log in here","type":"terminal","args":["login"]}]}`)
	f.line(`{"jsonrpc":"2.0","id":%s,"error":%s}`, f.expect("session/new").ID, os.Getenv("ACP_TEST_ERROR"))
	f.next()
	return 0
}
