package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
)

// Commands returns the commands that drive a hub.
func (p *Program) Commands() []*cobra.Command {
	verbs := agentVerbs{p, p.Stdout}
	var list []*cobra.Command
	for group, commands := range map[string][]*cobra.Command{
		GroupLook: {p.screens().sessions(), p.ls(), p.show(), p.tail(), p.search(), p.play(), p.export(), p.comments(), snapshotVerb{p}.command(), p.agents(), verbs.rules(), p.worktrees(), p.trash(), storageVerbs{p, p.Stderr}.command(), p.usage(), p.devices(), p.machineVerbs().machines(), p.health(), verbs.audit(), p.open()},
		GroupDo: {
			p.create(), p.fork(), p.adopt(), p.importFile(), p.prompt(), p.comment(), p.branch(), p.answer(), p.cancel(), p.pause(), p.queue(), p.rename(), p.tag(), p.pin(), p.archive(), p.resumable(), p.end(), p.remove(), p.resume(), p.dismiss(), p.undo(), p.redo(), p.machineVerbs().join(), p.machineVerbs().leave(),
		},
		GroupStay: {p.attach(), p.run(), p.jobVerbs().command(), p.jobVerbs().schedules()},
	} {
		if group == GroupDo {
			commands = append(commands, verbs.commands()...)
		}
		for _, cmd := range commands {
			cmd.GroupID = group
			p.completes(cmd)
			list = append(list, cmd)
		}
	}
	return list
}

func (p *Program) screens() screens {
	return screens{
		onHub: p.onHub, flag: p.colorFlag, connect: p.Connect, style: p.style, in: p.Stdin, out: p.Stdout, environ: p.Environ,
		possible: func() bool { return p.interactive() && p.variable("TERM") != "dumb" },
		root: func() (string, error) {
			if p.hub != "" {
				return "", nil
			}
			return projectRoot()
		},
	}
}

// Alone is `abide` without a command: the sessions at a terminal, else the help.
func (p *Program) Alone(cmd *cobra.Command) error { return p.screens().alone(cmd) }

func (p *Program) jobVerbs() jobVerbs {
	return jobVerbs{
		onHub: p.onHub, flag: p.JSONFlag, asJSON: func() bool { return p.json }, print: p.PrintJSON, table: p.table, words: p.words, placed: p.placed, find: p.find, out: p.Stdout,
	}
}

func (p *Program) machineVerbs() machineVerbs {
	return machineVerbs{
		onHub: p.onHub, flag: p.JSONFlag, asJSON: func() bool { return p.json }, print: p.PrintJSON, table: p.table, notice: p.notice, out: p.Stdout, err: p.Stderr,
	}
}

// onHub makes a command that speaks to a hub.
func (p *Program) onHub(cmd *cobra.Command, body func(ctx context.Context, hub *client.Hub, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		hub, err := p.Connect(cmd.Context())
		if err != nil {
			return err
		}
		defer hub.Close()
		return body(cmd.Context(), hub, args)
	}
	cmd.Example = strings.TrimRight("  "+strings.ReplaceAll(cmd.Example, "\n", "\n  "), " ")
	cmd.Args = Arguments(cmd.Args)
	p.HubFlags(cmd)
	return cmd
}

// onSession makes a command with a session as its first argument.
func (p *Program) onSession(cmd *cobra.Command, body func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error) *cobra.Command {
	cmd.ValidArgsFunction = p.completeSession
	return p.onHub(cmd, func(ctx context.Context, hub *client.Hub, args []string) error {
		s, err := p.find(ctx, hub, args[0])
		if err != nil {
			return err
		}
		return body(ctx, hub, s, args[1:])
	})
}
