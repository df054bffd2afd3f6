package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/abidehub/abide/internal/demoagent"
)

func (p *program) demoAgentCommand() *cobra.Command {
	o := demoagent.Options{Stderr: p.stderr}
	replay := ""
	cmd := &cobra.Command{
		Use:       "demo-agent [login|logout]",
		Short:     "Run the built-in demo agent over stdin and stdout",
		Long:      "Run the built-in demo agent over stdin and stdout.\n\nlogin and logout are for an agent that runs with --login.",
		ValidArgs: []string{"login", "logout"},
		Args:      arguments(cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Speed < 0 {
				return usagef("--speed is 0 or more")
			}
			if o.Mode != "" && o.Mode != "ask" && o.Mode != "auto" {
				return usagef("--mode is ask or auto")
			}
			if o.Model != "" && o.Model != "steady" && o.Model != "hasty" {
				return usagef("--model is steady or hasty")
			}
			if len(args) > 0 {
				return p.demoLogin(args[0], o)
			}
			if replay != "" {
				recording, err := readRecording(replay)
				if err != nil {
					return err
				}
				o.Replay = recording
			}
			err := demoagent.Run(cmd.Context(), p.stdin, p.stdout, o)
			if errors.Is(err, context.Canceled) {
				return nil // told to end
			}
			return err
		},
	}
	cmd.Flags().Float64Var(&o.Speed, "speed", 1, "divide every pause by `F`; 0 pauses nowhere")
	cmd.Flags().StringVar(&replay, "replay", "", "speak the session in `FILE` again, turn by turn; abide export writes it as jsonl")
	cmd.Flags().Int64Var(&o.Seed, "seed", 1, "seed for session ids")
	cmd.Flags().StringVar(&o.StateDir, "state", "", "keep sessions in `DIR` (default: the user's state directory)")
	cmd.Flags().BoolVar(&o.Login, "login", false, "require a login")
	cmd.Flags().StringVar(&o.Mode, "mode", "", "begin and come back in mode `M`, ask or auto (default ask)")
	cmd.Flags().StringVar(&o.Model, "model", "", "begin and come back with model `M`, steady or hasty (default steady)")
	cmd.Flags().BoolVar(&o.Verbose, "verbose", false, "begin and come back with the option verbose on")
	cmd.Flags().BoolVar(&o.ModeOption, "mode-option", false, "offer the modes as an option, too")
	cmd.Flags().BoolVar(&o.Grouped, "grouped", false, "offer the models in groups")
	cmd.Flags().BoolVar(&o.Locked, "locked", false, "refuse every change of mode and options")
	cmd.Flags().StringVar(&o.Version, "version", versionText(), "call itself version `V`")
	cmd.Flags().StringVar(&o.MCP, "mcp", "", "have an MCP server of this `NAME`, for /mcp")
	return cmd
}

func readRecording(name string) (*demoagent.Recording, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return demoagent.ReadRecording(file)
}

// demoLogin is the login command that a person runs in a terminal.
func (p *program) demoLogin(verb string, o demoagent.Options) error {
	act, done := demoagent.LogIn, "logged in"
	if verb == "logout" {
		act, done = demoagent.LogOut, "logged out"
	}
	if terminal, ok := p.stdin.(*os.File); ok && verb == "login" && term.IsTerminal(int(terminal.Fd())) {
		fmt.Fprint(p.stdout, "Visit https://example.com/device and enter the code that it shows (any will do).\nCode: ")
		code, err := bufio.NewReader(terminal).ReadString('\n')
		if err != nil || strings.TrimSpace(code) == "" {
			return errors.New("no code was entered")
		}
	}
	if err := act(o); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.stdout, done)
	return err
}
