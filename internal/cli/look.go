package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/localhub"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// listed is how many sessions ls shows where a person does not say.
const listed = 30

// sorts are the orders of the list.
func sorts() []string { return []string{"updated", "created", "name", "size"} }

func (p *Program) ls() *cobra.Command {
	var q client.ListQuery
	var all bool
	var limit int
	var inTree bool
	cmd := p.onHub(&cobra.Command{
		Use:   "ls",
		Short: "List sessions, those changed last first",
		Long: "List sessions, those changed last first: a short id that every other command takes, the status, how long ago\n" +
			"it changed, the name, and the last thing said. At a terminal those of this project, which is the nearest directory\n" +
			"upwards that holds AGENTS.md or .git; with --all, --project or --hub, and into a pipe, those of all projects.",
		Example: "abide ls\nabide ls --all\nabide ls --status needs_you\nabide ls --project . --json",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, hub *client.Hub, _ []string) error {
		if all && q.Status == "" {
			q.Status = "all"
		}
		if limit < 0 {
			return Usagef("--limit is 0 or more")
		}
		if q.Project != "" {
			path, err := filepath.Abs(q.Project)
			if err != nil {
				return err
			}
			if real, err := filepath.EvalSymlinks(path); err == nil {
				path = real
			}
			q.Project = path
		}
		if !all && q.Project == "" && p.hub == "" && !p.json && isTerminal(p.Stdout) {
			root, err := projectRoot()
			if err != nil {
				return err
			}
			p.notice("sessions of %s; `abide ls --all` lists those of all projects", root)
			q.Project = root
		}
		if inTree && p.json {
			return Usagef("--json and --tree do not go together")
		}
		return p.list(ctx, hub, q, limit, inTree)
	})
	cmd.Flags().BoolVar(&all, "all", false, "sessions of all projects, and archived ones, too")
	cmd.Flags().StringVar(&q.Status, "status", "", "only sessions with the status `S`, such as running or needs_you; archived is one, too")
	cmd.Flags().StringVar(&q.Lifecycle, "lifecycle", "", "only sessions that are so far: `L` is active, paused, completed, failed or expired")
	cmd.Flags().BoolVar(&q.Resumable, "resumable", false, "only sessions that wait to be resumed")
	cmd.Flags().StringVar(&q.Project, "project", "", "only sessions of the project at `P`")
	cmd.Flags().StringArrayVar(&q.Tags, "tag", nil, "only sessions with the tag `NAME`; repeat it for those that have all")
	cmd.Flags().StringVar(&q.Machine, "machine", "", "only sessions of the machine called `NAME`, or here")
	cmd.Flags().StringVar(&q.Sort, "sort", "", "the order: `S` is updated (the default), created, name or size")
	cmd.Flags().IntVar(&limit, "limit", listed, "at most `N` sessions; 0 is all")
	cmd.Flags().BoolVar(&inTree, "tree", false, "forks, and jobs that a session delegated, below it where both are listed")
	p.JSONFlag(cmd)
	p.colorFlag(cmd)
	return cmd
}

