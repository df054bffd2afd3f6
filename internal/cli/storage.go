package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

// asker is what the command storage needs of a Program.
type asker interface {
	onHub(*cobra.Command, func(context.Context, *client.Hub, []string) error) *cobra.Command
	find(context.Context, *client.Hub, string) (wire.SessionInfo, error)
	JSONFlag(*cobra.Command)
	PrintJSON(any) error
	asJSON() bool
	table([][]string) error
	notice(format string, args ...any)
	interactive() bool
	ask(ctx context.Context, asked time.Time, question string) (string, error)
}

// storageVerbs are the words of the command storage. Notices go to errs.
type storageVerbs struct {
	asker
	errs io.Writer
}

// cleanFlags are the flags of storage clean.
type cleanFlags struct {
	dry, yes                    bool
	olderThan, project, machine string
	lifecycles                  []string
}

// storage says what sessions take, or puts old ones into the trash.
func (v storageVerbs) command() *cobra.Command {
	var f cleanFlags
	var cmd *cobra.Command
	cmd = v.onHub(&cobra.Command{
		Use: "storage [clean [ID...]]", Short: "Say what sessions take on disk, or put old ones into the trash",
		Long: "Say what all sessions take: by kind, week, project and session. With clean, put those into the trash in which nothing happened for long. " +
			"Without flags it is about those of storage.clean: 30 days old, and completed, failed or expired. Sessions that run, wait to be resumed, " +
			"are pinned or commented, have prompts in their queue, or a working copy with changes that are nowhere else stay, unless their ids are given. An id may be shortened.",
		Example: "abide storage\nabide storage clean --dry-run\nabide storage clean --older-than 90d --project . --yes\nabide storage clean 9f3a",
		Args: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"dry-run", "yes", "older-than", "lifecycle", "project"} {
				if len(args) == 0 && cmd.Flags().Changed(name) {
					return fmt.Errorf("the flags are those of storage clean")
				}
			}
			if len(args) > 0 && cmd.Flags().Changed("machine") {
				return fmt.Errorf("--machine is for what the sessions take: clean up on the machine itself")
			}
			if len(args) == 0 || args[0] == "clean" {
				return nil
			}
			return fmt.Errorf("storage takes nothing, or clean and ids")
		},
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		if len(args) == 0 {
			s, err := hub.Storage(ctx, f.machine)
			if err != nil || v.asJSON() {
				return v.shown(s, err)
			}
			return v.showStorage(s)
		}
		for _, name := range []string{"older-than", "lifecycle", "project"} {
			if flag := cmd.Flags().Lookup(name); flag.Changed && strings.Trim(flag.Value.String(), "[]") == "" {
				return Usagef("--%s is empty: give it a value, or leave it out", name)
			}
		}
		in, err := v.cleanRequest(ctx, hub, f, args[1:])
		if err != nil {
			return err
		}
		return v.clean(ctx, hub, in, f)
	})
	flags := cmd.Flags()
	flags.BoolVar(&f.dry, "dry-run", false, "with clean, only list what would go")
	flags.StringVar(&f.olderThan, "older-than", "", "with clean, those in which nothing happened for `T`, such as 720h or 30d")
	flags.StringSliceVar(&f.lifecycles, "lifecycle", nil, "with clean, those of the lifecycle `L`: "+strings.Join(state.Lifecycle("").Values(), ", ")+"; may be repeated")
	flags.StringVar(&f.project, "project", "", "with clean, those of the `FOLDER`")
	flags.BoolVar(&f.yes, "yes", false, "with clean, do not ask")
	flags.StringVar(&f.machine, "machine", "", "what the sessions of the machine called `NAME` take")
	v.JSONFlag(cmd)
	return cmd
}

// shown prints an answer as JSON, unless there is none.
func (v storageVerbs) shown(answer any, err error) error {
	if err != nil {
		return err
	}
	return v.PrintJSON(answer)
}

func (v storageVerbs) cleanRequest(ctx context.Context, hub *client.Hub, f cleanFlags, ids []string) (in wire.CleanStorage, err error) {
	for _, id := range ids {
		s, err := v.find(ctx, hub, id)
		if err != nil {
			return in, err
		}
		in.SessionIDs = append(in.SessionIDs, s.SessionID)
	}
	if f.olderThan != "" {
		age, err := daysOrDuration(f.olderThan)
		if err != nil {
			return in, err
		}
		in.OlderThan = &age
	}
	if len(f.lifecycles) > 0 {
		var all []state.Lifecycle
		for _, l := range f.lifecycles {
			if !slices.Contains(state.Lifecycle("").Values(), l) {
				return in, Usagef("--lifecycle is one of %s", strings.Join(state.Lifecycle("").Values(), ", "))
			}
			all = append(all, state.Lifecycle(l))
		}
		in.Lifecycles = &all
	}
	if f.project != "" {
		if in.Project, err = filepath.Abs(f.project); err != nil {
			return in, Usagef("--project %s: %v", f.project, err)
		}
	}
	if len(ids) > 0 && (in.OlderThan != nil || in.Lifecycles != nil || in.Project != "") {
		return in, Usagef("give ids, or --older-than, --lifecycle and --project")
	}
	return in, nil
}

