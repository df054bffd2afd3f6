package session

import (
	"context"
	"io"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
)

// Agent is the process that does the work, as far as a session needs it. The
// session's one goroutine calls Prompt, Cancel and Answer, so these only hand
// something over and return: they never wait for the agent. An error means
// the agent is gone or going; its AgentExit follows through the sink.
type Agent interface {
	// Prompt hands over one prompt. The turn's end comes through the sink as
	// an event.TurnEnd with the prompt's id. One prompt is open at a time.
	Prompt(p event.UserPrompt) error
	// Cancel asks the agent to end its turn; the turn's end still comes
	// through the sink. The session has answered every open permission
	// request with cancelled before.
	Cancel() error
	// Answer settles a permission request the sink was given.
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

// Forgetter is an Agent that may keep the session itself, and can be told to
// delete it.
type Forgetter interface {
	// Forget waits for the agent's answer. An error may say that it does not
	// offer this.
	Forget(ctx context.Context) error
}

// AgentSink takes an agent's output. One goroutine, the reader of the agent's
// output, calls it, in the order of the wire: first an event.AgentStarted, then all
// that the agent sends, and as the very last one event.AgentExit, exactly once
// however the agent ended, also when StartAgent failed after the process ran.
type AgentSink interface {
	// Record returns once the payloads are in the log. While the log cannot be
	// written it blocks, so that the pipe's own back-pressure holds the agent.
	// An error says that nothing more will be taken: stop the agent.
	Record(ctx context.Context, payloads []event.Payload) error
}

// AgentSpec says which agent to start, and for which session.
type AgentSpec struct {
	SessionID string
	// Agent is the configured agent's name.
	Agent string
	// Workspace is the absolute directory the agent works in.
	Workspace string
	// AgentSessionID is the agent's own id of the session, if it ran before:
	// resume or load it where the agent can, else begin a new one.
	AgentSessionID string
	// ContextLost is true when the log holds earlier turns; an agent that
	// begins anew knows nothing of them and says so in its AgentStarted.
	ContextLost bool
	// AuthMethod, when set, is the way to log in before the session begins.
	AuthMethod string
	// OpenBlob opens a blob of the session, such as an attachment's bytes.
	OpenBlob func(sha256 string) (io.ReadCloser, error)
	// Past is the session's log, from which an account of earlier turns can be
	// made for an agent that does not remember them; nil when it is told otherwise.
	Past observer.Source
	// PastAfter is the cursor before the first event that the log still holds.
	PastAfter event.Seq
}

// StartAgent starts an agent and returns once it is ready for prompts, or
// failed to be; with *LoginNeeded when a person has to log in first. It gives
// up when ctx ends.
type StartAgent func(ctx context.Context, spec AgentSpec, sink AgentSink) (Agent, error)
