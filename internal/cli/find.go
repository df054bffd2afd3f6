package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

const (
	// newest names the session of the project that was made last.
	newest = "-"
	// pageSize is the largest page of the session list.
	pageSize = 200
	// shortest is the fewest characters a short id is shown with.
	shortest = 4
)

// find returns the session that a person named: by its id, by the beginning of
// it, by the beginning of its last part, or by "-" for the one of the project
// that was made last.
func (p *Program) find(ctx context.Context, hub *client.Hub, name string) (wire.SessionInfo, error) {
	if name == newest {
		return p.newest(ctx, hub)
	}
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return wire.SessionInfo{}, Usagef("%q is not the id of a session (`abide ls` lists them)", name)
	}
	var found []wire.SessionInfo
	_, err := sessions(ctx, hub, client.ListQuery{Status: "all", Text: name}, 0, func(s wire.SessionInfo) error {
		if s.SessionID == name {
			found = []wire.SessionInfo{s}
			return errFound
		}
		if strings.HasPrefix(s.SessionID, name) || strings.HasPrefix(tail(s.SessionID), name) {
			found = append(found, s)
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errFound):
		return wire.SessionInfo{}, err
	case len(found) == 0:
		return wire.SessionInfo{}, withCode(ExitNotFound, "there is no session %s (`abide ls --all` lists them)", name)
	case len(found) > 1:
		return wire.SessionInfo{}, Usagef("%s is short for %d sessions, such as %s and %s: name more of it", name, len(found), found[0].SessionID, found[1].SessionID)
	}
	return found[0], nil
}

// errFound ends a walk through the list.
var errFound = errors.New("found")

func (p *Program) newest(ctx context.Context, hub *client.Hub) (wire.SessionInfo, error) {
	root, err := projectRoot()
	if err != nil {
		return wire.SessionInfo{}, err
	}
	// The list is in the order of changes, which another session's agent makes.
	var made wire.SessionInfo
	_, err = sessions(ctx, hub, client.ListQuery{Project: root}, 0, func(s wire.SessionInfo) error {
		if s.CreatedAt.After(made.CreatedAt) {
			made = s
		}
		return nil
	})
	if err == nil && made.SessionID == "" {
		err = withCode(ExitNotFound, "there is no session of %s (`abide new` makes one, `abide ls` lists those of all projects)", root)
	}
	return made, err
}

// sessions hands up to limit sessions to each, in the order of q; 0 means all. It returns
// how many q selects, 0 if the hub does not say so.
func sessions(ctx context.Context, hub *client.Hub, q client.ListQuery, limit int, each func(wire.SessionInfo) error) (total int, err error) {
	for given := 0; ; {
		q.Limit = pageSize
		if limit > 0 {
			q.Limit = min(pageSize, limit-given)
		}
		page, err := hub.List(ctx, q)
		if err != nil {
			return total, err
		}
		if given == 0 {
			total = page.Total
		}
		for _, s := range page.Sessions {
			if err := each(s); err != nil {
				return total, err
			}
		}
		given += len(page.Sessions)
		if q.Cursor = page.NextCursor; q.Cursor == "" || limit > 0 && given >= limit {
			return total, nil
		}
	}
}