func (p *Program) list(ctx context.Context, hub *client.Hub, q client.ListQuery, limit int, inTree bool) error {
	if q.Status != "" && q.Status != "all" && q.Status != "archived" && !slices.Contains(wire.SessionStatus("").Values(), q.Status) {
		return Usagef("--status is one of %s, archived", strings.Join(wire.SessionStatus("").Values(), ", "))
	}
	if known := wire.Lifecycle("").Values(); q.Lifecycle != "" && !slices.Contains(known, q.Lifecycle) {
		return Usagef("--lifecycle is one of %s", strings.Join(known, ", "))
	}
	if q.Sort != "" && !slices.Contains(sorts(), q.Sort) {
		return Usagef("--sort is one of %s", strings.Join(sorts(), ", "))
	}
	answer := wire.SessionPage{Sessions: []wire.SessionInfo{}}
	total, err := sessions(ctx, hub, q, limit, func(s wire.SessionInfo) error {
		answer.Sessions = append(answer.Sessions, s)
		return nil
	})
	if err != nil {
		return err
	}
	answer.Total = total
	if p.json {
		return p.PrintJSON(answer)
	}
	style, err := p.style(p.Stdout)
	if err != nil {
		return err
	}
	names := short(answer.Sessions)
	var all []placed
	if inTree {
		all = tree(answer.Sessions)
	} else {
		for _, s := range answer.Sessions {
			all = append(all, placed{SessionInfo: s})
		}
	}
	var rows [][]string
	several := slices.ContainsFunc(all, func(s placed) bool { return s.Machine != nil })
	for _, s := range all {
		name := plain.Cut(plain.Line(s.Name), 40)
		if s.depth > 0 {
			name = strings.Repeat("  ", s.depth-1) + "└ " + name
		}
		row := []string{names[s.SessionID], statusWord(s.SessionInfo, style), plain.Ago(time.Since(s.UpdatedAt))}
		if several {
			row = append(row, machineWord(s.SessionInfo))
		}
		rows = append(rows, append(row, name, plain.Line(s.LastLine)))
	}
	if err := p.table(rows); err != nil {
		return err
	}
	if shown := len(answer.Sessions); shown < total && isTerminal(p.Stdout) {
		p.notice("%d of %d sessions; `--limit 0` lists all", shown, total)
	}
	return nil
}

