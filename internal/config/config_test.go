package config_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func loader(t *testing.T, yaml string, env ...string) config.Loader {
	t.Helper()
	home := t.TempDir()
	path := filepath.Join(home, ".config", "abide", "config.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))
	l, err := config.NewLoader("", config.Flags{}, append([]string{"HOME=" + home}, env...), home)
	require.NoError(t, err)
	require.Equal(t, path, l.Path)
	return l
}

func TestNothingConfiguredIsGood(t *testing.T) {
	home := t.TempDir()
	l, err := config.NewLoader("", config.Flags{}, []string{"HOME=" + home}, "/")
	require.NoError(t, err)
	c, err := l.Load()
	require.NoError(t, err)
	require.Equal(t, config.Config{
		Addr: "127.0.0.1:22433", Data: filepath.Join(home, ".local/share/abide"), Durability: "balanced", Worktrees: filepath.Join(home, ".local/share/abide-worktrees"), UndoWait: 300 * time.Millisecond, Storage: config.Storage{TrashDays: 7, ExpiredDays: 30, WarnAt: 0.8, Clean: config.Clean{Every: 7 * 24 * time.Hour, After: 30 * 24 * time.Hour, Lifecycles: []string{"completed", "failed", "expired"}}}, Machines: config.Machines{KeepCopies: "opened", CopiesMiB: 10240}, Jobs: config.Jobs{AtOnce: 4, StreamEvents: 2000}, LogFileMiB: 256, Open: true, DemoAgent: true,
		Permissions: config.Permissions{Unattended: "wait"},
		Queue:       config.Queue{Enabled: true, MaxSize: 10, Titles: true, AfterInterruption: "hold"},
		Resume:      config.Resume{StaleAfter: 25 * time.Minute, SegmentTokens: 4000},
		Limits:      config.Limits{Sessions: 100, Agents: 16, Clients: 2000, SessionAttachmentsMiB: 1024, DailyAttachmentsMiB: 200},
	}, c)
	for _, empty := range []string{"", "# nothing yet\n", "---\n"} {
		got, err := loader(t, empty).Load()
		require.NoError(t, err, "%q", empty)
		require.Empty(t, got.Agents)
	}
}

// A file as an editor of another system writes it means the same, also in its texts of
// several lines, and an error names the same line.
func TestAFileOfAnotherSystemIsReadAsAnyOther(t *testing.T) {
	const plain = "agents:\n  a:\n    command:\n      - sh\n      - -c\n      - |\n        one\n        two\n    env:\n      API_KEY: \"k\"\nopen: false\n"
	want, err := loader(t, plain).Load()
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", want.Agents[0].Command[2])
	dos := "\ufeff" + strings.ReplaceAll(plain, "\n", "\r\n")
	got, err := loader(t, dos).Load()
	require.NoError(t, err)
	want.Data, got.Data = "", ""
	want.Worktrees, got.Worktrees = "", ""
	require.Equal(t, want, got)
	require.Equal(t, []string{"agents.a.env.API_KEY"}, config.LiteralSecrets([]byte(dos)))
	_, err = loader(t, dos+"opne: true\r\n").Load()
	var wrong *config.Error
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, 12, wrong.Line)
	_, err = loader(t, "\ufeff").Load()
	require.NoError(t, err, "a mark alone is an empty file")
}

func TestTheExampleFileIsGoodAndSaysTheDefaults(t *testing.T) {
	example, err := os.ReadFile("../../config.example.yaml")
	require.NoError(t, err)
	l := loader(t, string(example), "ANTHROPIC_API_KEY=k")
	c, err := l.Load()
	require.NoError(t, err)
	plain, err := loader(t, "").Load()
	require.NoError(t, err)
	require.NotEmpty(t, c.Agents, "it shows how to configure agents")
	require.NotEmpty(t, c.Workspaces)
	c.Agents, c.Workspaces, c.Data, plain.Data, c.Worktrees, plain.Worktrees = nil, nil, "", "", "", ""
	require.Equal(t, plain, c)
}

