package main

import (
	"fmt"
	"strings"

	"github.com/mdp/qrterminal/v3"
	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/localhub"
)

// pairAnswer is the output of `abide pair --json`.
type pairAnswer struct {
	URL string `json:"url"`
	// URLs are all links that code opens: URL, and those by the other names.
	URLs             []string `json:"urls"`
	ExpiresInSeconds int      `json:"expires_in_seconds"`
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
	if err := localhub.NotAnAgent(); err != nil {
		return err
	}
	dir, err := p.existing()
	if err != nil {
		return err
	}
	c, err := p.load()
	if err != nil {
		return err
	}
	base, err := localhub.Address(dir)
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
	if err := localhub.Granted(dir, audit.PairingLink, auth.Grant{}); err != nil {
		return err
	}
	links := pairLinks(base, c.PublicNames, code)
	if p.json {
		return p.printJSON(pairAnswer{URL: links[0], URLs: links, ExpiresInSeconds: int(auth.PairingLife.Seconds())})
	}
	qrterminal.GenerateHalfBlock(links[0], qrterminal.L, p.stdout)
	_, err = fmt.Fprintf(p.stdout, "%s\nsingle-use link, valid for %d minutes\n", strings.Join(links, "\n"), int(auth.PairingLife.Minutes()))
	if err == nil && len(links) == 1 {
		_, err = fmt.Fprintln(p.stdout, elsewhere)
	}
	return err
}

// elsewhere is the hint where the only link works on this machine alone.
const elsewhere = "works on this machine only; for a phone, set up a tunnel (docs/access.md)"

// pairLinks are the links that spend a code, by each public name first, with https,
// as the proxy in front of the hub speaks it. The last is this machine's own.
func pairLinks(base string, public []string, code string) []string {
	var links []string
	for _, name := range public {
		links = append(links, pairLink("https://"+name, code))
	}
	return append(links, pairLink(base, code))
}

// pairLink carries the code in the fragment, which no browser sends anywhere.
func pairLink(base, code string) string { return base + "/#pair=" + code }
