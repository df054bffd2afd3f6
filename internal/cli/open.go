package cli

import (
	"context"
	"fmt"

	"github.com/mdp/qrterminal/v3"
	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
)

// page is the output of open --json.
type page struct {
	URL string `json:"url"`
}

func (p *Program) open() *cobra.Command {
	var qr bool
	cmd := p.onSession(&cobra.Command{
		Use:   "open ID",
		Short: "Open a session in the browser, and print its address",
		Long: "Open a session in the browser, and print its address. A browser that is not paired asks for the link that\n" +
			"`abide pair` prints. With --qr a phone opens it, by the first of public_names.",
		Example: "abide open -\nabide open - --qr",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		address, err := hub.OpenedBy(ctx, s.SessionID)
		if err != nil {
			return err
		}
		if names := p.PublicNames(); qr && p.hub == "" && len(names) > 0 {
			address = "https://" + names[0] + "/s/" + s.SessionID
		} else if qr && p.hub == "" {
			p.notice("this address is this machine's own; a phone needs a tunnel, or a name in public_names")
		}
		if p.json {
			return p.PrintJSON(page{URL: address})
		}
		if qr {
			qrterminal.GenerateHalfBlock(address, qrterminal.L, p.Stdout)
		}
		if _, err := fmt.Fprintln(p.Stdout, address); err != nil || qr {
			return err
		}
		return p.Browse(ctx, address)
	})
	cmd.Flags().BoolVar(&qr, "qr", false, "print a QR code for a phone instead of opening the browser here")
	p.JSONFlag(cmd)
	return cmd
}
