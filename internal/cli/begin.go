package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/server/wire"
)

// beginning are the flags of new and run.
type beginning struct {
	machine             string
	agent, folder, name string
	mode, model         string
	options             []string
	files               []string
	worktree            bool
	branch, base        string
}

func (b *beginning) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.agent, "agent", "", "the configured agent `A` (default: the first; `abide agents` lists them)")
	cmd.Flags().StringVar(&b.folder, "folder", "", "work in folder `F` (default: the current one; with --hub, the hub's default)")
	cmd.Flags().StringVar(&b.machine, "machine", "", "make it on the machine called `NAME`, among its agents and folders (default: its own)")
	cmd.Flags().StringVar(&b.name, "name", "", "display name of the session")
	cmd.Flags().StringVar(&b.mode, "mode", "", "begin in mode `M` of the agent (default: as configured; `abide agents` lists those known)")
	cmd.Flags().StringVar(&b.model, "model", "", "begin with model `M` of the agent")
	cmd.Flags().StringArrayVar(&b.options, "option", nil, "begin with option `K=V` of the agent: true, false or a word; may be given again")
	b.addWorktree(cmd, "the folder's commit")
}

// addWorktree adds the flags of a working copy, which begins where start says unless the
// person names a base.
func (b *beginning) addWorktree(cmd *cobra.Command, start string) {
	cmd.Flags().BoolVar(&b.worktree, "worktree", false, "work in a git worktree of the folder's repository, on a new branch")
	cmd.Flags().StringVar(&b.branch, "branch", "", "with --worktree, call the new branch `B` (default: abide/ and words of the prompt)")
	cmd.Flags().StringVar(&b.base, "base", "", "with --worktree, begin at the branch, tag or commit `REF` (default: "+start+")")
}

// newWorktree is the working copy that the flags ask for; nil if they ask for none.
func (b *beginning) newWorktree() (*wire.NewWorktree, error) {
	if b.worktree {
		return &wire.NewWorktree{Branch: b.branch, Base: b.base}, nil
	}
	if b.branch+b.base != "" {
		return nil, Usagef("--branch and --base go with --worktree")
	}
	return nil, nil
}

func (b *beginning) addFiles(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&b.files, "attach", nil, "send `FILE` with the prompt; may be given again")
}

// optionsOf reads options as K=V.
func optionsOf(list []string) (map[string]json.RawMessage, error) {
	options := map[string]json.RawMessage{}
	for _, text := range list {
		name, value, is := strings.Cut(text, "=")
		if !is || name == "" {
			return nil, Usagef("--option %q is not K=V: the id of an option, =, and its value", text)
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("option %s: %w", name, err)
		}
		if value == "true" || value == "false" {
			raw = []byte(value)
		}
		options[name] = raw
	}
	return options, nil
}
