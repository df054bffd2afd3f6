package gitstate_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
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
	attributes := func(name, text string) func(*testing.T, string, string) string {
		return func(t *testing.T, dir, program string) string {
			add(t, filepath.Join(dir, ".git/config"), "\n"+replace(filter, program))
			put(t, filepath.Join(dir, name), text)
			if name != ".git/info/attributes" {
				plain(t, dir, "-c", "filter.evil.clean=cat", "-c", "filter.evil.required=false", "add", name)
				plain(t, dir, "-c", "filter.evil.clean=cat", "commit", "-q", "-m", "attributes")
			}
			put(t, filepath.Join(dir, "README.md"), "# OURS!\n")
			return dir
		}
	}
	included := func(condition string) func(*testing.T, string, string) string {
		return func(t *testing.T, dir, program string) string {
			work := attributes(".gitattributes", "* filter=evil\n")(t, dir, "true")
			put(t, filepath.Join(dir, ".git/config"), "[core]\n repositoryformatversion = 0\n bare = false\n[remote \"origin\"]\n url = https://host/x\n[includeIf \""+condition+"\"]\n path = evil\n")
			put(t, filepath.Join(dir, ".git/evil"), replace(filter, program))
			return work
		}
	}
	return map[string]func(*testing.T, string, string) string{
		"attributes after a byte order mark":     attributes(".gitattributes", "\xef\xbb\xbf* filter=evil\n"),
		"attributes after a form feed":           attributes(".gitattributes", "*\t \rfilter=evil\n* filter=evil\f\n* filter=evil\n"),
		"attributes after a comment of another":  attributes(".gitattributes", "\v# * -filter\n* filter=evil\n"),
		"attributes with a carriage return":      attributes(".gitattributes", "* filter=evil\r\n"),
		"attributes with a quoted pattern":       attributes(".gitattributes", "\"README\\056md\" filter=evil\n"),
		"attributes by a macro":                  attributes(".gitattributes", "[attr]quiet filter=evil\n* quiet\n"),
		"attributes behind a long line":          attributes(".gitattributes", "x "+strings.Repeat("a", 3000)+"\n* filter=evil\n"),
		"attributes of this copy alone":          attributes(".git/info/attributes", "* filter=evil\n"),
		"attributes by a macro of this copy":     attributes(".git/info/attributes", "[attr]quiet filter=evil\nREADME.md quiet\n"),
		"a file included by the git directory":   included("gitdir:**/.git"),
		"a file included by a folder's case":     included("gitdir/i:**/.GIT"),
		"a file included on any branch":          included("onbranch:**"),
		"a file included by a remote's address":  included("hasconfig:remote.*.url:https://host/**"),
		"a file included by a new git directory": included("gitdir:**/.git/worktrees/**"),
		"alias":                                  configure("[alias]\n status = !PROGRAM\n st = !PROGRAM\n[pager]\n status = PROGRAM\n diff = PROGRAM\n"),
		"credential helper":                      configure("[credential]\n helper = !PROGRAM\n[credential \"https://host\"]\n helper = !PROGRAM\n[core]\n askPass = PROGRAM\n"),
		"attr.tree":                              configure("[attr]\n tree = other\n" + filter),
		"hooks in the configuration":             configure("[hook \"evil\"]\n event = post-index-change\n event = reference-transaction\n event = post-checkout\n command = PROGRAM\n"),
		"hooks in another folder": func(t *testing.T, dir, program string) string {
			require.NoError(t, os.Mkdir(filepath.Join(dir, "hooks"), 0o755))
			for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit"} {
				require.NoError(t, os.Symlink(program, filepath.Join(dir, "hooks", hook)))
			}
			add(t, filepath.Join(dir, ".git/config"), "\n[core]\n hooksPath = hooks\n")
			return dir
		},
		"objects of another repository, with refs": func(t *testing.T, dir, program string) string {
			put(t, filepath.Join(dir, ".git/objects/info/alternates"), filepath.Join(repository(t), ".git/objects")+"\n")
			add(t, filepath.Join(dir, ".git/config"), replace("\n[core]\n alternateRefsCommand = PROGRAM\n fsmonitor = PROGRAM\n", program))
			return dir
		},
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