func TestEverythingCanBeSaid(t *testing.T) {
	l := loader(t, `
addr: localhost:0
data: ~/abide-data
durability: strict
log_file_mib: 64
keep_log_mib: 4096
open: false
demo_agent: false
public_names: [Abide.Example.ts.net, "box.local:8443"]
agents:
  zed: {command: [zed, --acp], pass_env: [SSH_AUTH_SOCK], silence: 90s, resume: {stale_after: 1h, auto: false, segmented_fallback: false, segment_tokens: 2000, delegating: [Task]}}
  claude:
    command: [claude-agent-acp]
    env: {ANTHROPIC_API_KEY: "${KEY}", PLAIN: "$${KEY} ${NONE:-fallback}"}
    fs: true
    terminal: true
    mcp_servers:
      - {name: files, command: mcp-files, args: [-r], env: {A: b}}
      - {name: web, type: http, url: "http://127.0.0.1:1/", headers: {X: y}}
workspaces: [~/src, relative, /abs]
worktrees: copies
undo_wait: 2s
storage: {trash_days: 30, expired_days: 90, archive_days: 60, compress_archived: true, quota_mib: 512, warn_at: 0.5, clean: {enabled: true, every: 24h, after: 1h, lifecycles: [failed]}}
machines: {keep_copies: all, copies_mib: 0}
jobs: {at_once: 2, per_agent: 3, per_project: 5, stream_events: 700}
permissions: {unattended: deny, wait_limit: 1h}
queue:
  {enabled: false, delay: 250ms, max_size: 3, titles: false, after_interruption: continue}
projects:
  {~/src: {queue: {enabled: true}}, rel.d/it's: {queue: {delay: 1m, max_size: 7, titles: true, after_interruption: hold}}, /bare: {worktree: {copy: [.env, a/b]}, git: {collaborators: true, push: true, forge: forgejo, pull_requests: glab, sign: true}, jobs: {test_commands: [go test *], auditors: {judge: [~/bin/judge, -x], size: [check-size]}, auditor: judge, caps: {wall_s: 3600, round_s: 300, rounds: 50, tokens: 2000000, cost: 2.5, events: 20000, output_bytes: 5000000}}, budget: {tokens: 2000000, cost: 9.5, stop: true}}}
resume: {stale_after: 5m, auto: true, segmented_fallback: true, segment_tokens: 8000}
limits: {sessions: 1, agents: 2, clients: 3, session_attachments_mib: 4, daily_attachments_mib: 5}
outgoing: {allow: [10.1.2.3/24, "fd00::1"]}
`, "KEY=k: {not: yaml}")
	c, err := l.Load()
	require.NoError(t, err)
	home := filepath.Dir(filepath.Dir(filepath.Dir(l.Path)))
	require.Equal(t, config.Config{
		Addr: "localhost:0", Data: filepath.Join(home, "abide-data"), Durability: "strict", UndoWait: 2 * time.Second, Storage: config.Storage{TrashDays: 30, ExpiredDays: 90, ArchiveDays: 60, CompressArchived: true, QuotaMiB: 512, WarnAt: 0.5, Clean: config.Clean{Enabled: true, Every: 24 * time.Hour, After: time.Hour, Lifecycles: []string{"failed"}}}, Machines: config.Machines{KeepCopies: "all"}, Jobs: config.Jobs{AtOnce: 2, PerAgent: 3, PerProject: 5, StreamEvents: 700}, LogFileMiB: 64, KeepLogMiB: 4096,
		PublicNames: []string{"abide.example.ts.net", "box.local:8443"},
		Agents: []config.Agent{
			{Name: "zed", Command: []string{"zed", "--acp"}, Shown: "zed --acp", PassEnv: []string{"SSH_AUTH_SOCK"}, Silence: 90 * time.Second,
				Resume: config.AgentResume{StaleAfter: time.Hour, Auto: new(bool), SegmentedFallback: new(bool), SegmentTokens: 2000, Delegating: []string{"Task"}}},
			{
				Name: "claude", Command: []string{"claude-agent-acp"}, Shown: "claude-agent-acp",
				Env:   map[string]string{"ANTHROPIC_API_KEY": "k: {not: yaml}", "PLAIN": "${KEY} fallback"},
				Files: true, Terminals: true,
				MCPServers: []config.MCPServer{
					{Name: "files", Type: "stdio", Command: "mcp-files", Args: []string{"-r"}, Env: map[string]string{"A": "b"}},
					{Name: "web", Type: "http", URL: "http://127.0.0.1:1/", Headers: map[string]string{"X": "y"}},
				},
			},
		},
		Workspaces: []string{filepath.Join(home, "src"), filepath.Join(filepath.Dir(l.Path), "relative"), "/abs"}, Worktrees: filepath.Join(filepath.Dir(l.Path), "copies"),
		Permissions: config.Permissions{Unattended: "deny", WaitLimit: time.Hour},
		Queue:       config.Queue{Delay: 250 * time.Millisecond, MaxSize: 3, AfterInterruption: "continue"},
		Projects: map[string]config.Project{
			filepath.Join(home, "src"):                        {Queue: &config.Queue{Enabled: true, Delay: 250 * time.Millisecond, MaxSize: 3, AfterInterruption: "continue"}},
			filepath.Join(filepath.Dir(l.Path), "rel.d/it's"): {Queue: &config.Queue{Delay: time.Minute, MaxSize: 7, Titles: true, AfterInterruption: "hold"}},
			"/bare": {Worktree: &config.Worktree{Copy: []string{".env", "a/b"}}, Git: &config.Git{Collaborators: true, Push: true, Forge: "gitea", PullRequests: "glab", Sign: true}, Tests: []string{"go test *"},
				Auditors: map[string][]string{"judge": {filepath.Join(home, "bin/judge"), "-x"}, "size": {"check-size"}}, Auditor: "judge",
				JobCaps: config.JobCaps{WallS: 3600, RoundS: 300, Rounds: 50, Tokens: 2_000_000, Cost: 2.5, Events: 20_000, OutputBytes: 5_000_000},
				Budget:  &config.Budget{Tokens: 2_000_000, Cost: 9.5, WarnAt: 0.8, Stop: true}},
		},
		Resume:   config.Resume{StaleAfter: 5 * time.Minute, Auto: true, SegmentedFallback: true, SegmentTokens: 8000},
		Limits:   config.Limits{Sessions: 1, Agents: 2, Clients: 3, SessionAttachmentsMiB: 4, DailyAttachmentsMiB: 5},
		Outgoing: config.Outgoing{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.2.0/24"), netip.MustParsePrefix("fd00::1/128")}},
	}, c)
}

func TestTheFormerPlaceOfAProjectsQueueIsReadWithAWarning(t *testing.T) {
	now, err := loader(t, "queue:\n  delay: 1s\nprojects:\n  /a: {queue: {max_size: 3}}\n  /b: {queue: {titles: false}}\n").Load()
	require.NoError(t, err)
	require.Empty(t, now.Warnings)
	former, err := loader(t, "queue:\n  delay: 1s\n  workspaces:\n    /a: {max_size: 3}\n    /b: {titles: false}\n").Load()
	require.NoError(t, err)
	require.Equal(t, now.Projects, former.Projects)
	require.Equal(t, []string{"queue.workspaces is now called projects: write projects: {DIRECTORY: {queue: {…}}}"}, former.Warnings)
}

func TestABadFileIsRefusedWithItsLineAndReason(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		line       int
		reason     string
	}{
		{"unknown field", "addr: 127.0.0.1:0\nadress: x\n", 2, "unknown field"},
		{"unknown field below", "queue:\n  enabled: true\n  dealy: 1s\n", 3, "dealy"},
		{"unknown field of an agent", "agents:\n  a:\n    comand: [x]\n", 3, "comand"},
		{"negative quota", "storage:\n  quota_mib: -1\n", 2, "storage.quota_mib: -1 is not"},
		{"copies of some sessions", "machines:\n  keep_copies: some\n", 2, `machines.keep_copies: "some" is not one of all, opened, none`},
		{"less than no copies", "machines:\n  copies_mib: -1\n", 2, "machines.copies_mib"},
		{"part of a quota", "storage:\n  warn_at: 80\n", 2, "such as 0.8"},
		{"no lifecycle", "storage:\n  clean:\n    lifecycles: [failed, gone]\n", 3, "not one of active"},
		{"lifecycles of nothing", "storage:\n  clean:\n    lifecycles: []\n", 3, "name at least one of active"},
		{"a clean-up without pause", "storage:\n  clean:\n    every: 0s\n", 3, "at least a second"},
		{"resume", "resume:\n  stale_after: 0s\n", 2, "less than a second"},
		{"segments", "resume:\n  segment_tokens: 5\n", 2, "not between"},
		{"resume of an agent", "agents:\n  a:\n    command: [x]\n    resume:\n      stale_after: soon\n", 5, "not a duration"},
		{"wrong type", "\nqueue:\n  max_size: many\n", 3, `"many" is not a number`},
		{"list for a word", "addr: [1]\n", 1, "not text"},
		{"not YAML", "addr: 127.0.0.1:0\nqueue: {enabled: true\n", 2, ""},
		{"twice", "addr: 127.0.0.1:0\naddr: 127.0.0.1:1\n", 2, "addr"},
		{"two documents", "addr: 127.0.0.1:0\n---\naddr: 127.0.0.1:1\n", 3, "second document"},
		{"open to the network", "\n\naddr: 0.0.0.0:22433\n", 3, "loopback"},
		{"open to the network by saying nothing", "addr: :22433\n", 1, "loopback"},
		{"no port", "addr: 127.0.0.1\n", 1, "HOST:PORT"},
		{"port too high", "addr: 127.0.0.1:70000\n", 1, "not a port"},
		{"durability", "durability: maybe\n", 1, "neither balanced nor strict"},
		{"allow by running out of time", "permissions:\n  unattended: allow\n", 2, "never allowed unattended"},
		{"duration", "queue:\n  delay: soon\n", 2, "not a duration"},
		{"a silence nobody can keep", "agents:\n  a:\n    command: [x]\n    silence: 0s\n", 4, "at least a second"},
		{"negative duration", "queue:\n  delay: -1s\n", 2, "not a duration"},
		{"size of a queue", "queue:\n  enabled: true\n  max_size: 0\n", 3, "queue.max_size: 0 is not between"},
		{"a directory's queue", "queue:\n  workspaces:\n    ~/src: {}\n    /a.b/it's here:\n      enabled: true\n      delay: soon\n", 6, "/a.b/it's here.delay: \"soon\" is not a duration"},
		{"size of a directory's queue", "queue:\n  workspaces:\n    ~/src:\n      max_size: -1\n", 4, "not between"},
		{"unknown field of a directory's queue", "queue:\n  workspaces:\n    ~/src:\n      size: 1\n", 4, "size"},
		{"a directory twice", "queue:\n  workspaces:\n    /a/b: {delay: 1s}\n    /a/b/: {delay: 2s}\n", 4, "twice"},
		{"a project's queue", "projects:\n  /a.b/it's here:\n    queue:\n      enabled: true\n      delay: soon\n", 5, "projects./a.b/it's here.queue.delay: \"soon\" is not a duration"},
		{"unknown setting of a project", "projects:\n  ~/src:\n    queue: {max_size: 3}\n    worktrees: always\n", 4, "unknown field \"worktrees\""},
		{"a copy from outside", "projects:\n  ~/src:\n    worktree: {copy: [a, ../b]}\n", 3, "projects.~/src.worktree.copy: \"../b\" is no path below"},
		{"a copy of a git directory", "projects:\n  ~/src:\n    worktree:\n      copy: [a/.git/config]\n", 4, "is no path below"},
		{"an auditor that an agent could write", "projects:\n  ~/src:\n    jobs:\n      auditors: {a: [./judge]}\n", 4, "absolute path"},
		{"an auditor without a program", "projects:\n  ~/src:\n    jobs: {auditors: {a: []}}\n", 3, "a has no program"},
		{"an auditor's name", "projects:\n  ~/src:\n    jobs: {auditors: {a b: [x]}}\n", 3, "no name of an auditor"},
		{"a program for pull requests that is none", "projects:\n  ~/src:\n    git: {push: true, pull_requests: hub}\n", 3, "none of gh, glab"},
		{"pull requests without push", "projects:\n  ~/src:\n    git: {pull_requests: gh}\n", 3, "takes push: true"},
		{"a budget of nothing", "projects:\n  ~/src:\n    budget: {stop: true}\n", 3, "projects.~/src.budget: a budget has tokens, cost or both"},
		{"no tokens", "projects:\n  ~/src:\n    budget:\n      tokens: 0\n", 4, "projects.~/src.budget.tokens: 0 is no budget: leave it out for none"},
		{"tokens in parts", "projects:\n  ~/src:\n    budget: {tokens: 1.5}\n", 3, "1.5 is not a whole number"},
		{"a negative cost", "projects:\n  ~/src:\n    budget: {cost: -1}\n", 3, "projects.~/src.budget.cost: -1 is no budget"},
		{"a cost without a number", "projects:\n  ~/src:\n    budget: {cost: .nan}\n", 3, "projects.~/src.budget.cost: NaN is no budget"},
		{"a warning in percent", "projects:\n  ~/src:\n    budget: {tokens: 1, warn_at: 80}\n", 3, "projects.~/src.budget.warn_at: 80 is not a part of the budget such as 0.8"},
		{"a cap that is none", "projects:\n  ~/src:\n    jobs:\n      caps: {rounds: 0}\n", 4, "projects.~/src.jobs.caps.rounds: 0 is no limit"},
		{"a cap in parts", "projects:\n  ~/src:\n    jobs: {caps: {tokens: 1.5}}\n", 3, "not a whole number"},
		{"an auditor that is none", "projects:\n  ~/src:\n    jobs: {auditors: {a: [x]}, auditor: b}\n", 3, "none of the auditors"},
		{"no folder for worktrees", "\nworktrees: ''\n", 2, "worktrees: \"\" is neither a directory"},
		{"unknown setting of a project's queue", "projects:\n  ~/src:\n    queue: {size: 3}\n", 3, "unknown field \"size\""},
		{"a project twice", "projects:\n  /a/b: {}\n  /a/b/: {}\n", 3, "projects./a/b/: this directory is named twice"},
		{"a project in both places", "projects:\n  /a/b: {}\nqueue:\n  workspaces:\n    /a/b: {delay: 1s}\n", 5, "queue.workspaces./a/b: this directory is named twice"},
		{"a project without a name", "projects:\n  '': {}\n", 2, "no name"},
		{"a directory without a name", "queue:\n  workspaces:\n    '': {delay: 1s}\n", 3, "no name"},
		{"less than nothing of a log", "keep_log_mib: -1\n", 1, "0, which keeps everything"},
		{"size of a log file", "log_file_mib: 0\n", 1, "not between"},
		{"half a MiB of a log file", "\nlog_file_mib: 1.5\n", 2, "log_file_mib: 1.5 is not a whole number"},
		{"endless log", "keep_log_mib: .inf\n", 1, "not a whole number"},
		{"no number of agents", "limits:\n  agents: .nan\n", 2, "not a whole number"},
		{"half a prompt of a directory's queue", "queue:\n  workspaces:\n    ~/src:\n      max_size: 3.7\n", 4, "not a whole number"},
		{"data without a name", "addr: 127.0.0.1:0\ndata: \"\"\n", 2, "names no directory"},
		{"count", "limits:\n  agents: 0\n", 2, "not between"},
		{"public name with a scheme", "public_names:\n  - a.example\n  - https://b.example\n", 3, "host name"},
		{"public name with a pattern", "public_names:\n  - '*.example'\n", 2, "host name"},
		{"address to send to that is a name", "outgoing:\n  allow: [hooks.example]\n", 2, "not an address range"},
		{"agent without a command", "agents:\n  a: {command: [x]}\n  b: {env: {}}\n", 3, "needs a command"},
		{"agent's name", "agents:\n  'a b': {command: [x]}\n", 2, "not an agent's name"},
		{"MCP server", "agents:\n  a:\n    command: [x]\n    mcp_servers:\n      - {name: m, type: http}\n", 5, "needs a url"},
		{"variable that is not set", "agents:\n  a:\n    command: [x]\n    env:\n      K: ${NOPE}\n", 5, "NOPE is not set"},
		{"open brace", "data: ${HOME\n", 1, "no closing brace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := loader(t, c.yaml)
			_, err := l.Load()
			var wrong *config.Error
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, l.Path, wrong.File)
			require.Equal(t, c.line, wrong.Line, "%v", err)
			require.Contains(t, wrong.Reason, c.reason)
			require.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}

func TestZeroOfStorageIsNone(t *testing.T) {
	c, err := loader(t, "storage: {trash_days: 0, expired_days: 0, quota_mib: 0}").Load()
	require.NoError(t, err)
	require.Equal(t, config.Storage{WarnAt: 0.8, Clean: config.Clean{Every: 7 * 24 * time.Hour, After: 30 * 24 * time.Hour, Lifecycles: []string{"completed", "failed", "expired"}}}, c.Storage)
}

// TestAnErrorShowsNoSecretOfTheFile makes common mistakes in fields
// that may contain secrets.
func TestAnErrorShowsNoSecretOfTheFile(t *testing.T) {
	const agent = "agents:\n  a:\n    command: [x]\n"
	for _, yaml := range []string{
		agent + "    env: sk-hunter2\n",
		agent + "    env: [API_KEY=sk-hunter2]\n",
		agent + "    env: {API_KEY=sk-hunter2: }\n",
		agent + "    env: {API_KEY: [sk-hunter2]}\n",
		agent + "    env: {API_KEY: {a: sk-hunter2}}\n",
		agent + "    env: {API_KEY: sk-hunter2, API_KEY: sk-hunter2}\n",
		agent + "    env: {API_KEY: *sk-hunter2}\n",
		agent + "    env: {API_KEY: \"sk-hunter2}\n",
		agent + "    env: {API_KEY: \"sk-hunter2\" sk-hunter2}\n",
		agent + "    env:\n      API_KEY: sk-hunter2: sk-hunter2\n",
		agent + "    env:\n      API_KEY sk-hunter2\n      B: c\n",
		agent + "    env:\n      API_KEY: ${NONE:-sk-hunter2\n",
		agent + "    env: {API_KEY: \"${SECRET}\"}\n    fs: ${SECRET}\n",
		agent + "    mcp_servers: [{name: n, url: x, headers: {Authorization: [sk-hunter2]}}]\n",
		agent + "    mcp_servers: [{name: n, command: x, env: [KEY=sk-hunter2]}]\n",
		agent + "    mcp_servers: [{name: n, type: \"${SECRET}\"}]\n",
		"addr: ${SECRET}\n", "durability: ${SECRET}\n", "public_names: ['a b ${SECRET}']\n",
		"queue:\n  delay: ${SECRET}\n", "queue:\n  max_size: ${SECRET}\n", "permissions: {unattended: \"${SECRET}\"}\n",
		"addr: ${QUOTED}\n", "durability: ${SHORT_KEY}er2\n",
		agent + "    mcp_servers: [{name: n, type: http, url: \"://u:${SECRET}@x\"}]\n",
	} {
		_, err := loader(t, yaml, "SECRET=sk-hunter2", `QUOTED="sk-hunter2"`, "SHORT_KEY=hunt").Load()
		var wrong *config.Error
		require.ErrorAs(t, err, &wrong, yaml)
		require.NotZero(t, wrong.Line, yaml)
		require.NotContains(t, err.Error(), "hunter2", yaml)
	}
	_, err := loader(t, "queue:\n  delay: ${SECRET}\n", "SECRET=sk-hunter2").Load()
	require.ErrorContains(t, err, `queue.delay: "${SECRET}" is not a duration`, "the error must quote the file")
}

func TestFlagsBeatEnvironmentBeatsFile(t *testing.T) {
	const file = "addr: 127.0.0.1:1\ndata: /file\nqueue: {max_size: 1}\n"
	l := loader(t, file)
	c, err := l.Load()
	require.NoError(t, err)
	require.Equal(t, []any{"127.0.0.1:1", "/file", 1}, []any{c.Addr, c.Data, c.Queue.MaxSize})

	l = loader(t, file, "ABIDE_ADDR=127.0.0.1:2", "ABIDE_DATA=env", "ABIDE_QUEUE_MAX_SIZE=2", "ABIDE_OPEN=false",
		"ABIDE_PUBLIC_NAMES=a.example, b.example", "ABIDE_WORKSPACES=/w:~/v", "ABIDE_QUEUE_DELAY=1s", "ABIDE_OUTGOING_ALLOW=10.0.0.0/8, 127.0.0.1", "ABIDE_DURABILITY=")
	c, err = l.Load()
	require.NoError(t, err)
	require.Equal(t, []any{"127.0.0.1:2", filepath.Join(l.Dir, "env"), 2, false}, []any{c.Addr, c.Data, c.Queue.MaxSize, c.Open})
	require.Equal(t, []string{"a.example", "b.example"}, c.PublicNames)
	require.Equal(t, []string{"/w", filepath.Join(l.Dir, "v")}, c.Workspaces)
	require.Equal(t, "balanced", c.Durability)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32")}, c.Outgoing.Allow)

	addr, data, open := "127.0.0.1:3", "/flag", true
	l.Flags = config.Flags{Addr: &addr, Data: &data, Open: &open}
	c, err = l.Load()
	require.NoError(t, err)
	require.Equal(t, []any{"127.0.0.1:3", "/flag", true}, []any{c.Addr, c.Data, c.Open})
}

func TestABadVariableOrFlagIsNamed(t *testing.T) {
	for variable, reason := range map[string]string{
		"ABIDE_ADDR=[::]:1": "loopback", "ABIDE_QUEUE_MAX_SIZE=x": "not a number", "ABIDE_QUEUE_MAX_SIZE=0": "between",
		"ABIDE_OPEN=perhaps": "true nor false", "ABIDE_PERMISSIONS_UNATTENDED=allow": "never allowed unattended",
		"ABIDE_PUBLIC_NAMES=*": "host name", "ABIDE_LIMITS_CLIENTS=-1": "between", "ABIDE_OUTGOING_ALLOW=everything": "address range",
	} {
		_, err := loader(t, "", variable).Load()
		var wrong *config.Error
		require.ErrorAs(t, err, &wrong, variable)
		require.True(t, strings.HasPrefix(variable, wrong.File+"="))
		require.Contains(t, wrong.Reason, reason)
	}
	l := loader(t, "")
	open := "192.168.0.1:1"
	l.Flags.Addr = &open
	_, err := l.Load()
	require.ErrorContains(t, err, "--addr: ")
}

func TestANamedFileMustBeThere(t *testing.T) {
	dir := t.TempDir()
	for _, env := range [][]string{nil, {"ABIDE_CONFIG=missing.yaml"}} {
		flag := ""
		if env == nil {
			flag = "missing.yaml"
		}
		l, err := config.NewLoader(flag, config.Flags{}, append(env, "HOME="+dir), dir)
		require.NoError(t, err)
		_, err = l.Load()
		require.ErrorIs(t, err, os.ErrNotExist)
		require.ErrorContains(t, err, filepath.Join(dir, "missing.yaml"))
	}
}

// patience is the time limit for something that should happen at once.
const patience = time.Minute

// watching runs Watch and returns its reports.
func watching(t *testing.T, l config.Loader) (applied chan config.Config, refused chan error) {
	t.Helper()
	loaded, err := l.Load()
	require.NoError(t, err)
	return watchingSince(t, l, loaded)
}

func watchingSince(t *testing.T, l config.Loader, loaded config.Config) (applied chan config.Config, refused chan error) {
	t.Helper()
	applied, refused = make(chan config.Config, 10), make(chan error, 10)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- l.Watch(ctx, loaded, func(c config.Config) { applied <- c }, func(err error) { refused <- err })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("watch: %v", err)
		}
	})
	return applied, refused
}

