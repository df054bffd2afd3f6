package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/cli"
	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/record"
)

// finding is one thing that doctor looked at.
type finding struct {
	// Level is ok, note or risk.
	Level string `json:"level"`
	Check string `json:"check"`
	What  string `json:"what"`
	// Do is the remedy; empty where nothing is.
	Do string `json:"do,omitempty"`
}

const (
	levelOK   = "ok"
	levelNote = "note"
	levelRisk = "risk"
)

// doctorAnswer is the output of `abide doctor --json`.
type doctorAnswer struct {
	Risks    int       `json:"risks"`
	Findings []finding `json:"findings"`
}

func (p *program) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the set-up for risks, and print how to fix them",
		Long: "Looks at the data directory, the configuration, the workspaces, the credentials and git. Changes nothing and\n" +
			"needs no running hub.\n\nExits with 0 when there is no risk, 1 when there is one. docs/security.md explains each.",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context()) },
	}
	p.jsonFlag(cmd)
	return cmd
}

func (p *program) doctor(ctx context.Context) error {
	loader, err := p.loader(config.Flags{})
	if err != nil {
		return err
	}
	c, err := loader.Load()
	if err != nil {
		return err
	}
	workspaces := c.Workspaces
	if len(workspaces) == 0 {
		workspaces = []string{loader.Dir}
	}
	var answer doctorAnswer
	for _, found := range [][]finding{
		checkUser(), checkData(c.Data), checkWaiting(c.Data), checkConfiguration(loader.Path), checkWarnings(c), checkWorkspaces(loader, c, workspaces),
		checkNames(c), checkOutgoing(c), checkCredentials(c.Data), checkAgents(c), checkGit(ctx),
	} {
		answer.Findings = append(answer.Findings, found...)
	}
	for _, f := range answer.Findings {
		if f.Level == levelRisk {
			answer.Risks++
		}
	}
	if err := p.printDoctor(answer); err != nil {
		return err
	}
	if answer.Risks > 0 {
		return cli.Status(cli.ExitFailed)
	}
	return nil
}

func (p *program) printDoctor(answer doctorAnswer) error {
	if p.json {
		return p.printJSON(answer)
	}
	var text strings.Builder
	for _, f := range answer.Findings {
		fmt.Fprintf(&text, "%-4s  %s: %s\n", f.Level, f.Check, printable(f.What))
		if f.Do != "" {
			fmt.Fprintf(&text, "      %s\n", printable(f.Do))
		}
	}
	fmt.Fprintf(&text, "%s (docs/security.md)\n", counted(answer.Risks, "risk"))
	_, err := fmt.Fprint(p.stdout, text.String())
	return err
}

// printable shows control characters of names as escapes.
func printable(text string) string {
	quoted := fmt.Sprintf("%q", text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func checkUser() []finding {
	if os.Getuid() == 0 {
		return []finding{{levelRisk, "user", "this is root: each agent's command may change the whole machine", "run abide as a user of its own (docs/security.md, “Another user”)"}}
	}
	return []finding{{levelOK, "user", fmt.Sprintf("uid %d, not root", os.Getuid()), ""}}
}

// checkWaiting looks for events of recorders that the hub did not take.
func checkWaiting(data string) (found []finding) {
	dir := record.Dir(data)
	files, _ := os.ReadDir(dir) // most have none
	for _, f := range files {
		if strings.HasSuffix(f.Name(), record.RefusedEnding) {
			what := "events of a recorder that the hub did not take are in " + filepath.Join(dir, f.Name())
			found = append(found, finding{levelNote, "recordings", what, "each line is a JSON object: read them, then delete the file"})
		}
	}
	return found
}

// checkData looks for files of the data directory that others may read.
func checkData(dir string) []finding {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return []finding{{levelNote, "data", dir + " does not exist yet; `abide serve` makes it", ""}}
	}
	if err != nil {
		return []finding{{levelRisk, "data", err.Error(), "look at its permissions"}}
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return []finding{{levelRisk, "data", fmt.Sprintf("others may enter %s (mode %o)", dir, info.Mode().Perm()), "chmod -R go= " + dir}}
	}
	var found []finding
	for _, name := range []string{"auth.json", "cli.json", "grants.jsonl", "audit.jsonl"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			found = append(found, finding{levelRisk, "data", fmt.Sprintf("others may read %s (mode %o)", name, info.Mode().Perm()), "chmod 600 " + filepath.Join(dir, name)})
		}
	}
	if found == nil {
		found = []finding{{levelOK, "data", dir + " is the owner's alone", ""}}
	}
	return found
}

