package gitstate_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostile are repositories that name a program to run. Each is made from one whose
// README.md was changed after the commit; it returns where the hub works.
func hostile() map[string]func(t *testing.T, dir, program string) string {
	configure := func(text string) func(*testing.T, string, string) string {
		return func(t *testing.T, dir, program string) string {
			put(t, filepath.Join(dir, ".gitattributes"), "* filter=evil diff=evil merge=evil\n")
			add(t, filepath.Join(dir, ".git/config"), "\n"+replace(text, program))
			return dir
		}
	}
	const filter = "[filter \"evil\"]\n clean = PROGRAM\n smudge = PROGRAM\n required = true\n"
	return map[string]func(*testing.T, string, string) string{
		"filter":                   configure(filter),
		"filter process":           configure("[filter \"evil\"]\n process = PROGRAM\n required = true\n"),
		"filter in an old section": configure("[filter.evil]\n clean = PROGRAM\n"),
		"fsmonitor":                configure("[core]\n fsmonitor = PROGRAM\n"),
		"external diff":            configure("[diff]\n external = PROGRAM\n"),
		"diff driver":              configure("[diff \"evil\"]\n command = PROGRAM\n"),
		"textconv":                 configure("[diff \"evil\"]\n textconv = PROGRAM\n"),
		"merge driver":             configure("[merge \"evil\"]\n driver = PROGRAM\n[merge]\n default = evil\n"),
		"signing":                  configure("[commit]\n gpgSign = true\n[gpg]\n program = PROGRAM\n[log]\n showSignature = true\n"),
		"editor":                   configure("[core]\n editor = PROGRAM\n[sequence]\n editor = PROGRAM\n"),
		"hooks": func(t *testing.T, dir, program string) string {
			for _, hook := range []string{"pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-checkout", "post-merge", "pre-merge-commit", "post-index-change", "reference-transaction"} {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git/hooks"), 0o755))
				require.NoError(t, os.Symlink(program, filepath.Join(dir, ".git/hooks", hook)))
			}
			add(t, filepath.Join(dir, ".git/config"), replace("\n[hook \"evil\"]\n event = pre-commit\n command = PROGRAM\n", program))
			return dir
		},
		"filter with = in its name": func(t *testing.T, dir, program string) string {
			put(t, filepath.Join(dir, ".gitattributes"), "* filter=ev=il\n")
			add(t, filepath.Join(dir, ".git/config"), replace("\n[filter \"ev=il\"]\n clean = PROGRAM\n smudge = PROGRAM\n", program))
			return dir
		},
		"filter with dots in its name": func(t *testing.T, dir, program string) string {
			put(t, filepath.Join(dir, ".gitattributes"), "* filter=ev.il.clean\n")
			add(t, filepath.Join(dir, ".git/config"), replace("\n[filter \"ev.il.clean\"]\n clean = PROGRAM\n smudge = PROGRAM\n", program))
			return dir
		},
		"included file": func(t *testing.T, dir, program string) string {
			put(t, filepath.Join(dir, ".gitattributes"), "* filter=evil\n")
			put(t, filepath.Join(dir, "more"), replace(filter, program))
			add(t, filepath.Join(dir, ".git/config"), "\n[include]\n path = ../more\n")
			return dir
		},
		"file included on a branch": func(t *testing.T, dir, program string) string {
			put(t, filepath.Join(dir, ".gitattributes"), "* filter=evil\n")
			put(t, filepath.Join(dir, "more"), replace(filter, program))
			add(t, filepath.Join(dir, ".git/config"), "\n[includeIf \"onbranch:main\"]\n path = ../more\n")
			return dir
		},
		"worktree configuration": func(t *testing.T, dir, program string) string {
			put(t, filepath.Join(dir, ".gitattributes"), "* filter=evil\n")
			plain(t, dir, "config", "extensions.worktreeConfig", "true")
			put(t, filepath.Join(dir, ".git/config.worktree"), replace(filter, program))
			return dir
		},
		"linked worktree": func(t *testing.T, dir, program string) string {
			linked := filepath.Join(t.TempDir(), "linked")
			plain(t, dir, "worktree", "add", "-q", "-b", "side", linked)
			put(t, filepath.Join(linked, ".gitattributes"), "* filter=evil\n")
			put(t, filepath.Join(linked, "README.md"), "# OURS\n")
			plain(t, dir, "config", "extensions.worktreeConfig", "true")
			put(t, filepath.Join(dir, ".git/worktrees/linked/config.worktree"), replace(filter, program))
			return linked
		},
		"submodule configuration": func(t *testing.T, dir, program string) string {
			inner := repository(t)
			plain(t, dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "inner")
			plain(t, dir, "commit", "-q", "-m", "submodule")
			put(t, filepath.Join(dir, "inner/.gitattributes"), "* filter=evil\n")
			put(t, filepath.Join(dir, "inner/README.md"), "# Changed\n")
			add(t, filepath.Join(dir, ".git/modules/inner/config"), replace("\n"+filter+"[core]\n fsmonitor = PROGRAM\n", program))
			add(t, filepath.Join(dir, ".git/config"), "\n[submodule \"inner\"]\n ignore = none\n[diff]\n ignoreSubmodules = none\n submodule = log\n[submodule]\n recurse = true\n")
			return dir
		},
		"partial clone": func(t *testing.T, dir, program string) string {
			blob := plain(t, dir, "rev-parse", "HEAD:README.md")
			require.NoError(t, os.Remove(filepath.Join(dir, ".git/objects", blob[:2], blob[2:])))
			add(t, filepath.Join(dir, ".git/config"), replace("\n[core]\n repositoryformatversion = 1\n sshCommand = PROGRAM\n[extensions]\n partialClone = evil\n"+
				"[remote \"evil\"]\n url = ext::PROGRAM\n promisor = true\n partialclonefilter = blob:none\n[protocol \"ext\"]\n allow = always\n[protocol]\n allow = always\n", program))
			return dir
		},
		"partial clone by ssh": func(t *testing.T, dir, program string) string {
			blob := plain(t, dir, "rev-parse", "HEAD:README.md")
			require.NoError(t, os.Remove(filepath.Join(dir, ".git/objects", blob[:2], blob[2:])))
			add(t, filepath.Join(dir, ".git/config"), replace("\n[core]\n repositoryformatversion = 1\n sshCommand = PROGRAM\n[extensions]\n partialClone = evil\n"+
				"[remote \"evil\"]\n url = ssh://host/x\n promisor = true\n", program))
			return dir
		},
		"partial clone by upload-pack": func(t *testing.T, dir, program string) string {
			blob := plain(t, dir, "rev-parse", "HEAD:README.md")
			require.NoError(t, os.Remove(filepath.Join(dir, ".git/objects", blob[:2], blob[2:])))
			add(t, filepath.Join(dir, ".git/config"), replace("\n[core]\n repositoryformatversion = 1\n[extensions]\n partialClone = evil\n"+
				"[remote \"evil\"]\n url = /tmp\n uploadpack = PROGRAM\n promisor = true\n", program))
			return dir
		},
	}
}

