package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/store"
)

// errNotOpened means that a session still cannot be opened after the repair; the
// reason was printed.
var errNotOpened = errors.New("a session cannot be opened; a person must repair the problems above")

// errStays means that problems remain that cannot be repaired; they were printed.
var errStays = errors.New("every session can be opened; the remaining problems cannot be repaired; docs/storage.md explains each kind")

func (p *program) repairCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair [ID]",
		Short: "Repair the data directory, or one session of it, while no hub runs",
		Long: "Applies the rules of recovery, prints what it did and what stays as it is. Nothing is thrown away:\n" +
			"bytes that are not an event are moved to the session's quarantine directory.\n\n" +
			"Exit codes as for check: 0 when all is sound, 1 when anything is left, such as events that\n" +
			"are lost; 3 when there is no such session or directory, 4 while a hub runs.",
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
	if id, err = wholeID(dir, id); err != nil {
		return err
	}
	report, unended := store.Repair(ctx, dir, id, store.Options{}, waitingPrompts())
	if unended != nil && report.Sessions == 0 {
		return unended
	}
	if !p.json {
		for _, action := range report.Actions {
			if _, err := fmt.Fprintf(p.stdout, "%s: repair: %s\n", plain.Line(cmp.Or(action.Session, "the data directory")), plain.Line(action.Did)); err != nil {
				return err
			}
		}
	}
	failed := len(report.Problems)
	if err := addStaying(ctx, dir, id, &report); err != nil {
		return err
	}
	verdict := counted(len(report.Actions), "repair")
	if n := len(report.Problems); n > 0 {
		verdict += ", " + counted(n, "problem") + " left that cannot be repaired"
	}
	if err := p.printReport(report, verdict); err != nil {
		return err
	}
	switch {
	case unended != nil:
		return unended // the repairs hold, but the directory is still marked as not closed cleanly
	case failed > 0:
		return errNotOpened
	case len(report.Problems) > 0:
		return errStays
	}
	return nil
}

// addStaying adds the problems that a check still finds to the failed openings.
func addStaying(ctx context.Context, dir, id string, report *store.Report) error {
	broken := map[string]bool{}
	for _, problem := range report.Problems {
		broken[problem.Session] = true
	}
	left, err := store.Check(ctx, dir, id, waitingPrompts())
	if err != nil {
		return err
	}
	for _, problem := range left.Problems {
		if problem.Session == "" || !broken[problem.Session] {
			report.Problems = append(report.Problems, problem)
		}
	}
	return nil
}