// daysOrDuration is a duration as the hub reads it; d is a day.
func daysOrDuration(text string) (string, error) {
	if days, is := strings.CutSuffix(text, "d"); is {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return fmt.Sprintf("%dh", 24*n), nil
		}
	}
	if d, err := time.ParseDuration(text); err != nil || d < 0 {
		return "", Usagef("--older-than %s is not a time such as 720h or 30d", text)
	}
	return text, nil
}

// clean lists what would go, asks, and puts it into the trash.
func (v storageVerbs) clean(ctx context.Context, hub *client.Hub, in wire.CleanStorage, f cleanFlags) error {
	if f.dry || !f.yes {
		in.DryRun = true
		plan, err := hub.CleanStorage(ctx, in)
		if err != nil || f.dry && v.asJSON() {
			return v.shown(plan, err)
		}
		if f.dry || len(plan.Sessions) == 0 {
			return v.showCleaned(plan)
		}
		if !v.interactive() {
			return Usagef("%s would go, %s: say --yes, or --dry-run to see them", counted(plan.Count, "session"), sizeWords(plan.Bytes))
		}
		if err := v.showCleaned(plan); err != nil {
			return err
		}
		where := "put them into the trash"
		if plan.ForGood {
			where = "delete them for good"
		}
		sure, err := v.ask(ctx, time.Now(), where+"? [y/N] ")
		if err != nil || !strings.EqualFold(sure, "y") && !strings.EqualFold(sure, "yes") {
			return withCode(ExitFailed, "nothing was put away")
		}
		in.DryRun = false
	}
	done, err := hub.CleanStorage(ctx, in)
	if err != nil || v.asJSON() {
		return v.shown(done, err)
	}
	if f.yes {
		if err := v.showCleaned(done); err != nil {
			return err
		}
	}
	if done.Count > 0 && !done.ForGood {
		v.notice("put %s into the trash: abide trash lists them", counted(done.Count, "session"))
	}
	return nil
}

func (v storageVerbs) showCleaned(c wire.CleanedStorage) error {
	if len(c.Sessions) == 0 {
		fmt.Fprintln(v.errs, "No session goes.")
	}
	var rows [][]string
	for _, s := range c.Sessions {
		rows = append(rows, []string{sizeWords(s.Bytes), s.UpdatedAt.Local().Format(time.DateOnly), string(s.Lifecycle), plain.Line(s.SessionID), plain.Line(s.Name)})
	}
	if err := v.table(rows); err != nil {
		return err
	}
	for _, why := range slices.Sorted(maps.Keys(c.Stayed)) {
		fmt.Fprintf(v.errs, "stays, %s: %s\n", plain.Line(why), counted(c.Stayed[why], "session"))
	}
	if len(c.Sessions) > 0 {
		fmt.Fprintf(v.errs, "%s, %s\n", counted(c.Count, "session"), sizeWords(c.Bytes))
	}
	return nil
}

func (v storageVerbs) showStorage(s wire.StorageReport) error {
	b := s.Bytes
	rows := [][]string{
		{"sessions", strconv.Itoa(s.Sessions), fmt.Sprintf("%d active, %d to be resumed, %s each", s.Active, s.Resumable, sizeWords(s.Average))},
		{"used", sizeWords(s.Used), quotaWords(s)},
		{"  logs", sizeWords(b.Log)}, {"  large values, uploads", sizeWords(b.Blobs)}, {"  derived files", sizeWords(b.Derived)},
		{"  other files", sizeWords(b.Other)}, {"  files for undo", sizeWords(b.States)}, {"  working copies", sizeWords(b.Copies)},
		{"  trash", sizeWords(b.Trash), counted(s.TrashSessions, "session")},
	}
	weeks := s.Weeks
	for len(weeks) > 1 && weeks[0].Sessions == 0 {
		weeks = weeks[1:] // before the first session
	}
	for _, w := range weeks {
		rows = append(rows, []string{"week of " + w.Start.Format(time.DateOnly), sizeWords(w.Bytes), counted(w.Sessions, "new session")})
	}
	for _, one := range s.Projects {
		rows = append(rows, []string{"project", sizeWords(one.Bytes), counted(one.Sessions, "session"), plain.Line(one.Folder)})
	}
	for _, one := range s.Largest {
		rows = append(rows, []string{"session", sizeWords(one.Bytes), plain.Line(one.SessionID), plain.Line(one.Name)})
	}
	if err := v.table(rows); err != nil {
		return err
	}
	if s.Unmeasured > 0 {
		v.notice("%s not measured yet: ask again", counted(s.Unmeasured, "session"))
	}
	if s.Warning != "" {
		v.notice("%s", plain.Line(s.Warning))
	}
	return nil
}

func quotaWords(s wire.StorageReport) string {
	if s.Quota == 0 {
		return "no quota"
	}
	words := "of " + sizeWords(s.Quota)
	if at := s.QuotaReached; at != nil {
		words += ", reached on " + at.Format(time.DateOnly) + " at the rate of the last four weeks"
	}
	return words
}