// write replaces the file like an editor does, and waits for the report. Without
// the wait, a second write could be reported together with the next one.
func write[T any](t *testing.T, path, yaml string, reported chan T) T {
	t.Helper()
	tmp := path + ".new"
	require.NoError(t, os.WriteFile(tmp, []byte(yaml), 0o600))
	require.NoError(t, os.Rename(tmp, path))
	return receive(t, reported)
}

// receive waits for a value.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing was reported")
		panic("unreachable")
	}
}

func TestAGoodEditAppliesAndABadOneIsRefused(t *testing.T) {
	l := loader(t, "queue: {max_size: 1}\n")
	applied, refused := watching(t, l)
	require.Equal(t, 2, write(t, l.Path, "queue: {max_size: 2}\n", applied).Queue.MaxSize)

	err := write(t, l.Path, "queue: {max_size: 3}\nbogus: 1\n", refused)
	var wrong *config.Error
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, 2, wrong.Line)
	require.Empty(t, applied, "a bad edit changes nothing")

	require.Equal(t, 4, write(t, l.Path, "queue: {max_size: 4}\n", applied).Queue.MaxSize)
}

func TestAFileThatIsEmptiedWhileItIsWatchedIsNotTakenForDefaults(t *testing.T) {
	l := loader(t, "queue: {max_size: 1}\n")
	applied, refused := watching(t, l)
	write(t, l.Path, "queue: {max_size: 2}\n", applied)

	require.NoError(t, os.Truncate(l.Path, 0))
	require.ErrorContains(t, receive(t, refused), "is empty now")
	require.Empty(t, applied)

	require.NoError(t, os.Remove(l.Path))
	require.NoError(t, os.WriteFile(l.Path, []byte("# all defaults\n"), 0o600))
	require.NotEqual(t, 2, receive(t, applied).Queue.MaxSize)
}

