package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/cli"
	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/localhub"
)

func allowCommand(load func(config.Flags) (config.Loader, error), out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "allow FOLDER",
		Short: "Let sessions run in a folder and below; a running hub applies it at once",
		Args:  cli.Arguments(cobra.ExactArgs(1)),
		RunE:  func(_ *cobra.Command, args []string) error { return allow(load, out, args[0]) },
	}
}

func allow(load func(config.Flags) (config.Loader, error), out io.Writer, folder string) error {
	if err := localhub.NotAnAgent(); err != nil {
		return err
	}
	loader, err := load(config.Flags{})
	if err != nil {
		return err
	}
	c, err := loader.Load()
	if err != nil {
		return err
	}
	_, real, err := loader.Allow(folder, ownFiles(loader, c))
	if err != nil {
		return editFailed(out, err)
	}
	if err := localhub.Record(c.Data, audit.Record{Verb: audit.FolderAllowed, Detail: real}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "sessions may run in %s and below (%s)\n", loader.Shown(real), loader.Shown(loader.Path))
	return err
}

// editFailed prints the lines to add by hand where the configuration was not changed.
func editFailed(out io.Writer, err error) error {
	var edit *config.EditError
	if errors.As(err, &edit) {
		fmt.Fprint(out, edit.Lines)
	}
	return err
}
