package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mdp/qrterminal/v3"
	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/config"
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
		Use:   "pair [NAME]",
		Short: "Print a fresh pairing link and its QR code",
		Long:  "Print a fresh pairing link and its QR code. NAME is the host name of a tunnel or proxy in front of the hub, as tailscale prints it: it is added to public_names, and the link uses it.",
		Args:  arguments(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return p.pair("")
			}
			return p.pair(args[0])
		},
	}
	p.jsonFlag(cmd)
	return cmd
}

func (p *program) pair(name string) error {
	if err := localhub.NotAnAgent(); err != nil {
		return err
	}
	dir, err := p.existing()
	if err != nil {
		return err
	}
	base, err := localhub.Address(dir)
	if err != nil {
		return err
	}
	names, err := p.names(dir, name)
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
	links := pairLinks(base, names, code)
	if p.json {
		return p.printJSON(pairAnswer{URL: links[0], URLs: links, ExpiresInSeconds: int(auth.PairingLife.Seconds())})
	}
	qrterminal.GenerateHalfBlock(links[0], qrterminal.L, p.stdout)
	_, err = fmt.Fprintf(p.stdout, "%s\nsingle-use link, valid for %d minutes\n", strings.Join(links, "\n"), int(auth.PairingLife.Minutes()))
	if err == nil && len(links) == 1 {
		_, err = fmt.Fprintf(p.stdout, elsewhere, base[strings.LastIndex(base, ":")+1:], called())
	}
	return err
}

// elsewhere says what to do where the only link works on this machine alone.
const elsewhere = `This link works on this machine only. For a phone:
  tailscale serve --bg %s    # or another https proxy to that port
  %s pair NAME               # NAME is the host name that it prints
`

// names are the public names; one that was given is added to them, and comes first.
func (p *program) names(dir, name string) ([]string, error) {
	loader, err := p.loader(config.Flags{})
	if err != nil {
		return nil, err
	}
	c, err := loader.Load()
	if err != nil || name == "" {
		return c.PublicNames, err
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "https://"), "/"))
	if slices.Contains(c.PublicNames, name) {
		return first(c.PublicNames, name), nil
	}
	if c, err = loader.AddPublicName(name); err != nil {
		return nil, editFailed(p.stdout, err)
	}
	return first(c.PublicNames, name), localhub.Record(dir, audit.Record{Verb: audit.NameAdded, Detail: name})
}

// first returns the names with one of them in front.
func first(names []string, name string) []string {
	return append([]string{name}, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })...)
}

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
