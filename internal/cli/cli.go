// Package cli holds the commands that drive a hub from a shell.
//
// Each is an observer like any other: it speaks to the hub by client and
// reads no file of a session. A Program is shared by all of them: the streams, the
// way to the hub, and the meaning of exit codes.
package cli

import (
	"context"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/server/wire"
)

// The groups of commands in `abide --help`.
const (
	GroupLook = "look"
	GroupDo   = "do"
	GroupStay = "stay"
	GroupHub  = "hub"
)

// Groups are the groups in the order of the help.
func Groups() []*cobra.Group {
	return []*cobra.Group{
		{ID: GroupLook, Title: "Look at sessions:"},
		{ID: GroupDo, Title: "Act on sessions:"},
		{ID: GroupStay, Title: "Stay with a session:"},
		{ID: GroupHub, Title: "Run and care for a hub:"},
	}
}

// Env is where a command runs.
type Env struct {
	Environ        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Data returns the data directory that flags and configuration name.
	Data func() (string, error)
	// PublicNames are the names by which other machines reach the hub.
	PublicNames func() []string
	// Agents returns the agents where no hub runs.
	Agents func() (wire.Agents, wire.AgentSetup, error)
	// Browse opens an address in the person's browser.
	Browse func(ctx context.Context, address string) error
}

// Program is the environment of every command.
type Program struct {
	Env
	hub     string // --hub
	file    string // --token-file
	json    bool   // --json
	color   string // --color
	reading sync.Once
	typed   chan line // see lines
}

// New returns the commands' common part.
func New(env Env) *Program { return &Program{Env: env} }

// HubFlags adds the flags that say which hub a command speaks to; see Connect.
func (p *Program) HubFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.hub, "hub", "", "speak to the hub at `URL` instead of the one on the data directory; the token comes from ABIDE_TOKEN or --token-file")
	cmd.Flags().StringVar(&p.file, "token-file", "", "read the token from `FILE`, which only you may read (0600)")
}

// JSONFlag adds --json.
func (p *Program) JSONFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.json, "json", false, "print JSON")
}

// PrintJSON prints a value as JSON, see WriteJSON.
func (p *Program) PrintJSON(value any) error { return WriteJSON(p.Stdout, value) }

func (p *Program) asJSON() bool { return p.json }
