package session

import (
	"context"
	"io"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/allow"
	"github.com/abidehub/abide/session/event"
)

// Agent is the agent process as a session sees it. The session's goroutine calls
// Prompt, Cancel and Answer, so these never wait for the agent. An error means that
// the agent is gone or going; its AgentExit follows through the sink.
type Agent interface {
	// Prompt sends one prompt. The end of the turn comes through the sink as an
	// event.TurnEnd with the prompt's id. Only one prompt is open at a time.
	Prompt(p event.UserPrompt) error
	// Cancel asks the agent to end its turn. The turn's end still comes through the
	// sink. The session answers every open permission request with cancelled.
	Cancel() error
	// Answer settles a permission request that came through the sink.
	Answer(o event.PermissionOutcome) error
	// SetMode changes the agent's mode and waits for its answer. The new mode
	// comes through the sink.
	SetMode(ctx context.Context, modeID string, by event.Actor) error
	// SetConfigOption changes one option, a string or a boolean, and waits for
	// the agent's answer. The new set comes through the sink.
	SetConfigOption(ctx context.Context, id string, value any, by event.Actor) error
	// Stop ends the agent and everything it started, and returns when its
	// process group is gone. It may be called at any time, more than once.
	Stop(ctx context.Context) error
}

// Forgetter is an Agent that can delete its own copy of the session.
type Forgetter interface {
	// Forget waits for the agent's answer. An error may mean that the agent does
	// not support this.
	Forget(ctx context.Context) error
}

// Titler is an Agent that may take the name that a person gives the session.
type Titler interface {
	// SetTitle waits for the agent's answer. An error may mean that the agent does not
	// support this.
	SetTitle(ctx context.Context, title string) error
}

// Forker is an Agent that may copy its own session.
type Forker interface {
	// Fork returns the agent's id of a copy for work in a folder, which can be resumed.
	// An error may mean that the agent does not support this.
	Fork(ctx context.Context, folder string) (agentSessionID string, err error)
}

// AgentSink takes an agent's output. One goroutine, the reader of the agent's
// output, calls it in the order of the wire: first an event.AgentStarted, then the
// agent's events, and last exactly one event.AgentExit, however the agent ended.
// This holds also if StartAgent failed after the process had started.
type AgentSink interface {
	// Record returns once the payloads are in the log. While the log is blocked
	// Record blocks too, which stops reading from the agent's pipe. After an error
	// no more payloads are accepted: stop the agent.
	Record(ctx context.Context, payloads []event.Payload) error
	// Starting shows the end of the stderr of an agent that is not ready yet. It does
	// not wait.
	Starting(stderr string)
}

// AgentSpec says which agent to start, and for which session.
type AgentSpec struct {
	SessionID string
	// Agent is the configured agent's name.
	Agent string
	// Workspace is the absolute directory the agent works in.
	Workspace string
	// Directories are absolute ones beside it, in which it may work, too.
	Directories []string
	// AgentSessionID is the agent's own id of an earlier session. The agent resumes
	// or loads it if it can, or else creates a new one.
	AgentSessionID string
	// Adopt makes the agent load AgentSessionID or fail. The history that it repeats
	// comes through the sink before its AgentStarted, each prompt in chunks of
	// event.UserPrompt.
	Adopt bool
	// ContextLost is true if the log has earlier turns. An agent that creates a new
	// session does not know them and reports so in its AgentStarted.
	ContextLost bool
	// Allow is the list of a job: the hub does for the agent only what it allows. Nil for a
	// session that is no job.
	Allow *allow.List
	// AuthMethod, if set, is the login method to use before the session begins.
	AuthMethod string
	// OpenBlob opens a blob of the session, such as an attachment's bytes.
	OpenBlob func(sha256 string) (io.ReadCloser, error)
	// Past is the session's log. It is used to summarise earlier turns for an agent
	// that has no memory of them. Nil means that the agent gets no summary.
	Past observer.Source
	// PastAfter is the seq before the first event that the log still holds.
	PastAfter event.Seq
}

// SetUp runs the set-up command of a session's new working copy as its agent would run it,
// and returns once the command and all that it started have ended. Its events go to the
// sink: a tool call, the output, and the end of both. The error says
// how the command failed. It is ended with ctx.
type SetUp func(ctx context.Context, spec AgentSpec, command []string, sink AgentSink) error

// StartAgent starts an agent and returns once it is ready for prompts or has
// failed. It returns *LoginNeeded if a person must log in first. It stops trying
// when ctx ends.
type StartAgent func(ctx context.Context, spec AgentSpec, sink AgentSink) (Agent, error)
