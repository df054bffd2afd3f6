// Package demoagent is a coding agent without a model: it speaks the Agent
// Client Protocol over stdio and plays the same script every time.
//
// A first run talks to it when no agent is configured, the tests drive it, and the
// screenshots show it. A plain prompt plays the tour; each slash command exercises
// one thing. It works on a scratch copy, so it changes nothing of the workspace.
package demoagent

import (
	"context"
	"io"
	"log/slog"
	"os"

	sdk "github.com/coder/acp-go-sdk"
)

// Options change how the script is played.
type Options struct {
	// Speed divides every pause: 1 is the natural pace, 2 twice as fast, and 0
	// pauses nowhere.
	Speed float64
	// Seed makes the session ids. The same seed in the same state directory
	// gives the same ids in the same order.
	Seed int64
	// StateDir is where sessions are kept for a later session/load. Empty means
	// a folder of the user's state directory.
	StateDir string
	// Login makes the agent want a login before it works. Whether a user has logged
	// in is kept in StateDir.
	Login bool
	// Version is the agent's version.
	Version string
	// Mode is the mode that sessions begin and come back in; empty is ask.
	Mode string
	// Model is the model that sessions begin and come back with; empty is steady.
	Model string
	// Verbose is how they begin and come back, too.
	Verbose bool
	// ModeOption offers the modes as an option, too.
	ModeOption bool
	// Grouped offers the models in groups.
	Grouped bool
	// Locked refuses every change of mode and options.
	Locked bool
	// MCP names an MCP server that the agent pretends to have; empty is none.
	MCP string
	// Replay is a recorded session to speak again instead of the script; nil is none.
	Replay *Recording
	// Stderr takes the agent's log; nil means os.Stderr.
	Stderr io.Writer
	// Exit ends the process for the commands that crash; nil means os.Exit.
	Exit func(code int)
}

// Run serves one client until in ends or ctx does. out gets whole lines.
func Run(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	if o.Exit == nil {
		o.Exit = os.Exit
	}
	a := &agent{
		options: o, archive: archive{dir: o.stateDir()}, login: newLogin(o),
		wire: &wire{out: out}, order: newOrder(in), sessions: map[sdk.SessionId]*session{},
	}
	defer a.close()
	// The SDK reads as soon as it is made, before a.conn is set: its input opens
	// when a.conn is there.
	input := &gate{in: a.order, open: make(chan struct{})}
	a.conn = sdk.NewAgentSideConnection(a, a.wire, input)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	close(input.open)
	select {
	case <-a.conn.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gate is a reader that waits until it is opened.
type gate struct {
	in   io.Reader
	open chan struct{}
}

// Read implements io.Reader.
func (g *gate) Read(p []byte) (int, error) {
	<-g.open
	return g.in.Read(p)
}
