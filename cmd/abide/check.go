package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/session/store"
)

// errProblems says that a check found something; it was printed.
var errProblems = errors.New("the data directory has problems; docs/storage.md says what each means")

func (p *program) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [ID]",
		Short: "Verify the data directory, or one session of it; changes nothing",
		Args:  arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return p.check(cmd.Context(), id)
		},
	}
	p.jsonFlag(cmd)
	return cmd
}

func (p *program) check(ctx context.Context, id string) error {
	dir, err := p.existing()
	if err != nil {
		return err
	}
	report, err := store.Check(ctx, dir, id)
	if err != nil {
		return err
	}
	return p.printReport(report)
}
