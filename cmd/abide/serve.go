package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/localhub"
	"github.com/abidehub/abide/session/store"
)

func (p *program) serveCommand() *cobra.Command {
	var addr string
	var open bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the hub; sessions may run in this folder and in those allowed",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var flags config.Flags
			if cmd.Flags().Changed("addr") {
				flags.Addr = &addr
			}
			if cmd.Flags().Changed("open") {
				flags.Open = &open
			}
			return p.serve(cmd.Context(), flags)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", config.DefaultAddr, "listen on `HOST:PORT`, loopback only; port 0 picks a free one")
	cmd.Flags().BoolVar(&open, "open", true, "open the browser")
	return cmd
}

// serve runs a hub until ctx ends.
func (p *program) serve(ctx context.Context, flags config.Flags) (err error) {
	// A hub outlives the reader of its output: without this, SIGPIPE would end it. The
	// signal is not ignored, because agents would inherit that.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	undumpable := becomeUndumpable()
	loader, err := p.loader(flags)
	if err != nil {
		return err
	}
	c, err := loader.Load()
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(p.stderr, nil))
	if undumpable != nil {
		logger.Warn("agents may read the hub's environment", "err", undumpable)
	}
	if literal, open, err := literalSecrets(loader.Path); err == nil && open && len(literal) > 0 {
		logger.Warn("others may read "+loader.Path+", which holds secrets: chmod 600, or name variables", "secrets", literal)
	}
	warnOf(logger, c)
	h, err := buildHub(ctx, loader, c, logger)
	if locked := (*store.LockedError)(nil); errors.As(err, &locked) {
		if base, none := localhub.Address(locked.Dir); none == nil {
			return fmt.Errorf("%w: it listens on %s; `abide open -` opens its newest session in the browser, `abide pair` prints a link", err, base)
		}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	link := h.base
	printed, err := h.pairingCode()
	switch {
	case err == nil:
		link = pairLink(h.base, printed)
	case errors.Is(err, auth.ErrNoSpace):
		logger.Warn("no space for a pairing code: only paired browsers can connect; free space and run `abide pair` for others", "err", err)
	default:
		return err
	}
	words := fmt.Sprintf("listening on %s\nopen %s\n", h.base, link)
	if printed != "" {
		links := pairLinks(h.base, c.PublicNames, printed)
		for _, link := range links[:len(links)-1] {
			words += "or " + link + "\n"
		}
		words += fmt.Sprintf("single-use link, valid for %d minutes; for a phone, or another link: %s pair\n", int(auth.PairingLife.Minutes()), called())
	}
	words += h.folder.told(loader, h.settings(c).Workspaces) + "\n"
	if _, err := fmt.Fprint(p.stdout, words); err != nil {
		logger.Warn("the address could not be printed: `abide pair` prints a link", "err", err)
	}
	if c.Open && printed == "" {
		h.browse(p.env, link)
	} else if c.Open {
		// Another code than the printed one: a person who reads the terminal, or a
		// log of it, does not learn the browser's.
		opened, err := h.pairingCode()
		if err != nil {
			return err
		}
		h.browse(p.env, pairLink(h.base, opened))
	}
	h.watch(loader)
	return h.serve(ctx)
}

// pairingCode makes a code for a browser, and records it in the audit trail.
func (h *hub) pairingCode() (string, error) {
	code, err := h.registry.MintPairingCode()
	if err != nil {
		return "", err
	}
	if err := h.audit.Append(audit.Record{Verb: audit.PairingLink, By: "hub", Peer: "local"}); err != nil {
		h.logger.Error("audit trail could not be written", "verb", audit.PairingLink, "err", err)
	}
	return code, nil
}