// table prints rows in columns, each line no wider than the terminal.
func (p *Program) table(rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], visible(cell))
		}
	}
	total := p.width()
	var b strings.Builder
	for _, row := range rows {
		used := 0
		for i, cell := range row {
			last := i == len(row)-1
			if last && total > 0 && !strings.Contains(cell, "\x1b") {
				cell = plain.Cut(cell, max(0, total-used))
			}
			b.WriteString(cell)
			if !last {
				b.WriteString(strings.Repeat(" ", widths[i]-visible(cell)+2))
				used += widths[i] + 2
			}
		}
		line := strings.TrimRight(b.String(), " ")
		b.Reset()
		if _, err := io.WriteString(p.Stdout, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// searchAnswer is the output of search --json.
type searchAnswer struct {
	// Titles are the sessions whose titles have the words.
	Titles []wire.FoundTitle `json:"titles,omitempty"`
	Hits   []wire.Hit        `json:"hits"`
	// Skipped are the sessions that could not be read in full.
	Skipped []string `json:"skipped,omitempty"`
}

func (p *Program) search() *cobra.Command {
	var q client.SearchQuery
	var limit int
	cmd := p.onHub(&cobra.Command{
		Use:   "search TEXT",
		Short: "Find where a text occurs in what sessions said",
		Long: "Find where a text occurs in prompts, messages, titles of tool calls and commands: words in any order, parts of words too, and phrases in double quotes, whatever their case.\n" +
			"Sessions whose titles have the words come first, also with one wrong letter in a word. Then come the best of the newest places.",
		Example: "abide search 'connection refused'\nabide search TODO --project . --json\nabide search migrate --kind prompt --by Ann --from 2026-02-01",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		if limit < 1 {
			return Usagef("--limit is 1 or more")
		}
		if q.Project != "" {
			folder, err := filepath.Abs(q.Project)
			if err != nil {
				return fmt.Errorf("--project: %w", err)
			}
			if real, err := filepath.EvalSymlinks(folder); err == nil {
				folder = real
			}
			q.Project = folder
		}
		if q.Session != "" {
			s, err := p.find(ctx, hub, q.Session)
			if err != nil {
				return err
			}
			q.Session = s.SessionID
		}
		return p.searchFor(ctx, hub, args[0], q, limit)
	})
	cmd.Flags().StringVar(&q.Session, "session", "", "only the session `S`, newest first")
	cmd.Flags().StringVar(&q.Project, "project", "", "only sessions of the project at `P`")
	cmd.Flags().StringVar(&q.Agent, "agent", "", "only sessions with the agent `A`")
	cmd.Flags().StringVar(&q.Lifecycle, "lifecycle", "", "only sessions that are `L`: active, paused, completed, failed or expired")
	cmd.Flags().StringVar(&q.Kind, "kind", "", "only texts of kind `K`: prompt, message or tool")
	cmd.Flags().StringVar(&q.By, "by", "", "only prompts of the person `N`")
	cmd.Flags().StringVar(&q.From, "from", "", "only what began on `DAY` (YYYY-MM-DD) or later")
	cmd.Flags().StringVar(&q.To, "to", "", "only what began on `DAY` or earlier")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most `N` places")
	p.JSONFlag(cmd)
	p.colorFlag(cmd)
	return cmd
}

func (p *Program) searchFor(ctx context.Context, hub *client.Hub, text string, q client.SearchQuery, limit int) error {
	style, err := p.style(p.Stdout)
	if err != nil {
		return err
	}
	answer := searchAnswer{Hits: []wire.Hit{}}
	for cursor := ""; ; {
		page, err := hub.Search(ctx, text, q, min(100, limit-len(answer.Hits)), cursor)
		if err != nil {
			return err
		}
		answer.Titles = append(answer.Titles, page.Titles...)
		answer.Hits = append(answer.Hits, page.Hits...)
		answer.Skipped = append(answer.Skipped, page.Skipped...)
		if !p.json {
			for _, title := range page.Titles {
				if _, err := fmt.Fprintf(p.Stdout, "%s %s  %s\n", tail(title.SessionID), style.Dim("title"), plain.Line(title.Name)); err != nil {
					return err
				}
			}
			for _, hit := range page.Hits {
				if _, err := fmt.Fprintf(p.Stdout, "%s %s  %s\n", tail(hit.SessionID), style.Dim(fmt.Sprintf("%d", hit.Seq)), plain.Line(hit.Snippet)); err != nil {
					return err
				}
			}
		}
		if cursor = page.NextCursor; page.Done || cursor == "" || len(answer.Hits) >= limit {
			break
		}
	}
	if p.json {
		return p.PrintJSON(answer)
	}
	for _, id := range answer.Skipped {
		fmt.Fprintf(p.Stderr, "abide: session %s could not be searched in full (`abide check %s`)\n", plain.Line(id), plain.Line(id))
	}
	return nil
}

// indexWords says that a search reads files; empty if it does not.
func indexWords(x *wire.IndexProgress) string {
	switch {
	case x == nil:
		return ""
	case x.Problem != "":
		return "The search index does not go on; search reads the files: " + x.Problem
	case x.Again != "":
		return fmt.Sprintf("The search index is made again (%s); search reads the files of %d sessions meanwhile.", x.Again, x.Behind)
	case x.Behind > 0:
		return fmt.Sprintf("The search index is behind in %d of the sessions; search reads their files meanwhile.", x.Behind)
	}
	return ""
}

// usage prints what sessions used.
func (p *Program) usage() *cobra.Command {
	var q client.UsageQuery
	var asCSV bool
	cmd := p.onHub(&cobra.Command{
		Use: "usage", Short: "Print what sessions used: tokens, cost and time",
		Long: "Print what sessions used: the tokens and the cost that their agents report, the time from prompt to end, and the tool calls. " +
			"Without --by there is a line for each day. A turn counts on the day on which its prompt came, in the hub's time zone.",
		Example: "abide usage\nabide usage --by project --from 2026-02-01\nabide usage --by turn --csv > usage.csv",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, hub *client.Hub, _ []string) error {
		if asCSV && p.json {
			return Usagef("--json and --csv do not go together")
		}
		if wrong := wrongUsage(q); wrong != "" {
			return Usagef("%s", wrong)
		}
		if q.Project != "" && q.Machine == "" { // else it is a folder there
			folder, err := filepath.Abs(q.Project)
			if err != nil {
				return fmt.Errorf("--project: %w", err)
			}
			if real, err := filepath.EvalSymlinks(folder); err == nil {
				folder = real
			}
			q.Project = folder
		}
		if asCSV {
			text, err := hub.UsageCSV(ctx, q)
			if err != nil {
				return err
			}
			_, err = p.Stdout.Write(text)
			return err
		}
		u, err := hub.Usage(ctx, q)
		if err != nil || p.json {
			return p.orJSON(u, err)
		}
		return p.listUsage(u)
	})
	flags := cmd.Flags()
	flags.StringVar(&q.By, "by", "day", "a line for each `G`: turn, session, project, agent or day")
	flags.StringVar(&q.From, "from", "", "from the `DAY` on, such as 2026-02-21")
	flags.StringVar(&q.To, "to", "", "until the end of the `DAY`")
	flags.StringVar(&q.Project, "project", "", "only turns in the folder `P`")
	flags.StringVar(&q.Agent, "agent", "", "only turns of the agent `A`")
	flags.StringVar(&q.Machine, "machine", "", "what sessions of the machine called `NAME` used")
	flags.IntVar(&q.Limit, "limit", 1000, "at most `N` lines, up to 10000")
	flags.BoolVar(&asCSV, "csv", false, "print CSV, as GET /api/usage has it")
	p.JSONFlag(cmd)
	return cmd
}

// listUsage prints what was used as a table.
func (p *Program) listUsage(u wire.Usage) error {
	if u.Total.Turns == 0 {
		fmt.Fprintln(p.Stderr, "Nothing was used in that time.")
	} else if err := p.table(usageTable(u)); err != nil {
		return err
	}
	for _, b := range u.Budgets {
		p.notice("%s", plain.Line(b.Text))
	}
	if u.LeftOut > 0 {
		p.notice("%s left out; the total has them", counted(u.LeftOut, "line"))
	}
	if u.Total.Unreported > 0 {
		p.notice("%s without an account of tokens by the agent", counted(u.Total.Unreported, "turn"))
	}
	if u.Behind > 0 {
		p.notice("%s not counted to the end yet: ask again", counted(u.Behind, "session"))
	}
	return nil
}

func (p *Program) agents() *cobra.Command {
	cmd := p.onHub(&cobra.Command{
		Use: "agents", Short: "List the agents, those that could be added, and the folders sessions may run in",
		Example: "abide agents\nabide agents --json\nabide agents add claude", Args: cobra.NoArgs,
	}, func(ctx context.Context, hub *client.Hub, _ []string) error {
		answer, err := hub.Agents(ctx)
		if err != nil {
			return err
		}
		setup, err := hub.AgentSetup(ctx)
		if code, _ := ExitCode(err); code == ExitNotFound { // an older hub
			err = nil
		}
		if err != nil {
			return err
		}
		return p.printAgents(answer, setup)
	})
	onHub := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := onHub(cmd, args)
		if !errors.Is(err, localhub.ErrNoHub) || p.hub != "" {
			return err
		}
		answer, setup, err := p.Agents()
		if err != nil {
			return err
		}
		return p.printAgents(answer, setup)
	}
	p.JSONFlag(cmd)
	return cmd
}

// agentList is the JSON of `abide agents`.
type agentList struct {
	wire.Agents
	Known []wire.KnownAgent `json:"known,omitempty"`
}

func (p *Program) printAgents(answer wire.Agents, setup wire.AgentSetup) error {
	if p.json {
		return p.PrintJSON(agentList{answer, setup.Known})
	}
	missing := map[string]string{}
	for _, a := range setup.Configured {
		missing[a.Name] = a.Missing
	}
	var rows [][]string
	for _, a := range answer.Agents {
		row := []string{plain.Line(a.Name), plain.Line(a.Description), offered("modes", a.Modes, a.Mode), offered("models", a.Models, a.Model)}
		if missing[a.Name] != "" {
			row = append(row, "not found: "+plain.Line(missing[a.Name]))
		}
		rows = append(rows, row)
	}
	if err := p.table(rows); err != nil {
		return err
	}
	var found, others []string
	for _, a := range setup.Known {
		switch {
		case a.Configured:
		case a.Program != "":
			found = append(found, plain.Line(a.Name))
		default:
			others = append(others, plain.Line(a.Name))
		}
	}
	lines := ""
	for _, dir := range answer.Workspaces {
		lines += "in " + plain.Line(dir) + " and below\n"
	}
	if len(found) > 0 {
		lines += "found: " + strings.Join(found, ", ") + " (abide agents add NAME)\n"
	}
	if len(others) > 0 {
		lines += "not installed: " + strings.Join(others, ", ") + " (abide agents add NAME says how)\n"
	}
	_, err := fmt.Fprint(p.Stdout, lines)
	return err
}

// orJSON prints a value, or passes an error on.
func (p *Program) orJSON(value any, err error) error {
	if err != nil {
		return err
	}
	return p.PrintJSON(value)
}

func (p *Program) health() *cobra.Command {
	cmd := p.onHub(&cobra.Command{
		Use: "health", Short: "Show how the hub is",
		Long: "Show the hub's version, its interrupted turns and what became of them, and the sessions with a problem. The\n" +
			"counts are those of all sessions that are stored: a restart or a kill of the hub does not reset them.",
		Example: "abide health\nabide health --json",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, hub *client.Hub, _ []string) error {
		h, err := hub.Health(ctx)
		if err != nil {
			return err
		}
		if p.json {
			return p.PrintJSON(h)
		}
		rows := [][]string{
			{"version", plain.Line(h.Version)},
			{"hub", plain.Line(h.HubID)},
			{"access", plain.Line(h.Scope)},
			{"running for", (time.Duration(h.UptimeMS) * time.Millisecond).Round(time.Second).String()},
		}
		if h.Clients != nil {
			rows = append(rows, []string{"clients", fmt.Sprint(*h.Clients)})
		}
		if h.Interruptions != nil {
			rows = append(rows, interruptionRows(*h.Interruptions)...)
		}
		for _, d := range h.Derived {
			if d.Sessions > 0 {
				rows = append(rows, []string{"behind the logs", plain.Line(d.Kind), counted(d.Sessions, "session"), counted(int(d.Events), "event")})
			}
		}
		if err := p.table(rows); err != nil {
			return err
		}
		for _, problem := range append([]string{h.Schedules, h.Storage, h.Snapshots, indexWords(h.Index)}, h.Budgets...) {
			if problem == "" {
				continue
			}
			if _, err := fmt.Fprintln(p.Stdout, plain.Line(problem)); err != nil {
				return err
			}
		}
		for _, s := range h.Sessions {
			if _, err := fmt.Fprintln(p.Stdout, plain.Line(s.SessionID+": "+s.What+" "+s.Do)); err != nil {
				return err
			}
		}
		return nil
	})
	p.JSONFlag(cmd)
	return cmd
}

// worktrees lists the working copies, or removes some.
func (p *Program) worktrees() *cobra.Command {
	var prune, discard, yes bool
	cmd := p.onHub(&cobra.Command{
		Use: "worktrees [rm FOLDER]", Short: "List the working copies of repositories, or remove some",
		Long: "List the working copies that abide made: size, state, branch and session, also those of no session. " +
			"With rm, remove one; its branch stays if it has commits that are nowhere else. With --prune, remove all of which nothing is lost and whose sessions are over.",
		Example: "abide worktrees\nabide worktrees --prune\nabide worktrees rm ~/.local/share/abide-worktrees/app/fix-it --discard",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) == 2 && args[0] == "rm" && !prune {
				return nil
			}
			return fmt.Errorf("worktrees takes nothing, --prune, or rm and a folder")
		},
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		if len(args) == 2 {
			return p.removeCopy(ctx, hub, args[1], discard, yes)
		}
		if discard || yes {
			return Usagef("--discard and --yes go with rm")
		}
		list := hub.Worktrees
		if prune {
			list = hub.PruneWorktrees
		}
		all, err := list(ctx)
		if err != nil || p.json {
			return p.orJSON(all, err)
		}
		if len(all.Worktrees) == 0 {
			fmt.Fprintln(p.Stderr, "There are no working copies.")
		}
		var rows [][]string
		for _, c := range all.Worktrees {
			rows = append(rows, []string{megabytes(c), stateOf(c), plain.Line(c.Branch), usersOf(c), plain.Line(c.Folder)})
		}
		for _, s := range all.States {
			rows = append(rows, []string{megabytes(wire.WorkingCopy{Bytes: s.Bytes}), counted(s.States, "state") + " of files for undo", "", s.SessionID, ""})
		}
		return p.table(rows)
	})
	cmd.Flags().BoolVar(&prune, "prune", false, "remove those that are safe to remove, and list all that there were")
	cmd.Flags().BoolVar(&discard, "discard", false, "with rm, remove its branch, too, with commits that are nowhere else")
	cmd.Flags().BoolVar(&yes, "yes", false, "with rm, do not ask about what is lost")
	p.JSONFlag(cmd)
	return cmd
}

