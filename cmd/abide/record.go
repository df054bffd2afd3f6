package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/cli"
	"github.com/abidehub/abide/internal/record"
	"github.com/abidehub/abide/server/wire"
)

func (p *program) recordCommand() *cobra.Command {
	var name, agent string
	var offline bool
	cmd := &cobra.Command{
		Use:   "record [flags] -- COMMAND [ARG...]",
		Short: "Stand between an editor and an ACP agent, and record what they say",
		Long: "Stand between an editor and an ACP agent: every byte passes, and the hub shows what they say as a session. An agent that begins none leaves none.\n\n" +
			"While the hub is away up to 64 MiB of events wait in a file beside the data directory; beyond that the recording stops, never the agent. " +
			"The next recorder, or the hub, hands over what a killed one left. " +
			"Without a hub at the start the exit code is 3, unless --offline is given. Otherwise it is the command's.",
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.record(cmd.Context(), args, name, agent, offline)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the session")
	cmd.Flags().StringVar(&agent, "agent", "", "`NAME` of the agent (default: what it says of itself, else the command's)")
	cmd.Flags().BoolVar(&offline, "offline", false, "record without a hub, and hold the data directory's LOCK")
	p.shell.HubFlags(cmd)
	return cmd
}

func (p *program) record(ctx context.Context, command []string, name, agent string, offline bool) error {
	workspace, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the current directory: %w", err)
	}
	c, err := p.load()
	if err != nil {
		return err
	}
	o := record.Options{
		Command: command, Agent: agent, Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr, Dir: record.Dir(c.Data),
	}
	if offline {
		to, err := record.OpenOffline(c.Data)
		if err != nil {
			return err
		}
		defer to.Close() // nothing was written, or the recording's end has told
		o.Begin = func(ctx context.Context, agent string) (record.Destination, record.Left, error) {
			return to.Begin(ctx, agent, workspace, name)
		}
	} else {
		hub, err := p.shell.Connect(ctx)
		if err != nil {
			return err
		}
		defer hub.Close()
		key := make([]byte, 16)
		rand.Read(key)
		others, cancel := context.WithCancel(ctx)
		var handing sync.WaitGroup
		handing.Go(func() { record.HandOver(others, record.Dir(c.Data), record.ToHub(hub), p.complain) })
		defer func() { cancel(); handing.Wait() }()
		o.Begin = func(ctx context.Context, agent string) (record.Destination, record.Left, error) {
			return record.Through(ctx, hub, wire.NewSession{Agent: agent, Workspace: workspace, Name: name}, hex.EncodeToString(key))
		}
	}
	code, err := record.Run(ctx, o)
	if err == nil && code != 0 {
		return cli.Status(code)
	}
	return err
}

// complain tells on stderr what became of the events of a killed recorder.
func (p *program) complain(format string, args ...any) {
	fmt.Fprintf(p.stderr, "abide record: "+format+"\n", args...)
}
