package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/abidehub/abide/internal/agentsetup"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/cli"
	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/localhub"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

func usagef(format string, args ...any) error { return cli.Usagef(format, args...) }

// program is the environment of every command.
type program struct {
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer

	configFile string
	data       string
	json       bool
	// shell is shared by the commands that speak to a hub.
	shell *cli.Program
}

// run is the whole program. It returns the exit code, so a test can run it.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := newProgram(env, stdin, stdout, stderr)
	root := p.root()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		unquote(root)
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return cli.ExitDone
	}
	if ctx.Err() != nil && errors.As(err, new(*url.Error)) {
		err = fmt.Errorf("%w: %w", context.Canceled, err) // its cause is the signal
	}
	if status := cli.Status(0); !errors.As(err, &status) {
		fmt.Fprintf(stderr, "abide: %s\n", plain.Line(strings.ReplaceAll(strings.TrimSpace(cli.Words(err)), "\n", "; ")))
	}
	return exitCode(err)
}

// unquote takes the marks of names out of the descriptions that a completion shows.
func unquote(cmd *cobra.Command) {
	cmd.Short = strings.ReplaceAll(cmd.Short, "`", "")
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") })
	}
	for _, one := range cmd.Commands() {
		unquote(one)
	}
}

func newProgram(env []string, stdin io.Reader, stdout, stderr io.Writer) *program {
	p := &program{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	p.shell = cli.New(cli.Env{
		Environ: env, Stdin: stdin, Stdout: stdout, Stderr: stderr, Data: p.existing, PublicNames: p.publicNames, Agents: p.agents().here,
		Browse: func(ctx context.Context, address string) error { return browse(ctx, env, address) },
	})
	return p
}

func (p *program) agents() *agentShell {
	return &agentShell{load: p.loader, stdin: p.stdin, stdout: p.stdout, stderr: p.stderr, version: versionText()}
}

func (p *program) publicNames() []string {
	c, err := p.load()
	if err != nil {
		return nil
	}
	return c.PublicNames
}

func exitCode(err error) int {
	if code, known := cli.ExitCode(err); known {
		return code
	}
	var locked *store.LockedError
	var unfit *config.UnfitError
	var missing *agentsetup.NotInstalledError
	var wrong *config.Error
	switch {
	case errors.As(err, &missing):
		return cli.ExitNotFound
	case errors.As(err, &unfit):
		return cli.ExitRefused
	case errors.As(err, &locked), errors.Is(err, config.ErrRefused), errors.Is(err, state.ErrForbidden), errors.Is(err, localhub.ErrAgent):
		return cli.ExitRefused
	case errors.Is(err, auth.ErrInvalid), errors.Is(err, journal.ErrInvalidID), errors.As(err, &wrong):
		return cli.ExitUsage
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, state.ErrNotFound), errors.Is(err, errNoData), errors.Is(err, fs.ErrNotExist):
		return cli.ExitNotFound
	}
	return cli.ExitFailed
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "abide",
		Short: "Run coding agents and follow them from any device",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Known(cmd, args[0])
			}
			return nil
		},
		RunE:          func(cmd *cobra.Command, _ []string) error { return p.shell.Alone(cmd) },
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionText(),
	}
	root.SetVersionTemplate("abide {{.Version}}\n")
	root.SetFlagErrorFunc(cli.FlagError)
	root.PersistentFlags().StringVar(&p.configFile, "config", "", "configuration `FILE` (default ~/.config/abide/config.yaml)")
	root.PersistentFlags().StringVar(&p.data, "data", "", "data `DIR`ectory (default ~/.local/share/abide)")
	root.AddGroup(cli.Groups()...)
	for _, cmd := range []*cobra.Command{
		p.serveCommand(), allowCommand(p.loader, p.stdout), p.pairCommand(), p.tokenCommand(), p.checkCommand(), p.repairCommand(), p.recordCommand(), p.doctorCommand(), p.demoAgentCommand(),
	} {
		cmd.GroupID = cli.GroupHub
		root.AddCommand(cmd)
	}
	for _, cmd := range p.shell.Commands() {
		root.AddCommand(cmd)
		if cmd.Name() == "agents" {
			cmd.AddCommand(p.agents().commands()...)
		}
	}
	root.AddCommand(p.versionCommand(), cli.ExitTopic())
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			switch {
			case err != nil:
				return cli.Known(root, strings.Join(args, " "))
			case len(rest) > 0:
				return cli.Known(found, rest[0])
			}
			return nil
		}
	}
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args = cli.Arguments(cobra.NoArgs)
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	return root
}

func arguments(check cobra.PositionalArgs) cobra.PositionalArgs { return cli.Arguments(check) }

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
var errNoData error = noData{}

type noData struct{}

// Error implements error.
func (noData) Error() string { return "no data directory" }

// Is implements the interface of package errors: without a data directory no hub runs.
func (noData) Is(target error) bool { return target == localhub.ErrNoHub }

// existing returns the data directory for commands that need one made by a hub.
func (p *program) existing() (string, error) {
	l, err := p.loader(config.Flags{})
	if err != nil {
		return "", err
	}
	data, err := l.DataDir()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(data); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w at %s; run `abide serve` or pass --data", errNoData, data)
	} else if err != nil {
		return "", fmt.Errorf("looking at the data directory: %w", err)
	}
	return data, nil
}
