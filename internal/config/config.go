// Package config reads the hub's configuration.
//
// Flags beat the environment (ABIDE_…), which beats the file, which beats the
// defaults. The file is YAML; a field it should not have, or a value that makes
// no sense, is an error that names the file, the line and the reason. Text in
// the file may name environment variables as ${NAME} or ${NAME:-default}; one
// that is not set and has no default is an error, and $${ stands for ${ itself.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Config is the hub's configuration. Paths in it are absolute.
type Config struct {
	// Addr is the loopback address to listen on, host:port. Port 0 picks a
	// free one.
	Addr string
	// Data is the data directory.
	Data string
	// Durability is "balanced" or "strict".
	Durability string
	// LogFileMiB is the size at which a session's log goes on in a new file.
	LogFileMiB int
	// KeepLogMiB is how much of each session's log is kept; 0 is all of it.
	KeepLogMiB int
	// Open says whether a hub that starts opens the browser.
	Open bool
	// PublicNames are Host values the hub answers to beside the loopback
	// names, in lower case.
	PublicNames []string
	// Agents are in the order of the file; empty means the built-in one.
	Agents []Agent
	// DemoAgent keeps the built-in agent as the last choice beside others.
	DemoAgent bool
	// Workspaces are the directories sessions may run in and below, beside the one
	// the hub was started in.
	Workspaces  []string
	Permissions Permissions
	Queue       Queue
	// Worktrees is where the sessions' working copies of repositories are made: a
	// directory, or BesideRepository.
	Worktrees string
	// Jobs has what goes for all jobs.
	Jobs Jobs
	// UndoWait is how long a prompt waits until the files are kept as they are before it; 0
	// is no undo.
	UndoWait time.Duration
	Storage  Storage
	Machines Machines
	// Projects are the settings of directories, for sessions in or below them. Of
	// each setting the nearest directory that has it counts. Nil when there are none.
	Projects map[string]Project
	Resume   Resume
	Limits   Limits
	Outgoing Outgoing
	// Channels are ways beside push to be told of sessions, in the order of the file.
	Channels []Channel
	// Warnings tell a person what to write otherwise in the file.
	Warnings []string
}

// Project has the settings of a directory.
type Project struct {
	// Queue replaces the queue; nil leaves it.
	Queue *Queue
	// Worktree is for the working copies of repositories there; nil leaves it.
	Worktree *Worktree
	// Tests are the commands that jobs may run that edit and test.
	Tests []string
	// Auditors are commands, with their arguments, that judge jobs, by their names; Auditor
	// names the one that judges every job.
	Auditors map[string][]string
	Auditor  string
	// JobCaps are the caps that jobs there have by default, and at most.
	JobCaps JobCaps
	// Budget is how much its sessions may use on a day; nil leaves it.
	Budget *Budget
	// Git is for acts on the branches of sessions there; nil leaves it.
	Git *Git
	// Directories are absolute ones in which the project's agents may work, too.
	Directories []string
}

// BesideRepository is the value of Config.Worktrees that makes each working copy beside
// its repository.
const BesideRepository = "beside"

// Worktree has the settings of working copies.
type Worktree struct {
	// Copy names files and folders that git ignores and a working copy gets all the same.
	// They are relative to the project's directory.
	Copy []string
	// Setup is a command and its arguments that runs in a new working copy before the agent
	// starts; empty runs none.
	Setup []string
}

// JobCaps end a job that reaches one: seconds, the seconds of a silent agent, rounds, tokens,
// cost, events of its log, bytes of its agent and tools. 0 is no cap.
type JobCaps struct {
	WallS, RoundS       int64
	Rounds              int
	Tokens              int64
	Cost                float64
	Events, OutputBytes int64
}

// Jobs limits the jobs that run at once; 0 of PerAgent and PerProject is no limit. StreamEvents
// is how many events of its session back the stream of a job is whole.
type Jobs struct{ AtOnce, PerAgent, PerProject, StreamEvents int }

// Git says what may be done on the branches of sessions.
type Git struct {
	// Collaborators lets collaborators commit and update.
	Collaborators bool
	// Push lets the hub push as the owner would by hand, with hooks, credential helpers,
	// ssh and gpg.
	Push bool
	// Forge is the kind of the remote's host if its name does not say it: github, gitlab,
	// gitea or bitbucket.
	Forge string
	// PullRequests is the program that makes pull requests, gh or glab; empty for the page
	// of the remote's host.
	PullRequests string
	// Sign lets the owner's git sign the commits that the hub makes.
	Sign bool
}

// Channel is a way beside push to be told of sessions.
type Channel struct {
	Name string
	// Type is "ntfy" or "webhook".
	Type, URL string
	// Secret is a topic's token or the key that signs for a receiver.
	Secret string
	// Answers lets anyone who reads the topic answer a question once.
	Answers bool
	// Events are the kinds that are told; nil is all.
	Events []string
	// QuietFrom and QuietTo are times of the day, HH:MM; empty without quiet hours.
	QuietFrom, QuietTo string
}