func TestAnEditBetweenLoadingAndWatchingIsSeen(t *testing.T) {
	l := loader(t, "queue: {max_size: 1}\n")
	loaded, err := l.Load()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(l.Path, []byte("queue: {max_size: 2}\n"), 0o600))
	applied, _ := watchingSince(t, l, loaded)
	require.Equal(t, 2, receive(t, applied).Queue.MaxSize)
}

func TestAFileInADirectoryMadeLaterIsFound(t *testing.T) {
	home := t.TempDir()
	l, err := config.NewLoader("", config.Flags{}, []string{"HOME=" + home}, home)
	require.NoError(t, err)
	applied, _ := watching(t, l)
	require.NoError(t, os.MkdirAll(filepath.Dir(l.Path), 0o700))
	require.Equal(t, 2, write(t, l.Path, "queue: {max_size: 2}\n", applied).Queue.MaxSize)
}

func TestAFileBehindALinkIsWatched(t *testing.T) {
	l := loader(t, "")
	elsewhere := filepath.Join(t.TempDir(), "abide.yaml")
	require.NoError(t, os.WriteFile(elsewhere, nil, 0o600))
	require.NoError(t, os.Remove(l.Path))
	require.NoError(t, os.Symlink(elsewhere, l.Path))
	applied, _ := watching(t, l)
	require.Equal(t, 2, write(t, elsewhere, "queue: {max_size: 2}\n", applied).Queue.MaxSize)
}

