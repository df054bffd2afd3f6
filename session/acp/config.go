package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/session/allow"
	"github.com/abidehub/abide/session/event"
)

// Sink receives an agent's output: one call at a time, in the order of the wire.
type Sink interface {
	// Record returns once the payloads are recorded; the caller then reuses the
	// slice. While it blocks, the agent's output is not read. An error means that
	// no more is accepted, and ends the agent.
	Record(ctx context.Context, payloads []event.Payload) error
}

// Config says which agent to run, where, and with which rights.
type Config struct {
	// Name is the configured agent's name, recorded in event.AgentStarted.
	Name string
	// Command is the program and its arguments. A program without a slash is
	// looked up in the agent's PATH, and ~/ is its home.
	Command []string
	// Workspace is the absolute directory the agent works in.
	Workspace string
	// Directories are absolute ones beside Workspace in which it may work, too. They are
	// sent to an agent that takes some. What the hub does for an agent, it does in
	// Workspace alone.
	Directories []string
	// Env is added to the agent's environment and overrides inherited variables.
	// Values of variables with a name like a secret's are redacted from stderr
	// tails.
	Env map[string]string
	// PassEnv names variables to inherit besides the built-in allow-list.
	PassEnv []string

	// HubID, RunID and SessionID form the marker by which a later run of the hub
	// finds the processes of this one. None may be empty, and the first two must
	// not contain a dot.
	HubID, RunID, SessionID string

	// Resume is the agent's own id of the session to continue, if it ran before.
	// session/resume is tried first, then session/load, if the agent supports them;
	// else a new agent session begins.
	Resume string
	// Adopt loads Resume by session/load only, and records the history that the agent
	// repeats meanwhile, as it comes and before event.AgentStarted: each chunk of a prompt
	// as an event.UserPrompt, whose PromptID is the agent's id of the message, if it has one.
	Adopt bool
	// ContextLost means that the log has earlier turns. A new agent session then
	// reports the loss in its event.AgentStarted.
	ContextLost bool
	// Account returns a summary of those earlier turns, which precedes the first
	// prompt of an agent that lost them. Start calls it only for such an agent; an
	// error fails Start. Nil, or an empty summary, sends none.
	Account func(context.Context) (string, error)
	// Known returns the history in the log, to compare with the replay of
	// session/load. The replay itself is dropped in any case. Start calls it before
	// it asks for a replay; an error fails Start. If Known or its result is nil,
	// nothing is compared.
	Known func(context.Context) (*Known, error)

	// AuthMethod, if set, is the login method to use before the session begins.
	AuthMethod string

	// MCPServers are passed to the agent. Those of a kind that it does not take are
	// left out, and a note names them.
	MCPServers []MCPServer
	// Files lets the agent read and write text files of the workspace through the
	// hub. Terminals lets it run commands through the hub. Both are off by default:
	// agents have their own ways, and some fail if these are offered.
	Files, Terminals bool
	// Allow is the list of a job: Files and Terminals do only what it allows. Nil allows
	// all.
	Allow *allow.List
	// Private are files and directories that Files never reads or writes, under any
	// name: the hub's data and configuration.
	Private []string

	// OpenBlob opens an attachment by its hash. Nil means that there are no
	// attachments. If its result has a Name() string method, that is the path for
	// agents that cannot take the bytes in a prompt.
	OpenBlob func(sha256 string) (io.ReadCloser, error)

	// Version is the hub's version, which is sent to the agent.
	Version string
	Limits  Limits
	Bounds  Bounds
	// Logger receives messages that readers of the session do not need. Nil
	// discards them.
	Logger *slog.Logger
	// Clock is for tests. Nil means the system's.
	Clock Clock
	// Starting, if set, shows the end of the agent's stderr, redacted, about each second
	// until its session has begun. It must not wait.
	Starting func(stderr string)
}

// MCPServer is a Model Context Protocol server the agent should connect to.
type MCPServer struct {
	Name string
	// Type is "stdio" (also when empty), "http" or "sse".
	Type string
	// Command, Args and Env start a stdio server.
	Command string
	Args    []string
	Env     map[string]string
	// URL and Headers reach an http or sse server.
	URL     string
	Headers map[string]string
}

// Limits limit the memory that an agent can make the hub use. Zero fields take the
// default.
type Limits struct {
	// LineBytes is the longest line read from the agent. A longer one ends it with
	// reason "protocol". Default 32 MiB.
	LineBytes int
	// OpenPermissions is how many permission requests may be open. Another one is
	// answered as cancelled at once. Default 64.
	OpenPermissions int
	// OpenRequests is how many requests of any kind the agent may have open.
	// Another one is refused. Default 1024.
	OpenRequests int
	// HeldBytes limits the output held before the agent has begun its session.
	// Default 64 MiB.
	HeldBytes int
	// StdinBytes is how much may wait to be written to the agent. Default 64 MiB.
	StdinBytes int
}

