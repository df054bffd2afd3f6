package blackbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// realAgent is an agent from npm with a simulated model on loopback.
type realAgent struct {
	name string
	// packages are its npm packages. The first one gives the name of its folder.
	packages []string
	// program has ./ before the programs of the packages. Its arguments are known to abide.
	program []string
	// allow, reject are the option kinds it offers for a tool call.
	allow, reject event.PermissionKind
	// asking is the mode in which it asks, if it does not begin in that.
	asking string
	// oneModel means that only its configured model is simulated.
	oneModel bool
	// subAgent is its tool for a sub-agent, and a kind of those; empty if no script
	// makes it call one.
	subAgent, subAgentKind string
	// asks returns the words of a script that make it run a command, with a question
	// before. Nil means that it asks for every one.
	asks func(command string) string
	// settings writes its configuration to its home and returns its environment.
	settings func(t *testing.T, home, model string) map[string]string
}

func realAgents() []realAgent {
	return []realAgent{
		{
			name: "opencode", packages: []string{"opencode-ai@1.18.33"}, program: []string{"./opencode"}, oneModel: true,
			allow: event.AllowOnce, reject: event.RejectOnce, subAgent: "task", subAgentKind: "general",
			settings: func(_ *testing.T, _, model string) map[string]string {
				return map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_CONFIG_CONTENT": opencodeConfig(model)}
			},
		},
		{
			name: "claude", packages: []string{"@agentclientprotocol/claude-agent-acp@0.100.0"}, program: []string{"./claude-agent-acp"},
			allow: event.AllowOnce, reject: event.RejectOnce, subAgent: "Task", subAgentKind: "general-purpose",
			settings: func(_ *testing.T, _, model string) map[string]string {
				return map[string]string{"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
			},
		},
		{
			name: "codex", packages: []string{"@agentclientprotocol/codex-acp@2.6.0"}, program: []string{"./codex-acp"},
			allow: event.AllowOnce, reject: event.RejectOnce, asking: "read-only",
			asks: func(command string) string {
				args, _ := json.Marshal(map[string]string{"cmd": command, "sandbox_permissions": "require_escalated", "justification": "to write"})
				return "[[tool:exec_command|" + string(args) + "]]"
			},
			settings: func(t *testing.T, home, model string) map[string]string {
				configured(t, filepath.Join(home, ".codex", "config.toml"), `model = "fake-model"
model_provider = "fake"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "Fake"
base_url = "`+model+`/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
`)
				return map[string]string{"FAKE_KEY": "x", "OPENAI_API_KEY": "sk-fake"}
			},
		},
		{
			name: "kimi", packages: []string{"@moonshot-ai/kimi-code@2.1.0", "node@22"}, program: []string{"./node", "./kimi"},
			allow: event.AllowOnce, reject: event.RejectOnce,
			settings: func(t *testing.T, home, model string) map[string]string {
				configured(t, filepath.Join(home, ".kimi-code", "config.toml"), `default_model = "fake"
telemetry = false
[models.fake]
provider = "fake"
model = "fake-model"
max_context_size = 128000
[providers.fake]
type = "openai"
base_url = "`+model+`/v1"
api_key = "x"
`)
				return map[string]string{"KIMI_CODE_NO_AUTO_UPDATE": "1", "KIMI_DISABLE_TELEMETRY": "1"}
			},
		},
	}
}

func configured(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// shell returns the words of a script that make the agent ask for a command and run
// it.
func (a realAgent) shell(command string) string {
	if a.asks != nil {
		return a.asks(command)
	}
	return "[[shell:" + command + "]]"
}

// write returns the words of a script that make the agent ask for a change of a file
// and write it.
func (a realAgent) write(path, text string) string {
	if a.asks != nil {
		return a.asks("echo '" + text + "' > " + path)
	}
	return "[[write:" + path + "|" + text + "]]"
}

func opencodeConfig(model string) string {
	config, _ := json.Marshal(map[string]any{
		"autoupdate": false,
		"share":      "disabled",
		"model":      "fake/fake-model",
		"permission": map[string]string{"edit": "ask", "bash": "ask"},
		"provider": map[string]any{"fake": map[string]any{
			"npm":     "@ai-sdk/openai-compatible",
			"name":    "Fake",
			"options": map[string]string{"baseURL": model + "/v1", "apiKey": "x"},
			"models":  map[string]any{"fake-model": map[string]string{"name": "Fake model"}},
		}},
	})
	return string(config)
}

// forEachRealAgent runs a test with each available agent. The methods in hidden
// (resume, load) are removed from the agent's capabilities.
func forEachRealAgent(t *testing.T, run func(t *testing.T, r *rig), hidden ...string) {
	soak.Only(t, "it installs agents from the network and takes minutes")
	for _, a := range realAgents() {
		t.Run(a.name, func(t *testing.T) {
			home := t.TempDir()
			record := filepath.Join(t.TempDir(), "record")
			spec := agent{Command: install(t, a), Env: a.settings(t, home, startModel(t))}
			spec.Env["HOME"] = home
			spec.Env[hiddenName] = strings.Join(hidden, " ")
			h := newHub(t, settings{
				agents: map[string]agent{}, path: onPath(t, filepath.Base(a.program[len(a.program)-1]), tapped(t, record, spec)),
				more:   "resume: {segment_tokens: 4000}\n",
				before: func(h *hub) { add(h, a.name); require.NoError(t, os.Remove(record)) },
			})
			run(t, &rig{hub: h, agent: a, record: record})
			h.requireNothingNew()
		})
	}
}

// onPath returns a folder with a program of this name, which runs the agent.
func onPath(t *testing.T, program string, a agent) string {
	t.Helper()
	dir := t.TempDir()
	lines := []string{"#!/bin/sh"}
	for name, value := range a.Env {
		lines = append(lines, "export "+name+"="+quoted(value))
	}
	lines = append(lines, "exec "+quoted(a.Command[0])+` "$@"`, "")
	require.NoError(t, os.WriteFile(filepath.Join(dir, program), []byte(strings.Join(lines, "\n")), 0o700))
	return dir
}

// quoted returns the text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// add configures an agent as a new user does, with the check that abide makes.
func add(h *hub, name string) {
	h.t.Helper()
	out, errs, code := h.run("agents", "add", name, "--prompt", "[[say:hello from the check]]")
	require.Zero(h.t, code, "%s%s", out, errs)
	require.Contains(h.t, out, " works")
	require.Contains(h.t, out, "hello from the check")
	config, err := os.ReadFile(h.config)
	require.NoError(h.t, err)
	text := strings.Replace(string(config), name+": {", name+": {resume: {delegating: [task]}, ", 1)
	require.NotEqual(h.t, string(config), text, "%s", config)
	require.NoError(h.t, os.WriteFile(h.config, []byte(text), 0o600))
}

// rig is one hub with one real agent.
type rig struct {
	*hub
	agent  realAgent
	record string
}

// create creates a session in which the agent asks before it acts.
func (r *rig) create(name string) wire.SessionInfo {
	r.t.Helper()
	session := r.hub.create(name)
	if r.agent.asking != "" {
		r.choose(r.screen("chooser", session, 0), session.SessionID, r.agent.asking)
	}
	return session
}

// choose changes the agent's mode. OpenCode tells the change as one of an option.
func (r *rig) choose(c *screen, session, mode string) {
	r.t.Helper()
	require.NoError(r.t, c.socket().Send(r.t.Context(), &wire.SetMode{SessionID: session, ModeID: mode}))
	c.until("mode "+mode, func(_ []event.Event, s *wire.State) bool { return settingsIn(s).mode == mode })
}

// install returns the agent's command, from the cache if it is there.
func install(t *testing.T, a realAgent) []string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed")
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "abide-agents", filepath.Base(a.packages[0]))
	command := slices.Clone(a.program)
	for i, word := range command {
		if program, ok := strings.CutPrefix(word, "./"); ok {
			command[i] = filepath.Join(dir, "node_modules", ".bin", program)
		}
	}
	if _, err := os.Stat(command[0]); err == nil {
		return command
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	// Install into a temporary directory and rename it, so that an interrupted
	// install is never used.
	aside, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	require.NoError(t, err)
	defer os.RemoveAll(aside)
	scripts := map[string]bool{}
	for _, p := range a.packages {
		scripts[p[:strings.LastIndex(p, "@")]] = true
	}
	allow, err := json.Marshal(map[string]any{"private": true, "allowScripts": scripts})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(aside, "package.json"), allow, 0o644))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, append([]string{"install", "--no-audit", "--no-fund", "--loglevel=error"}, a.packages...)...)
	cmd.Dir = aside
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install %s: %v: %s", a.packages, err, tail(string(out), 300))
	}
	if err := os.Rename(aside, dir); err != nil {
		require.FileExists(t, command[0], "%v", err) // another test was faster
	}
	return command
}