func TestAnAgentIsShownWithTheNamesOfVariables(t *testing.T) {
	c, err := loader(t, "agents: {a: {command: [run, \"--token=${TOKEN}\", \"${PIN_KEY}\", -v]}}\n", "TOKEN=sk-hunter2", "PIN_KEY=1234").Load()
	require.NoError(t, err)
	require.Equal(t, []string{"run", "--token=sk-hunter2", "1234", "-v"}, c.Agents[0].Command)
	require.Equal(t, "run --token=${TOKEN} ${PIN_KEY} -v", c.Agents[0].Shown)
}

func TestAValueOfTheWrongKindIsNamedByItsKey(t *testing.T) {
	for yaml, want := range map[string]string{
		"agents: {a: {command: x y}}\n":     `command: a list is expected, not text`,
		"agents:\n  a:\n    command: x y\n": `command: a list is expected, not text`,
		"queue:\n  max_size: many\n":        `max_size: "many" is not a number`,
	} {
		_, err := loader(t, yaml).Load()
		require.ErrorContains(t, err, want)
	}
}

func TestAnMCPServerNeedsAURLThatCanBeReached(t *testing.T) {
	for url, good := range map[string]bool{
		"http://127.0.0.1:1/": true, "https://mcp.example/x?y=z": true,
		"://x": false, "mcp.example": false, "ftp://mcp.example/": false, "http://": false, "http:///path": false,
	} {
		_, err := loader(t, "agents: {a: {command: [x], mcp_servers: [{name: n, type: http, url: \""+url+"\"}]}}\n").Load()
		if good {
			require.NoError(t, err, url)
		} else {
			require.ErrorContains(t, err, "agents.a.mcp_servers[0]: n: url must begin with", url)
		}
	}
}

func TestOnlyATopicHasAnswers(t *testing.T) {
	c, err := loader(t, `channels: {a: {type: ntfy, url: "https://ntfy.example/t", answers: true}, b: {type: ntfy, url: "https://ntfy.example/t"}}`).Load()
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, []bool{c.Channels[0].Answers, c.Channels[1].Answers}, "off unless it is said")
	_, err = loader(t, `channels: {a: {type: webhook, url: "https://a.example/t", secret: 0123456789abcdef, answers: true}}`).Load()
	require.ErrorContains(t, err, "answers is for channels of type ntfy")
}
