package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/store"
)

// errProblems says that a check found something; it was printed.
var errProblems = errors.New("the data directory has problems; docs/storage.md explains each kind")

func (p *program) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [ID]",
		Short: "Verify the data directory, or one session of it; changes nothing",
		Long: "Prints one line per problem: location, kind and description.\n\n" +
			"Exits with 0 when all is sound, 1 on any problem, 3 when there is no such session or directory.",
		Args: arguments(cobra.MaximumNArgs(1)),
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

// waitingPrompts are the file of a session that is the queue's.
func waitingPrompts() store.Beside {
	return store.Beside{
		File:   queue.FileName,
		Check:  func(dir string) (bool, error) { return queue.Check(disk.Folder{Dir: dir}) },
		Repair: func(dir string) (string, error) { return queue.Repair(disk.Folder{Dir: dir}) },
	}
}

func (p *program) check(ctx context.Context, id string) error {
	dir, err := p.existing()
	if err != nil {
		return err
	}
	if id, err = wholeID(dir, id); err != nil {
		return err
	}
	report, err := store.Check(ctx, dir, id, waitingPrompts())
	if err != nil {
		return err
	}
	verdict := "all sound"
	if n := len(report.Problems); n > 0 {
		verdict = fmt.Sprintf("%s; `abide repair` can repair %d, and the rest is skipped when read", counted(n, "problem"), repairable(report.Problems))
	}
	if err := p.printReport(report, verdict); err != nil {
		return err
	}
	if !report.OK() {
		return errProblems
	}
	return nil
}