func (p *Program) devices() *cobra.Command {
	cmd := p.onHub(&cobra.Command{
		Use: "devices [revoke NAME]", Short: "List devices and tokens, or revoke one",
		Long:    "List the devices and tokens with access, or revoke one by its id or its name.",
		Example: "abide devices\nabide devices revoke 'Firefox on Linux'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) == 2 && args[0] == "revoke" {
				return nil
			}
			return fmt.Errorf("devices takes nothing, or revoke and a name")
		},
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		list, err := hub.Devices(ctx)
		if err != nil {
			return err
		}
		if len(args) == 2 {
			return p.revoke(ctx, hub, list, args[1])
		}
		if p.json {
			return p.PrintJSON(wire.Devices{Devices: append([]wire.Device{}, list...)})
		}
		var rows [][]string
		for _, d := range list {
			used := "made " + plain.Ago(time.Since(d.CreatedAt))
			if d.LastUsed != nil {
				used = "used " + plain.Ago(time.Since(*d.LastUsed))
			}
			name := plain.Line(d.Name)
			if d.Current {
				name += " (this one)"
			}
			rows = append(rows, []string{plain.Line(d.ID), plain.Line(d.Kind), plain.Line(d.Scope), used, name})
		}
		return p.table(rows)
	})
	p.JSONFlag(cmd)
	return cmd
}