// calls are all calls of git that the hub makes.
func calls(ctx context.Context, t *testing.T, g *gitstate.Git, work string) map[string]error {
	r := find(t, work)
	commit := plain(t, work, "rev-parse", "HEAD")
	said := map[string]error{}
	_, said["identify"] = g.Identify(ctx, work)
	g.Standing(ctx, r)
	_, said["status"] = g.Status(ctx, r, work, 10)
	_, said["diff"] = g.DiffStat(ctx, r, work, "HEAD", 10)
	_, said["names"] = g.Run(ctx, r, work, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	content, err := g.Committed(ctx, r, "README.md", 1<<10)
	if said["committed"] = err; err == nil {
		require.Equal(t, "# Ours\n", string(content))
	}
	made := filepath.Join(t.TempDir(), "made")
	m := gitstate.Mark{Request: "r", Branch: "abide/made", Commit: commit}
	_, _, said["commit"] = g.Commit(ctx, r, "HEAD~0")
	if g.AddWorktree(ctx, r, made, m) == nil { // it may refuse
		if again, err := gitstate.Find(made); err == nil { // a second git directory
			_, said["status of the worktree"] = g.Status(ctx, again, made, 10)
			_, said["diff of the worktree"] = g.DiffStat(ctx, again, made, "HEAD", 10)
		}
		said["remove the worktree"] = g.RemoveWorktree(ctx, r, *madeFor(t, r, "r"), gitstate.Removal{})
	}
	entries, err := g.Tree(ctx, r, commit)
	if said["tree"] = err; err == nil {
		root, err := os.OpenRoot(t.TempDir())
		require.NoError(t, err)
		defer root.Close()
		_ = g.WriteFiles(ctx, r, root, entries) // it may refuse
	}
	for _, args := range [][]string{ // the hub gives none of these
		{"worktree", "add", "-q", "--detach", "../another", "HEAD"}, {"checkout", "-q", "-f", "HEAD"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-a", "-m", "all"},
		{"fetch", "-q", "--all"}, {"gc", "--auto"},
	} {
		_, _ = g.Run(ctx, r, work, args...)
	}
	return said
}

// No program that this git could run is run. What a later git may run is shown in the
// environment, arguments and configuration of each call: they are the hub's own.
func TestFault80NothingOfAHostileRepositoryRuns(t *testing.T) {
	require.GreaterOrEqual(t, len(hostile()), 40)
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	from, byHand := mergeable(t), newGit(t)
	for name, make := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := filepath.Join(t.TempDir(), "seen")
			g, err := gitstate.New(t.Context(), fakeGit(t, "{ env; echo \"argv=$*\"; "+
				"[ -f \"$GIT_DIR/config\" ] && sed 's/^/line=/' \"$GIT_DIR/config\"; } >> "+seen+"\nexec "+real+" \"$@\"\n"))
			require.NoError(t, err)
			tr := newTrap(t)
			work := make(t, copied(t, from), tr.program)
			require.Empty(t, tr.sprung(t), "the trap is set, not sprung")
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			defer cancel()
			refused := strings.HasPrefix(name, "objects of another")
			for call, err := range calls(ctx, t, g, work) {
				if !refused && !strings.HasPrefix(name, "partial clone") { // missing objects cannot be told
					require.NoError(t, err, call)
				}
			}
			require.Empty(t, tr.sprung(t), "a program of the repository ran")
			if refused {
				require.NoFileExists(t, seen)
				return
			}
			requireOwn(t, seen)
			_, _ = byHand.SignsByHand(ctx, find(t, work), gitstate.Signing{}) // it may refuse the configuration
			require.Empty(t, tr.sprung(t), "a program of the repository ran")
		})
	}
}

// requireOwn looks at what git was given.
func requireOwn(t *testing.T, seen string) {
	t.Helper()
	text, err := os.ReadFile(seen)
	require.NoError(t, err)
	settings := regexp.MustCompile(`^(\[(core|extensions|index|protocol|submodule|diff|gc|maintenance)\]|` +
		`bare = false|hooksPath = /dev/null|fsmonitor = false|untrackedCache = false|attributesFile = /dev/null|excludesFile = /dev/null|` +
		`allow = never|recurse = false|ignoreSubmodules = all|auto = 0|auto = false|` +
		`(repositoryformatversion|filemode|sparsecheckout) = (0|1|true|false))$`)
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "GIT_DIR":
			require.Regexp(t, "^(/nonexistent|"+os.TempDir()+"/abide-git-[0-9]+)$", value)
		case "line":
			require.Regexp(t, settings, strings.TrimSpace(value))
		case "argv":
			require.NotContains(t, value, "attr-source")
			require.NotContains(t, value, "--source=")
		default:
			require.NotContains(t, []string{"GIT_ATTR_SOURCE", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG", "GIT_COMMON_DIR",
				"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_NAMESPACE"}, key)
		}
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

// copied is a copy of a repository. To make one takes ten processes.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	out, err := exec.Command("cp", "-a", from, dir).CombinedOutput()
	require.NoError(t, err, string(out))
	return dir
}

// The traps are real ones: git as a person runs it springs them.
func TestGitAsAPersonRunsItRunsWhatTheRepositoryNames(t *testing.T) {
	later := []string{"attr.tree", "hooks in the configuration"} // of a later git
	from := mergeable(t)
	for name, make := range hostile() {
		if slices.Contains(later, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrap(t)
			work := make(t, copied(t, from), tr.program)
			for _, args := range [][]string{{"status"}, {"diff", "HEAD"}, {"commit", "-a"}, {"commit", "-q", "-a", "-m", "all"}, {"merge", "other"}, {"st"},
				{"worktree", "add", filepath.Join(t.TempDir(), "made"), "HEAD"}, {"credential", "fill"}} {
				ctx, cancel := context.WithTimeout(t.Context(), bound)
				cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-p"}, args...)...)
				cmd.Dir = work
				cmd.Stdin = strings.NewReader("protocol=https\nhost=host\n\n")
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "VISUAL=false"}
				_ = cmd.Run() // its outcome does not matter
				cancel()
			}
			require.NotEmpty(t, tr.sprung(t))
		})
	}
}
