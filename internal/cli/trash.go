package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// trash lists the deleted sessions, restores one or removes some for good.
func (p *Program) trash() *cobra.Command {
	var yes, all bool
	cmd := p.onHub(&cobra.Command{
		Use: "trash [restore ID|rm ID]", Short: "List deleted sessions, restore one, or remove some for good",
		Long: "List the deleted sessions that can still be restored: when each goes, its size, id and name. " +
			"With restore, bring one back as it was. With rm, remove one for good, or all of them with --all. An id may be shortened.",
		Example: "abide trash\nabide trash restore 9f3a\nabide trash rm 9f3a --yes\nabide trash rm --all",
		Args: func(_ *cobra.Command, args []string) error {
			rm := len(args) > 0 && args[0] == "rm"
			if len(args) == 0 && !all || len(args) == 2 && (args[0] == "restore" || rm) && !all || len(args) == 1 && rm && all {
				return nil
			}
			return fmt.Errorf("trash takes nothing, restore and an id, rm and an id, or rm --all")
		},
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		trash, err := hub.Trash(ctx)
		if err != nil {
			return err
		}
		switch {
		case len(args) == 0:
			return p.listTrash(trash)
		case all:
			return p.purge(ctx, hub, trash.Sessions, fmt.Sprintf("all %s in the trash", counted(len(trash.Sessions), "session")), yes)
		}
		one, err := trashed(trash.Sessions, args[1])
		if err != nil {
			return err
		}
		if args[0] == "rm" {
			return p.purge(ctx, hub, []wire.TrashedSession{one}, fmt.Sprintf("“%s”, %d events,", plain.Line(one.Name), one.EventCount), yes)
		}
		s, err := hub.Restore(ctx, one.SessionID)
		if err != nil || p.json {
			return p.orJSON(s, err)
		}
		p.notice("restored “%s”: abide attach %s", plain.Line(s.Name), plain.Line(s.SessionID))
		return nil
	})
	cmd.Flags().BoolVar(&all, "all", false, "with rm, remove all of them")
	cmd.Flags().BoolVar(&yes, "yes", false, "with rm, do not ask")
	p.JSONFlag(cmd)
	return cmd
}

func (p *Program) listTrash(trash wire.Trash) error {
	if p.json {
		return p.PrintJSON(trash)
	}
	if len(trash.Sessions) == 0 {
		fmt.Fprintln(p.Stderr, "The trash is empty.")
	}
	var rows [][]string
	for _, s := range trash.Sessions {
		rows = append(rows, []string{
			"goes " + s.RemovedAt.Local().Format(time.DateOnly), sizeWords(s.Bytes), plain.Line(s.SessionID), plain.Line(s.Name), plain.Line(s.Workspace),
		})
	}
	return p.table(rows)
}

// trashed finds a deleted session by its id or a part of it.
func trashed(all []wire.TrashedSession, part string) (found wire.TrashedSession, err error) {
	n := 0
	for _, s := range all {
		if s.SessionID == part {
			return s, nil
		}
		if strings.Contains(s.SessionID, part) {
			found, n = s, n+1
		}
	}
	switch n {
	case 0:
		return found, withCode(ExitFailed, "no session in the trash has the id %q: abide trash lists them", part)
	case 1:
		return found, nil
	}
	return found, Usagef("%s in the trash have %q in their ids: say more of it", counted(n, "session"), part)
}

// purge removes deleted sessions for good, once a person agrees.
func (p *Program) purge(ctx context.Context, hub *client.Hub, all []wire.TrashedSession, what string, yes bool) error {
	if len(all) > 0 && !yes {
		if !p.interactive() {
			return Usagef("this cannot be taken back: say --yes")
		}
		sure, err := p.ask(ctx, time.Now(), fmt.Sprintf("remove %s for good? [y/N] ", what))
		if err != nil || !strings.EqualFold(sure, "y") && !strings.EqualFold(sure, "yes") {
			return withCode(ExitFailed, "nothing was removed")
		}
	}
	for _, s := range all {
		if err := hub.Purge(ctx, s.SessionID); err != nil {
			return err
		}
	}
	if p.json {
		ids := []string{}
		for _, s := range all {
			ids = append(ids, s.SessionID)
		}
		return p.PrintJSON(map[string][]string{"removed": ids})
	}
	return nil
}
