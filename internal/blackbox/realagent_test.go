package blackbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// realAgent is an agent from npm with a simulated model on loopback.
type realAgent struct {
	name, npm, bin string
	args           []string
	// allow, reject are the option kinds it offers for a tool call.
	allow, reject event.PermissionKind
	env           func(home, model string) map[string]string
}

func realAgents() []realAgent {
	return []realAgent{
		{
			name: "opencode", npm: "opencode-ai@1.18.33", bin: "opencode", args: []string{"acp"},
			allow: event.AllowOnce, reject: event.RejectOnce,
			env: func(home, model string) map[string]string {
				return map[string]string{"HOME": home, "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_CONFIG_CONTENT": opencodeConfig(model)}
			},
		},
		{
			name: "claude", npm: "@agentclientprotocol/claude-agent-acp@0.100.0", bin: "claude-agent-acp",
			allow: event.AllowOnce, reject: event.RejectOnce,
			env: func(home, model string) map[string]string {
				return map[string]string{
					"HOME": home, "ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "x",
					"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
				}
			},
		},
	}
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
	if os.Getenv("ABIDE_SOAK") == "" {
		t.Skip("installs agents from the network and takes minutes: set ABIDE_SOAK")
	}
	for _, a := range realAgents() {
		t.Run(a.name, func(t *testing.T) {
			home := t.TempDir()
			record := filepath.Join(t.TempDir(), "record")
			command := append([]string{install(t, a)}, a.args...)
			spec := agent{
				Command: command, Env: a.env(home, startModel(t)),
				Resume: map[string]any{"delegating": []string{"task"}},
			}
			spec.Env[hiddenName] = strings.Join(hidden, " ")
			h := newHub(t, settings{agents: map[string]agent{a.name: tapped(t, record, spec)}, more: "resume: {segment_tokens: 4000}\n"})
			run(t, &rig{hub: h, agent: a, record: record})
		})
	}
}

// rig is one hub with one real agent.
type rig struct {
	*hub
	agent  realAgent
	record string
}

// install returns the path of the agent's program, from the cache if it is there.
func install(t *testing.T, a realAgent) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed")
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	name, version, _ := strings.Cut(strings.TrimPrefix(a.npm, "@agentclientprotocol/"), "@")
	dir := filepath.Join(cache, "abide-agents", name+"@"+version)
	program := filepath.Join(dir, "node_modules", ".bin", a.bin)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	// Install into a temporary directory and rename it, so that an interrupted
	// install is never used.
	aside, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	require.NoError(t, err)
	defer os.RemoveAll(aside)
	allow := fmt.Sprintf(`{"private":true,"allowScripts":{%q:true}}`, strings.TrimSuffix(a.npm, "@"+version))
	require.NoError(t, os.WriteFile(filepath.Join(aside, "package.json"), []byte(allow), 0o644))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-audit", "--no-fund", "--loglevel=error", a.npm)
	cmd.Dir = aside
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install %s: %v: %s", a.npm, err, tail(string(out), 300))
	}
	if err := os.Rename(aside, dir); err != nil {
		require.FileExists(t, program, "%v", err) // another test was faster
	}
	return program
}

// startModel starts the simulated model and returns its address.
func startModel(t *testing.T) string {
	t.Helper()
	const script = "../../../shared/tools/fakellm.mjs"
	if _, err := os.Stat(script); err != nil {
		t.Skipf("no simulated model: %v", err)
	}
	cmd := exec.Command("node", script, "--delay", "2")
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
		first.prompt(session.SessionID, "p1", fmt.Sprintf("Please [[think]] [[write:%s|hello from abide]] [[shell:touch %s && echo hi-from-shell]]", written, touched))
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
		c.prompt(session.SessionID, "p1", fmt.Sprintf("[[shell:touch %s]]", touched))
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
