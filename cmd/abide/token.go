package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/localhub"
)

// tokenAnswer is the output of `abide token --json`.
type tokenAnswer struct {
	Token     string     `json:"token"`
	ID        string     `json:"id"`
	Scope     string     `json:"scope"`
	SessionID string     `json:"session_id,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

func (p *program) tokenCommand() *cobra.Command {
	var req auth.TokenRequest
	var scope string
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print a Bearer token for this data directory; works while the hub runs",
		Args:  arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			var known bool
			if req.Scope, known = auth.ParseScope(scope); !known {
				return usagef("--scope is owner, collaborator or viewer")
			}
			if strings.Trim(req.SessionID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				return usagef("%q is not the id of a session (`abide ls` lists them)", req.SessionID)
			}
			req.AskedBy = localhub.Asker()
			return p.token(req)
		},
	}
	cmd.Flags().StringVar(&scope, "scope", "owner", "owner, collaborator or viewer")
	cmd.Flags().StringVar(&req.SessionID, "session", "", "restrict it to the session `ID`; required unless --scope is owner")
	cmd.Flags().DurationVar(&req.Life, "expires", 0, "lifetime, such as 12h (0 = until revoked)")
	cmd.Flags().StringVar(&req.Name, "name", "", "display name in the device list and in the log")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{"owner", "collaborator", "viewer"}, cobra.ShellCompDirectiveNoFileComp)) // it is there
	p.jsonFlag(cmd)
	return cmd
}

func (p *program) token(req auth.TokenRequest) error {
	if err := localhub.NotAnAgent(); err != nil {
		return err
	}
	dir, err := p.existing()
	if err != nil {
		return err
	}
	if req.SessionID, err = wholeID(dir, req.SessionID); err != nil {
		return err
	}
	registry, err := auth.Open(dir, nil, nil)
	if err != nil {
		return err
	}
	token, grant, err := registry.MintToken(req)
	if err != nil {
		return err
	}
	if err := localhub.Granted(dir, audit.TokenMade, grant); err != nil {
		return err
	}
	if !p.json {
		_, err := fmt.Fprintln(p.stdout, token)
		return err
	}
	answer := tokenAnswer{Token: token, ID: grant.ID, Scope: string(grant.Scope), SessionID: grant.SessionID}
	if !grant.ExpiresAt.IsZero() {
		answer.ExpiresAt = &grant.ExpiresAt
	}
	return p.printJSON(answer)
}
