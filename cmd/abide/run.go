package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/store"
)

// Exit codes, the same for every command.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitNotFound = 3
	exitRefused  = 4 // by scope, lock or policy
)

// usageError says that the command line is wrong.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// program is what every command has to work with.
type program struct {
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer

	configFile string
	data       string
	json       bool
}

// run is the whole program. It returns the exit code, so a test can run it.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "abide: %s\n", strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; "))
	return exitCode(err)
}

func exitCode(err error) int {
	var usage usageError
	var locked *store.LockedError
	switch {
	case errors.As(err, &locked), errors.Is(err, config.ErrRefused), errors.Is(err, session.ErrForbidden):
		return exitRefused
	case errors.As(err, &usage), errors.Is(err, auth.ErrInvalid), errors.Is(err, store.ErrInvalidID), badFlag(err):
		return exitUsage
	case errors.Is(err, store.ErrNotFound), errors.Is(err, session.ErrNotFound), errors.Is(err, errNoData):
		return exitNotFound
	}
	return exitFailed
}

// badFlag reports a value on the command line that cannot be.
func badFlag(err error) bool {
	var wrong *config.Error
	return errors.As(err, &wrong) && strings.HasPrefix(wrong.File, "--")
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "abide",
		Short: "Keeps coding agents at work and lets any screen join in",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q (`abide --help` lists them)", args[0])
			}
			return nil
		},
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionText(),
	}
	root.SetVersionTemplate("abide {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w (`%s --help` says what it takes)", err, cmd.CommandPath())
	})
	root.PersistentFlags().StringVar(&p.configFile, "config", "", "configuration `FILE` (default ~/.config/abide/config.yaml)")
	root.PersistentFlags().StringVar(&p.data, "data", "", "data `DIR`ectory (default ~/.local/share/abide)")
	root.AddCommand(p.serveCommand(), p.tokenCommand(), p.pairCommand(), p.demoAgentCommand(), p.checkCommand(), p.repairCommand(), p.versionCommand())
	return root
}

// arguments checks the number of arguments as a usage error.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%w (`%s --help` says what it takes)", err, cmd.CommandPath())
		}
		return nil
	}
}

func (p *program) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.json, "json", false, "print JSON")
}

// loader knows where this command's configuration comes from.
func (p *program) loader(flags config.Flags) (config.Loader, error) {
	dir, err := os.Getwd()
	if err != nil {
		return config.Loader{}, fmt.Errorf("finding the current directory: %w", err)
	}
	if p.data != "" {
		flags.Data = &p.data
	}
	return config.NewLoader(p.configFile, flags, p.env, dir)
}

func (p *program) load() (config.Config, error) {
	l, err := p.loader(config.Flags{})
	if err != nil {
		return config.Config{}, err
	}
	return l.Load()
}

// errNoData says that no hub ever ran on this data directory.
var errNoData = errors.New("no hub has run here yet")

// existing returns the data directory of commands that work on what a hub made.
func (p *program) existing() (string, error) {
	c, err := p.load()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(c.Data); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s does not exist; `abide serve` makes it, --data names another", errNoData, c.Data)
	} else if err != nil {
		return "", fmt.Errorf("looking at the data directory: %w", err)
	}
	return c.Data, nil
}
