package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/session/store"
)

func (p *program) repairCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair [ID]",
		Short: "Repair the data directory, or one session of it, while no hub runs",
		Long: "Applies the rules of recovery and prints what it did. Nothing is thrown away: bytes that\n" +
			"are no event are moved to the session's quarantine directory.",
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return p.repair(cmd.Context(), id)
		},
	}
	p.jsonFlag(cmd)
	return cmd
}

func (p *program) repair(ctx context.Context, id string) error {
	dir, err := p.existing()
	if err != nil {
		return err
	}
	report, err := store.Repair(ctx, dir, id, store.Options{})
	if err != nil {
		return err
	}
	if !p.json {
		for _, action := range report.Actions {
			if _, err := fmt.Fprintf(p.stdout, "%s: %s\n", action.Session, action.Did); err != nil {
				return err
			}
		}
	}
	return p.printReport(report)
}

// printReport says what a check or a repair left to say, and turns problems into
// an error.
func (p *program) printReport(report store.Report) error {
	if p.json {
		if err := p.printJSON(report); err != nil {
			return err
		}
	} else {
		for _, problem := range report.Problems {
			if _, err := fmt.Fprintln(p.stdout, problem); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(p.stdout, "%d sessions, %d events, %d problems\n", report.Sessions, report.Events, len(report.Problems)); err != nil {
			return err
		}
	}
	if !report.OK() {
		return errProblems
	}
	return nil
}