// projectRoot is the nearest directory upwards that holds AGENTS.md or .git,
// else the current one.
func projectRoot() (string, error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("finding the current directory: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		for _, mark := range []string{".git", "AGENTS.md"} {
			if _, err := os.Lstat(filepath.Join(at, mark)); err == nil {
				return at, nil
			}
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}

// tail is the part of an id that tells sessions of one second apart.
func tail(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }

// short shortens each id to a part that is unique among them.
func short(list []wire.SessionInfo) map[string]string {
	names := map[string]string{}
	for _, s := range list {
		end := tail(s.SessionID)
		length := min(shortest, len(end))
		for _, other := range list {
			if other.SessionID == s.SessionID {
				continue
			}
			for length < len(end) && strings.HasPrefix(tail(other.SessionID), end[:length]) {
				length++
			}
			if tail(other.SessionID) == end {
				end = s.SessionID
				length = len(end)
			}
		}
		names[s.SessionID] = end[:length]
	}
	return names
}

// completes lets a command complete its arguments and the values of its flags.
func (p *Program) completes(cmd *cobra.Command) {
	for _, flag := range []string{cmd.Name() + " status", "sort", "format", "redact", "way", "worktree", "method", "preset", cmd.Name() + " scope"} {
		name := flag[strings.IndexByte(flag, ' ')+1:]
		if f := cmd.Flags().Lookup(name); f != nil && f.Value.Type() != "bool" {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(valuesOf(flag), cobra.ShellCompDirectiveNoFileComp)) // it is there
		}
	}
	if cmd.Flags().Lookup("agent") != nil {
		_ = cmd.RegisterFlagCompletionFunc("agent", p.completeAgent) // it is there
	}
	sessions := cmd.ValidArgsFunction
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 && sessions != nil {
			return sessions(cmd, args, word)
		}
		if list := valuesOf(strings.Join(append([]string{cmd.Name()}, args[min(len(args), sessionArgs(sessions != nil)):]...), " ") + " …"); list != nil {
			return list, cobra.ShellCompDirectiveNoFileComp
		}
		if len(args) == 1 && sessions != nil {
			return p.completeOf(cmd, args[0])
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

func sessionArgs(takes bool) int {
	if takes {
		return 1
	}
	return 0
}

// valuesOf are the values of a flag, by its name or the command's and its name, or the words
// that may follow those of a command line, which leaves out the session.
func valuesOf(name string) []string {
	kinds := event.ToolKind("").Values()
	return map[string][]string{
		"ls status": append(wire.SessionStatus("").Values(), "archived"), "job status": event.JobStatus("").Values(), "sort": sorts(),
		"format": {"jsonl", "markdown", "html", "zip"}, "redact": {"secrets", "paths", "images", "thoughts", "outputs", "preview"},
		"way": {"auto", "server", "local", "segmented"}, "worktree": {"keep", "remove", "discard"},
		"method": {"merge", "rebase", "squash", "ff"}, "preset": {"read", "edit", "edit_test"}, "overlap": {"skip", "queue"}, "rules scope": {"session", "agent"},
		"queue …": {"add", "edit", "move", "rm"}, "branch …": append(branchActs(), "commit"), "job …": {"run", "ls", "show", "cancel", "retry", "attempts", "discard-others"},
		"schedule …": {"add", "ls", "show", "pause", "resume", "rm"},
		"rules …":    {"add", "rm"}, "rules add …": {"allow", "reject"}, "rules add allow …": kinds, "rules add reject …": kinds,
		"devices …": {"revoke"}, "worktrees …": {"rm"}, "trash …": {"restore", "rm"},
	}[name]
}

// completeOf completes what follows the session of a command: an option of the question
// that waits, a mode, a model, an option. It is silent about failures.
func (p *Program) completeOf(cmd *cobra.Command, name string) (list []string, _ cobra.ShellCompDirective) {
	values := map[string]func(wire.State) setting{"mode": modeIn, "model": modelIn}[cmd.Name()]
	if values == nil && cmd.Name() != "answer" && cmd.Name() != "option" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	hub, err := p.Connect(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer hub.Close()
	s, err := p.find(cmd.Context(), hub, name)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if cmd.Name() == "answer" {
		q, _, err := waiting(cmd.Context(), hub, s)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, o := range q.Options {
			list = append(list, plain.Line(o.OptionID)+"\t"+plain.Line(o.Name))
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	now, err := hub.State(cmd.Context(), s.SessionID)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if values == nil {
		for _, o := range optionsIn(now) {
			list = append(list, plain.Line(o.ID))
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	for _, c := range values(now).Choices {
		list = append(list, plain.Line(c.ID)+"\t"+plain.Line(c.Name))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeAgent completes the name of a configured agent; it is silent about failures.
func (p *Program) completeAgent(cmd *cobra.Command, _ []string, _ string) (list []string, _ cobra.ShellCompDirective) {
	hub, err := p.Connect(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer hub.Close()
	agents, err := hub.Agents(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, a := range agents.Agents {
		list = append(list, plain.Line(a.Name)+"\t"+plain.Line(a.Description))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeSession completes the id of a session; it is silent about failures.
func (p *Program) completeSession(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	hub, err := p.Connect(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer hub.Close()
	page, err := hub.List(cmd.Context(), client.ListQuery{Limit: 50})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := short(page.Sessions)
	var list []string
	for _, s := range page.Sessions {
		list = append(list, names[s.SessionID]+"\t"+plain.Line(s.Name))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// tag prints the tags of a session, or adds and removes some.
func (p *Program) tag() *cobra.Command {
	var remove []string
	cmd := p.onSession(&cobra.Command{
		Use: "tag ID [NAME…]", Short: "Print the tags of a session, or add and remove some",
		Long: "Without a name and --remove, print the tags of a session, one a line. A tag has 1 to 40 printable characters\n" +
			"without a comma; a session has at most 20. `abide ls --tag NAME` lists the sessions with a tag.",
		Example: "abide tag - release 'needs review'\nabide tag 9f3a --remove release\nabide ls --tag release",
		Args:    cobra.MinimumNArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, names []string) error {
		if len(names)+len(remove) > 0 {
			tags := slices.DeleteFunc(append(slices.Clone(s.Tags), names...), func(tag string) bool { return slices.Contains(remove, tag) })
			changed, err := hub.Update(ctx, s.SessionID, wire.SessionPatch{Tags: &tags})
			if err != nil {
				return err
			}
			s = changed
		}
		if p.json {
			return p.PrintJSON(s)
		}
		for _, tag := range s.Tags {
			if _, err := fmt.Fprintln(p.Stdout, plain.Line(tag)); err != nil {
				return err
			}
		}
		return nil
	})
	cmd.Flags().StringArrayVar(&remove, "remove", nil, "remove the tag `NAME`; may be repeated")
	p.JSONFlag(cmd)
	return cmd
}