// Outgoing is where the hub's own requests (push, webhooks) may go.
type Outgoing struct {
	// Allow are addresses that are not public, or have no https, and may be reached
	// all the same.
	Allow []netip.Prefix
}

// Agent is how to run one agent.
type Agent struct {
	Name string
	// Command is the program and its arguments; never empty.
	Command []string
	// Shown is the command line for people, with variables' names where the file
	// names variables.
	Shown string
	// Env is added to the few variables that the agent inherits.
	Env map[string]string
	// PassEnv names variables of the hub's environment to hand on.
	PassEnv []string
	// Files and Terminals let the agent use the hub's fs and terminal methods.
	Files, Terminals bool
	MCPServers       []MCPServer
	// Silence is how long it may say nothing in a turn before that is reported;
	// 0 means the default, 10 minutes. Else it is at least a second.
	Silence time.Duration
	// StartLimit limits its start; 0 means the default, 5 minutes. Else it is at least
	// a second.
	StartLimit time.Duration
	// Resume has its own resume settings.
	Resume AgentResume
	// Mode and Model are those that new sessions begin with; empty is the agent's own.
	Mode, Model string
	// Options are values of its options by their ids, strings and booleans, that new
	// sessions begin with.
	Options map[string]any
}

// MCPServer is a Model Context Protocol server an agent is told about.
type MCPServer struct {
	Name string `yaml:"name"`
	// Type is stdio, http or sse.
	Type    string            `yaml:"type"`
	Command string            `yaml:"command"`
	Args    []string          `yaml:"args"`
	Env     map[string]string `yaml:"env"`
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`
}

// Permissions is the policy for permission requests in unwatched sessions.
type Permissions struct {
	// Unattended is "wait" or "deny". It is never "allow".
	Unattended string
	// WaitLimit ends a wait as a denial; 0 waits for ever.
	WaitLimit time.Duration
}

// Queue is how prompts wait for a busy agent.
type Queue struct {
	Enabled bool
	// Delay is the pause between a turn's end and the next prompt.
	Delay   time.Duration
	MaxSize int
	// Titles gives each waiting prompt a few words for lists.
	Titles bool
	// AfterInterruption is "hold" or "continue": whether waiting prompts wait for a
	// person after a turn was cut off.
	AfterInterruption string
}

// Limits bound the hub's resources.
type Limits struct {
	// Sessions is how many sessions may be active, Agents how many agent
	// processes may live, Clients how many sockets may be open.
	Sessions, Agents, Clients int
	// SessionAttachmentsMiB is how much of attachments a session keeps,
	// DailyAttachmentsMiB how much one credential uploads on a day.
	SessionAttachmentsMiB, DailyAttachmentsMiB int
}

// DefaultAddr is where a hub listens that was not told otherwise: ABIDE on a
// phone's keypad.
const DefaultAddr = "127.0.0.1:22433"

// Error is a fault of the configuration, and its place.
type Error struct {
	// File is the file's path, or the name of an environment variable or flag.
	File string
	// Line counts from 1; 0 means no line in particular.
	Line   int
	Reason string
	cause  error
}

// ErrRefused says that a value is understood and not allowed.
var ErrRefused = errors.New("refused")

// refusal is a reason that is ErrRefused as well.
type refusal string

func (r refusal) Error() string        { return string(r) }
func (r refusal) Is(target error) bool { return target == ErrRefused }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Error implements error.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Reason)
}

func defaults() Config {
	return Config{
		Addr:       DefaultAddr,
		Durability: "balanced",
		Jobs:       Jobs{AtOnce: 4, StreamEvents: 2000},
		UndoWait:   300 * time.Millisecond,
		Storage: Storage{
			TrashDays: 7, ExpiredDays: 30, WarnAt: 0.8,
			Clean: Clean{Every: 7 * 24 * time.Hour, After: 30 * 24 * time.Hour, Lifecycles: []string{"completed", "failed", "expired"}},
		},
		Machines:    Machines{KeepCopies: "opened", CopiesMiB: 10240},
		LogFileMiB:  256,
		Open:        true,
		DemoAgent:   true,
		Permissions: Permissions{Unattended: "wait"},
		Queue:       Queue{Enabled: true, MaxSize: 10, Titles: true, AfterInterruption: "hold"},
		Resume:      Resume{StaleAfter: 25 * time.Minute, SegmentTokens: 4000},
		Limits:      Limits{Sessions: 100, Agents: 16, Clients: 2000, SessionAttachmentsMiB: 1024, DailyAttachmentsMiB: 200},
	}
}

// checkAddr refuses addresses that are not loopback: abide runs code as its user,
// and has no TLS of its own yet to guard an open port with.
func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a port", port)
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return refusal(fmt.Sprintf("%q is not a loopback address, and a hub open to the network is refused for now: listen on 127.0.0.1 and reach it through a tunnel (its name goes into public_names)", host))
	}
	return nil
}
