package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/demoagent"
)

func (p *program) demoAgentCommand() *cobra.Command {
	o := demoagent.Options{Version: versionText(), Stderr: p.stderr}
	cmd := &cobra.Command{
		Use:   "demo-agent",
		Short: "Be the built-in ACP agent, over stdin and stdout",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Speed < 0 {
				return usagef("--speed is 0 or more")
			}
			err := demoagent.Run(cmd.Context(), p.stdin, p.stdout, o)
			if errors.Is(err, context.Canceled) {
				return nil // told to end
			}
			return err
		},
	}
	cmd.Flags().Float64Var(&o.Speed, "speed", 1, "divide every pause by `F`; 0 pauses nowhere")
	cmd.Flags().Int64Var(&o.Seed, "seed", 1, "makes the session ids")
	cmd.Flags().StringVar(&o.StateDir, "state", "", "keep sessions in `DIR` (default: the user's state directory)")
	return cmd
}