// Bounds are time limits. Zero fields take the default.
type Bounds struct {
	// Start is for initialize and for beginning the session, each: 5 minutes.
	Start time.Duration
	// StdinStuck is how long a write to the agent may make no progress before
	// the agent counts as hung: 60 s.
	StdinStuck time.Duration
	// Stop sequence: for the turn to end after session/cancel (2 s), for the
	// session to be closed (1 s), for the agent to exit after stdin was closed (2
	// s), after SIGTERM (3 s), and for its processes to be gone after SIGKILL (5
	// s).
	Cancel, Closed, StdinClosed, Terminated, Killed time.Duration
	// Drain is how long an exited agent's output may be silent before the hub stops
	// waiting for another process that holds the pipe: 250 ms.
	Drain time.Duration
	// Silence is how long an agent may be silent in a turn before it is reported as
	// stalled: 10 min.
	Silence time.Duration
}

// Clock is the time source of stall detection and the noise limit.
type Clock interface {
	Now() time.Time
	// After is like time.After.
	After(d time.Duration) <-chan time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// ErrConfig marks an invalid Config.
var ErrConfig = errors.New("invalid agent config")

func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Command) == 0 || c.Command[0] == "":
		return c, fmt.Errorf("%w: no command", ErrConfig)
	case !filepath.IsAbs(c.Workspace):
		return c, fmt.Errorf("%w: workspace %q is not absolute", ErrConfig, c.Workspace)
	case c.HubID == "" || c.RunID == "" || c.SessionID == "":
		return c, fmt.Errorf("%w: the marker needs hub, run and session", ErrConfig)
	case strings.Contains(c.HubID, ".") || strings.Contains(c.RunID, "."):
		return c, fmt.Errorf("%w: a dot in the hub's or run's id", ErrConfig)
	}
	for name := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return c, fmt.Errorf("%w: environment name %q", ErrConfig, name)
		}
	}
	c.Limits = c.Limits.withDefaults()
	c.Bounds = c.Bounds.withDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = c.Logger.With("session", c.SessionID, "agent", c.Name)
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	return c, nil
}

func (l Limits) withDefaults() Limits {
	set(&l.LineBytes, 32<<20)
	set(&l.OpenPermissions, 64)
	set(&l.OpenRequests, 1024)
	set(&l.HeldBytes, 64<<20)
	set(&l.StdinBytes, 64<<20)
	return l
}

func (b Bounds) withDefaults() Bounds {
	set(&b.Start, 5*time.Minute)
	set(&b.StdinStuck, time.Minute)
	set(&b.Cancel, 2*time.Second)
	set(&b.Closed, time.Second)
	set(&b.StdinClosed, 2*time.Second)
	set(&b.Terminated, 3*time.Second)
	set(&b.Killed, 5*time.Second)
	set(&b.Drain, 250*time.Millisecond)
	set(&b.Silence, 10*time.Minute)
	return b
}

func set[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// serverNames are the names of MCP servers.
func serverNames(list []MCPServer) []string {
	names := make([]string, 0, len(list))
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// mcpServer is an MCPServer in the protocol's form: absent arrays are empty, never
// null.
func (s MCPServer) mcpServer() json.RawMessage {
	type pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	pairs := func(m map[string]string) []pair {
		out := make([]pair, 0, len(m))
		for _, name := range sortedKeys(m) {
			out = append(out, pair{name, m[name]})
		}
		return out
	}
	if s.Type == "http" || s.Type == "sse" {
		return mustJSON(struct {
			Type    string `json:"type"`
			Name    string `json:"name"`
			URL     string `json:"url"`
			Headers []pair `json:"headers"`
		}{s.Type, s.Name, s.URL, pairs(s.Headers)})
	}
	return mustJSON(struct {
		Name    string   `json:"name"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Env     []pair   `json:"env"`
	}{s.Name, s.Command, append([]string{}, s.Args...), pairs(s.Env)})
}

// folderGone reports whether the agent's folder does not exist.
func (c Config) folderGone() bool {
	if c.Workspace == "" {
		return false // an onlooker's
	}
	_, err := os.Stat(c.Workspace)
	return errors.Is(err, fs.ErrNotExist)
}

// orFolder returns err, or the error that the agent's folder does not exist: then it is
// the cause.
func (c Config) orFolder(err error) error {
	if c.folderGone() {
		return fmt.Errorf("its folder %s does not exist", c.Workspace)
	}
	return err
}