// checkConfiguration looks for secrets that are written out where others read them.
func checkConfiguration(path string) []finding {
	literal, open, err := literalSecrets(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []finding{{levelOK, "configuration", "there is none, and none is needed", ""}}
	case err != nil:
		return []finding{{levelRisk, "configuration", err.Error(), "look at its permissions"}}
	case len(literal) > 0 && open:
		return []finding{{levelRisk, "configuration", fmt.Sprintf("others may read %s, which holds %s", path, strings.Join(literal, ", ")),
			"chmod 600 " + path + ", or name variables: ${NAME}"}}
	}
	return []finding{{levelOK, "configuration", path + " shows no secret to others", ""}}
}

// checkWarnings lists what the configuration should say otherwise.
func checkWarnings(c config.Config) (found []finding) {
	for _, warning := range c.Warnings {
		found = append(found, finding{levelNote, "configuration", warning, ""})
	}
	return found
}

// literalSecrets are the secrets written out in a configuration, and whether others
// may read it.
func literalSecrets(path string) (literal []string, open bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, false, err
	}
	return config.LiteralSecrets(text), info.Mode().Perm()&0o044 != 0, nil
}

func checkWorkspaces(loader config.Loader, c config.Config, workspaces []string) []finding {
	var found []finding
	for _, e := range exposed(ownFiles(loader, c), workspaces) {
		found = append(found, finding{levelRisk, "workspaces", e.String(), "move it out of the workspace: --data DIR, --config FILE"})
	}
	home, _ := os.UserHomeDir()
	for _, workspace := range workspaces {
		if within(home, workspace) {
			found = append(found, finding{levelRisk, "workspaces", "sessions may run in " + workspace + ", which holds your keys and passwords", "name folders of projects under workspaces"})
		}
	}
	if found == nil {
		found = []finding{{levelOK, "workspaces", strings.Join(workspaces, ", "), ""}}
	}
	return found
}

func checkNames(c config.Config) []finding {
	if len(c.PublicNames) == 0 {
		return []finding{{levelOK, "names", "loopback only", ""}}
	}
	return []finding{{levelNote, "names", "the hub answers to " + strings.Join(c.PublicNames, ", "), "check that the proxy before it speaks https and passes Host on"}}
}

func checkOutgoing(c config.Config) []finding {
	if len(c.Outgoing.Allow) == 0 {
		return []finding{{levelOK, "outgoing", "public addresses only", ""}}
	}
	return []finding{{levelNote, "outgoing", fmt.Sprintf("the hub may send to %v, by http too", c.Outgoing.Allow), "allow single addresses, not networks"}}
}

func checkCredentials(dir string) []finding {
	if _, err := os.Stat(filepath.Join(dir, "auth.json")); err != nil {
		return []finding{{levelOK, "credentials", "none", ""}}
	}
	registry, err := auth.Open(dir, nil, nil)
	if err != nil {
		return []finding{{levelRisk, "credentials", err.Error(), ""}}
	}
	endless := slices.DeleteFunc(registry.Grants(), func(g auth.Grant) bool {
		return g.Kind != auth.KindToken || g.Scope != auth.Owner || !g.ExpiresAt.IsZero()
	})
	if len(endless) == 0 {
		return []finding{{levelOK, "credentials", "no owner's token is without an end", ""}}
	}
	var names []string
	for _, g := range endless {
		names = append(names, g.Actor())
	}
	return []finding{{levelNote, "credentials", counted(len(endless), "owner's token") + " without an end: " + strings.Join(names, ", "), "make tokens with --expires, revoke what is not used"}}
}

func checkAgents(c config.Config) []finding {
	return []finding{{levelNote, "agents", counted(len(c.Agents), "configured agent") + " of this hub's own user: a permission bounds mistakes, not malice", "for an agent that you do not trust: docs/security.md, “Another user”"}}
}

func checkGit(ctx context.Context) []finding {
	if _, err := gitstate.New(ctx, ""); err != nil {
		return []finding{{levelNote, "git", err.Error(), "branch and commit are read from files; the rest is left out"}}
	}
	return []finding{{levelOK, "git", gitstate.MinVersion + " or newer", ""}}
}