func (p *Program) revoke(ctx context.Context, hub *client.Hub, list []wire.Device, name string) error {
	var found []wire.Device
	for _, d := range list {
		if d.ID == name {
			found = []wire.Device{d}
			break
		}
		if d.Name == name {
			found = append(found, d)
		}
	}
	switch {
	case len(found) == 0:
		return withCode(ExitNotFound, "there is no device or token %q (`abide devices` lists them)", name)
	case len(found) > 1:
		return Usagef("%d are called %q: name one by its id", len(found), name)
	}
	if err := hub.Revoke(ctx, found[0].ID); err != nil {
		return err
	}
	if p.json {
		return p.PrintJSON(wire.Devices{Devices: found})
	}
	return nil
}

func (p *Program) comments() *cobra.Command {
	cmd := p.onSession(&cobra.Command{
		Use:     "comments ID",
		Short:   "List the review comments of a session",
		Long:    "List the review comments of a session: each with its place, the code or words it is about, and its author.",
		Example: "abide comments -",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		list, err := hub.Comments(ctx, s.SessionID)
		if err != nil || p.json {
			return p.orJSON(list, err)
		}
		for _, c := range list.Comments {
			err = errors.Join(err, printComment(p.Stdout, c))
		}
		return err
	})
	p.JSONFlag(cmd)
	return cmd
}
