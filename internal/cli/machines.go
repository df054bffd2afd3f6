package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// machineVerbs are the commands about other computers.
type machineVerbs struct {
	onHub    func(*cobra.Command, func(context.Context, *client.Hub, []string) error) *cobra.Command
	flag     func(*cobra.Command)
	asJSON   func() bool
	print    func(any) error
	table    func([][]string) error
	notice   func(format string, args ...any)
	out, err io.Writer
}

// orJSON prints a result as JSON, if that is asked for.
func (v machineVerbs) orJSON(result any, err error) error {
	if err != nil {
		return err
	}
	return v.print(result)
}

func (v machineVerbs) join() *cobra.Command {
	var in wire.NewHome
	cmd := v.onHub(&cobra.Command{
		Use: "join [LINK]", Short: "Let another hub list the sessions of this one",
		Long: "Join another hub, the home of this machine: its list has this machine's sessions from then on, and its owner may do here what --allow says. " +
			"LINK is what `abide machines add` prints at home; it is good once, for ten minutes. The machine dials out, so it needs no port and no name of its own.\n\n" +
			"Without LINK, change what home may do here.",
		Example: "abide join 'https://home.example.ts.net/#join=…'\nabide join LINK --name 'build box' --allow manage\nabide join --allow read",
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		if len(args) == 1 {
			in.Link = args[0]
		} else if in.Allow == "" {
			return Usagef("LINK is missing: `abide machines add` prints one at home; or say --allow to change what home may do here")
		}
		home, err := hub.JoinHome(ctx, in)
		if err != nil || v.asJSON() {
			return v.orJSON(home, err)
		}
		if in.Link == "" {
			v.notice("home may %s here", mayWords(home.Allow))
			return nil
		}
		v.notice("joined %s as “%s”. Home may %s here", plain.Line(home.URL), plain.Line(home.Name), mayWords(home.Allow))
		return nil
	})
	cmd.Flags().StringVar(&in.Name, "name", "", "what the machine is called at home (default: the computer's name)")
	cmd.Flags().StringVar(&in.Allow, "allow", "", "what home may do here: read, act (prompt, answer, cancel; the default), or manage (also start and delete sessions)")
	cmd.Flags().StringVar(&in.CA, "ca", "", "a file with certificates that home's may be signed by, beside the system's")
	v.flag(cmd)
	return cmd
}

// mayWords says what an allowance allows.
func mayWords(allow string) string {
	switch allow {
	case "read":
		return "read sessions"
	case "manage":
		return "read, prompt, start and delete sessions"
	}
	return "read and prompt sessions"
}

func (v machineVerbs) leave() *cobra.Command {
	cmd := v.onHub(&cobra.Command{
		Use: "leave", Short: "Leave home: it can do nothing here any more",
		Example: "abide leave",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, hub *client.Hub, _ []string) error {
		before, err := hub.Machines(ctx)
		if err != nil {
			return err
		}
		if err := hub.LeaveHome(ctx); err != nil {
			return err
		}
		if before.Home != nil && before.Home.State != "connected" {
			v.notice("left home, which cannot be told now; there, `abide machines forget` takes this machine out of the list")
			return nil
		}
		v.notice("left home, which forgets this machine")
		return nil
	})
	return cmd
}

func (v machineVerbs) machines() *cobra.Command {
	cmd := v.onHub(&cobra.Command{
		Use: "machines [add|rename NAME NEW|forget NAME]", Short: "List the machines that joined this hub, add, rename or forget one",
		Long: "List the machines that joined this hub, whose sessions are in its list: name, whether it is connected, what it allows, its sessions and its version. " +
			"With add, print a link with which one machine joins. With forget, end a machine's access; its sessions stay there as they are. NAME may be an id.",
		Example: "abide machines\nabide machines add\nabide machines rename laptop 'my laptop'\nabide machines forget laptop",
		Args: func(_ *cobra.Command, args []string) error {
			word := "ls"
			if len(args) > 0 {
				word = args[0]
			}
			if most, known := map[string]int{"ls": 1, "add": 1, "rename": 3, "forget": 2}[word]; known && (len(args) == most || len(args) == 0) {
				return nil
			}
			return fmt.Errorf("machines takes nothing, add, rename and two names, or forget and a name")
		},
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		if len(args) > 0 && args[0] == "add" {
			return v.add(ctx, hub)
		}
		all, err := hub.Machines(ctx)
		if err != nil {
			return err
		}
		if len(args) < 2 {
			return v.list(all)
		}
		one, err := machineNamed(all.Machines, args[1])
		if err != nil {
			return err
		}
		if args[0] == "forget" {
			if err := hub.ForgetMachine(ctx, one.ID); err != nil {
				return err
			}
			v.notice("forgot “%s”: its sessions stay there as they are", plain.Line(one.Name))
			return nil
		}
		renamed, err := hub.RenameMachine(ctx, one.ID, args[2])
		if err != nil || v.asJSON() {
			return v.orJSON(renamed, err)
		}
		v.notice("“%s” is now “%s”", plain.Line(one.Name), plain.Line(renamed.Name))
		return nil
	})
	v.flag(cmd)
	return cmd
}

func (v machineVerbs) add(ctx context.Context, hub *client.Hub) error {
	link, err := hub.MachineLink(ctx)
	if err != nil || v.asJSON() {
		return v.orJSON(link, err)
	}
	fmt.Fprintln(v.out, link.URL)
	v.notice("on the other computer, within %d minutes: abide join '%s'", link.ExpiresIn/60, link.URL)
	if link.Loopback {
		v.notice("this link works on this computer only: give this hub a name that others reach (abide pair NAME), and add the machine again")
	}
	return nil
}

func (v machineVerbs) list(all wire.Machines) error {
	if v.asJSON() {
		return v.print(all)
	}
	if h := all.Home; h != nil {
		words := h.State
		if h.Problem != "" {
			words += " (" + plain.Line(h.Problem) + ")"
		}
		fmt.Fprintf(v.err, "This hub is “%s” of %s: %s. Home may %s here.\n", plain.Line(h.Name), plain.Line(h.URL), words, mayWords(h.Allow))
	}
	if len(all.Machines) == 0 && all.Home == nil {
		fmt.Fprintln(v.err, "No machine has joined: abide machines add")
	}
	var rows [][]string
	for _, m := range all.Machines {
		words := m.State
		if m.Since != nil {
			words += " since " + m.Since.Local().Format(time.DateTime)
		}
		if m.Problem != "" {
			fmt.Fprintf(v.err, "“%s”: %s.\n", plain.Line(m.Name), plain.Line(m.Problem))
		}
		rows = append(rows, []string{plain.Line(m.Name), words, m.Allow, counted(m.Sessions, "session"), plain.Line(m.Version), m.ID})
	}
	return v.table(rows)
}
