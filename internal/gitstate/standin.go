package gitstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mostPatterns bounds the files of a git directory that are copied into a stand-in.
const mostPatterns = 1 << 20

// standIn is the git directory that git is given in the place of the repository's: a
// new folder with a configuration that the hub wrote. Objects and index are the
// repository's, HEAD names the commit, and its patterns are copies. So git reads no
// configuration of the repository, whatever that includes, and no refs.
type standIn struct {
	repository *Repository
	dir        string
	own        map[string]string // the repository's own configuration
	index      string
}

// standIn makes the stand-in of a repository. The caller removes it.
func (g *Git) standIn(ctx context.Context, r *Repository) (*standIn, error) {
	if err := r.contained(); err != nil {
		return nil, fmt.Errorf("read the repository: %w", err)
	}
	head, err := r.Head()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	own, err := g.configuration(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	dir, err := os.MkdirTemp("", "abide-git-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for git: %w", err)
	}
	s := &standIn{repository: r, dir: dir, own: own, index: filepath.Join(r.dir, "index")}
	if err := s.fill(head); err != nil {
		s.remove()
		return nil, fmt.Errorf("make a folder for git: %w", err)
	}
	return s, nil
}

func (s *standIn) remove() { _ = os.RemoveAll(s.dir) } // it is in the folder for temporary files

// command is a git command in a folder of the worktree.
func (s *standIn) command(folder string, args ...string) command {
	r := s.repository
	return command{worktree: r.Worktree, dir: folder, args: safeArgs(args), env: []string{
		"GIT_DIR=" + s.dir, "GIT_WORK_TREE=" + r.Worktree, "GIT_INDEX_FILE=" + s.index,
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(r.common, "objects"),
	}}
}

// configuration lists the repository's own configuration, without the files that it
// includes. A key has its section and name in lower case. git reads the text alone,
// outside of any repository.
func (g *Git) configuration(ctx context.Context, r *Repository) (map[string]string, error) {
	own, err := g.listed(ctx, r, r.common, "config")
	if err != nil || !isTrue(own["extensions.worktreeconfig"]) {
		return own, err
	}
	worktree, err := g.listed(ctx, r, r.dir, "config.worktree")
	maps.Copy(own, worktree)
	return own, err
}

func (g *Git) listed(ctx context.Context, r *Repository, dir, name string) (map[string]string, error) {
	values := map[string]string{}
	text, err := readRegular(dir, name, mostConfig)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return values, nil
	}
	if err != nil {
		return nil, err
	}
	if known, ok := g.parsed.values(text); ok {
		return known, nil
	}
	out, err := g.output(ctx, command{
		worktree: r.Worktree, dir: "/", in: bytes.NewReader(text), env: []string{"GIT_DIR=/nonexistent"},
		args: []string{"config", "--file", "-", "--no-includes", "--list", "-z"},
	})
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		if key, value, ok := strings.Cut(string(entry), "\n"); ok {
			values[key] = value
		} else if key != "" {
			values[key] = "true"
		}
	}
	if err == nil {
		g.parsed.keep(text, values)
	}
	return values, err
}

// taken are the settings that a stand-in takes from the repository's configuration: how
// its objects and names are read. Each has the values that it may have; without any it
// is true or false. No value can name a program or a file.
func taken() map[string][]string {
	return map[string][]string{
		"core.repositoryformatversion": {"0", "1"},
		"extensions.objectformat":      {"sha1", "sha256"},
		"extensions.refstorage":        {"files", "reftable"},
		"core.autocrlf":                {"true", "false", "input"},
		"core.eol":                     {"lf", "crlf", "native"},
		"core.checkstat":               {"default", "minimal"},
		"core.filemode":                nil,
		"core.ignorecase":              nil,
		"core.precomposeunicode":       nil,
		"core.symlinks":                nil,
		"core.trustctime":              nil,
		"core.sparsecheckout":          nil,
		"core.sparsecheckoutcone":      nil,
		"index.sparse":                 nil,
	}
}

// fixed begins the configuration of each stand-in. Most of it is git's default; it is
// written so that a git whose defaults differ does the same.
const fixed = `[core]
	bare = false
	hooksPath = /dev/null
	fsmonitor = false
	untrackedCache = false
	attributesFile = /dev/null
	excludesFile = /dev/null
[protocol]
	allow = never
[submodule]
	recurse = false
[diff]
	ignoreSubmodules = all
[gc]
	auto = 0
[maintenance]
	auto = false
`

// text is the stand-in's configuration.
func (s *standIn) text() string {
	var b strings.Builder
	b.WriteString(fixed)
	if s.repository.private {
		b.WriteString("[core]\n\tsharedRepository = 0600\n")
	}
	may := taken()
	for _, key := range slices.Sorted(maps.Keys(may)) {
		value := strings.ToLower(s.own[key])
		if may[key] == nil || may[key][0] == "true" {
			switch {
			case isTrue(value):
				value = "true"
			case slices.Contains([]string{"false", "no", "off", "0"}, value):
				value = "false"
			}
		}
		if slices.Contains(may[key], value) || may[key] == nil && (value == "true" || value == "false") {
			section, name, _ := strings.Cut(key, ".")
			fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", section, name, value)
		}
	}
	return b.String()
}

func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

// fill writes the stand-in's files.
func (s *standIn) fill(head Head) error {
	r := s.repository
	for _, name := range []string{"refs", "objects", "info"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
			return err
		}
	}
	at := "ref: refs/heads/.invalid" // of reftable
	switch {
	case head.Commit != "":
		at = head.Commit
	case head.Branch != "":
		at = "ref: refs/heads/" + head.Branch
	case r.dir == r.common:
		if err := os.Symlink(filepath.Join(r.dir, "reftable"), filepath.Join(s.dir, "reftable")); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"HEAD": at + "\n", "config": s.text()} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for name, of := range map[string]string{"info/exclude": r.common, "info/attributes": r.common, "info/sparse-checkout": r.dir, "shallow": r.common} {
		text, err := readRegular(of, name, mostPatterns)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(s.dir, name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return s.linkSharedIndexes()
}

// linkSharedIndexes lets git find the files that a split index names.
func (s *standIn) linkSharedIndexes() error {
	shared, err := filepath.Glob(filepath.Join(globSafe(s.repository.dir), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, path := range shared {
		if err := os.Symlink(path, filepath.Join(s.dir, filepath.Base(path))); err != nil {
			return err
		}
	}
	return nil
}

// globSafe quotes a path for filepath.Glob.
func globSafe(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// remote is where the repository comes from, without user and password: origin, or
// the first of its remotes. Empty where there is none.
func (s *standIn) remote() string {
	if url, ok := s.own["remote.origin.url"]; ok {
		return withoutUser(url)
	}
	for _, key := range slices.Sorted(maps.Keys(s.own)) {
		if strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".url") {
			return withoutUser(s.own[key])
		}
	}
	return ""
}
