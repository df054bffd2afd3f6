package main

import (
	"fmt"

	"github.com/mdp/qrterminal/v3"
	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/auth"
)

// pairAnswer is what `abide pair --json` prints.
type pairAnswer struct {
	URL              string `json:"url"`
	ExpiresInSeconds int    `json:"expires_in_seconds"`
}

func (p *program) pairCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pair",
		Short: "Print a fresh pairing link and its QR code",
		Args:  arguments(cobra.NoArgs),
		RunE:  func(*cobra.Command, []string) error { return p.pair() },
	}
	p.jsonFlag(cmd)
	return cmd
}

func (p *program) pair() error {
	dir, err := p.existing()
	if err != nil {
		return err
	}
	base, err := runningHub(dir)
	if err != nil {
		return err
	}
	registry, err := auth.Open(dir, nil, nil)
	if err != nil {
		return err
	}
	code, err := registry.MintPairingCode()
	if err != nil {
		return err
	}
	link := pairLink(base, code)
	if p.json {
		return p.printJSON(pairAnswer{URL: link, ExpiresInSeconds: int(auth.PairingLife.Seconds())})
	}
	qrterminal.GenerateHalfBlock(link, qrterminal.L, p.stdout)
	_, err = fmt.Fprintf(p.stdout, "%s\nopens once, within %d minutes\n", link, int(auth.PairingLife.Minutes()))
	return err
}

// pairLink carries the code in the fragment, which no browser sends anywhere.
func pairLink(base, code string) string { return base + "/#pair=" + code }