// startModel starts the simulated model and returns its address.
func startModel(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("node", "testdata/fakellm.mjs", "--delay", "2")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Skipf("node cannot be run: %v", err)
	}
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, address, ok := strings.Cut(strings.TrimSpace(line), "listening ")
	require.True(t, ok, line)
	return address
}

// TestARealAgentWorksWhileASecondScreenAnswers is the main use: a real agent writes
// a file and runs a command, and a second client answers its permission requests.
// Both clients must receive exactly the events on disk.
func TestARealAgentWorksWhileASecondScreenAnswers(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		session := r.create(r.agent.name)
		first, second := r.screen("desk", session, 0), r.screen("phone", session, 0)
		written, touched := filepath.Join(r.workspace, "hello.txt"), filepath.Join(r.workspace, "touched")
		first.prompt(session.SessionID, "p1", "Please [[think]] "+r.agent.write(written, "hello from abide")+" "+r.agent.shell("touch "+touched+" && echo hi-from-shell"))
		for n := 1; n <= 2; n++ {
			second.answer(session.SessionID, second.untilAsked(n), r.agent.allow)
		}
		require.Equal(t, event.StopEndTurn, first.untilTurnEnds("p1").StopReason)
		content, err := os.ReadFile(written)
		require.NoError(t, err)
		require.Equal(t, "hello from abide", strings.TrimSpace(string(content)))
		require.FileExists(t, touched)
		requireTrueScreens(t, r.hub, session.SessionID, first, second)
		for _, o := range payloads[event.PermissionOutcome](t, first.seen()) {
			require.Equal(t, event.OutcomeSelected, o.Outcome)
			require.NotEmpty(t, o.By)
		}
		require.Empty(t, readRecord(t, r.record).rivals)
	})
}

func TestARealAgentThatIsRefusedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		session := r.create(r.agent.name)
		c := r.screen("desk", session, 0)
		touched := filepath.Join(r.workspace, "touched")
		c.prompt(session.SessionID, "p1", r.agent.shell("touch "+touched))
		c.answer(session.SessionID, c.untilAsked(1), r.agent.reject)
		c.untilTurnEnds("p1")
		require.NoFileExists(t, touched)
		requireTrueScreens(t, r.hub, session.SessionID, c)
	})
}

func TestARealAgentStopsWhenItsTurnIsCancelled(t *testing.T) {
	t.Parallel()
	forEachRealAgent(t, func(t *testing.T, r *rig) {
		session := r.create(r.agent.name)
		c := r.screen("desk", session, 0)
		c.prompt(session.SessionID, "p1", "[[delay:50]] [[big:64]]")
		c.until("some of the answer", hasType(event.TypeAgentMessage))
		c.cancel(session.SessionID)
		require.Equal(t, event.StopCancelled, c.untilTurnEnds("p1").StopReason)
		c.prompt(session.SessionID, "p2", "[[say:still here]]")
		require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p2").StopReason)
		requireTrueScreens(t, r.hub, session.SessionID, c)
	})
}