// replace names the program in a configuration.
func replace(text, program string) string { return strings.ReplaceAll(text, "PROGRAM", program) }

func TestFault80NothingOfAHostileRepositoryRuns(t *testing.T) {
	commands := [][]string{
		{"status", "--porcelain"},
		{"diff", "HEAD"},
		{"worktree", "add", "-q", "--detach", "../another", "HEAD"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-a", "-m", "all"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "merge", "-q", "other"},
	}
	g := newGit(t)
	for name, make := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrap(t)
			dir := mergeable(t)
			work := make(t, dir, tr.program)
			require.Empty(t, tr.sprung(t), "the trap is set, not sprung")
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			defer cancel()

			id, err := g.Identify(ctx, work)
			require.NoError(t, err)
			require.NotEmpty(t, id.Commit)
			r := find(t, work)
			_, statusErr := g.Status(ctx, r, work, 10)
			_, diffErr := g.DiffStat(ctx, r, work, "HEAD", 10)
			committed, committedErr := g.Committed(ctx, r, "README.md", 1<<10)
			_ = g.AddWorktree(ctx, r, filepath.Join(t.TempDir(), "made"), id.Commit) // it may refuse
			for _, args := range commands {
				_, _ = g.Run(ctx, r, work, args...) // that it may fail is not this test's matter
			}
			require.Empty(t, tr.sprung(t), "a program of the repository ran")
			if !strings.HasPrefix(name, "partial clone") { // missing objects cannot be told
				require.NoError(t, statusErr)
				require.NoError(t, diffErr)
				require.NoError(t, committedErr)
				require.Equal(t, "# Ours\n", string(committed))
			}
		})
	}
}

// mergeable is a repository with a changed file and a branch to merge.
func mergeable(t *testing.T) string {
	t.Helper()
	dir := repository(t)
	plain(t, dir, "checkout", "-q", "-b", "other")
	commit(t, dir, "README.md", "# Theirs\n")
	plain(t, dir, "checkout", "-q", "main")
	commit(t, dir, "README.md", "# Ours\n")
	put(t, filepath.Join(dir, "README.md"), "# OURS\n")
	return dir
}

// The traps are real ones: git as a person runs it springs them.
func TestGitAsAPersonRunsItRunsWhatTheRepositoryNames(t *testing.T) {
	for name, make := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrap(t)
			work := make(t, mergeable(t), tr.program)
			for _, args := range [][]string{{"status"}, {"diff", "HEAD"}, {"commit", "-a"}, {"commit", "-q", "-a", "-m", "all"}, {"merge", "other"}} {
				ctx, cancel := context.WithTimeout(t.Context(), bound)
				cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-p"}, args...)...)
				cmd.Dir = work
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "VISUAL=false"}
				_ = cmd.Run() // its outcome does not matter
				cancel()
			}
			require.NotEmpty(t, tr.sprung(t))
		})
	}
}
