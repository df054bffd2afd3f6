package gitstate

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mostReplaced bounds the settings that are replaced for one command: the
// environment that carries them has a bound of its own.
const mostReplaced = 2000

// configuration is a repository's configuration, with included files and the
// worktree's own. A key has its section and name in lower case.
type configuration struct {
	values map[string]string // the last value of each key
	own    map[string]string // those of the repository's own file
}

// configuration reads a repository's configuration. git reads it itself, since only
// git knows which files it includes; to list it runs nothing.
func (g *Git) configuration(ctx context.Context, r *Repository) (configuration, error) {
	if err := r.contained(); err != nil {
		return configuration{}, fmt.Errorf("read configuration: %w", err)
	}
	out, err := g.output(ctx, r.Worktree, r.Worktree, r.environment(), "config", "--list", "--includes", "--show-origin", "-z")
	if err != nil {
		return configuration{}, fmt.Errorf("read configuration: %w", err)
	}
	c := configuration{map[string]string{}, map[string]string{}}
	for rest := out; len(rest) > 0; {
		var origin, entry []byte
		origin, rest, _ = bytes.Cut(rest, []byte{0})
		entry, rest, _ = bytes.Cut(rest, []byte{0})
		key, value, _ := strings.Cut(string(entry), "\n")
		if key == "" {
			continue
		}
		c.values[key] = value
		if string(origin) == "file:"+filepath.Join(r.common, "config") {
			c.own[key] = value
		}
	}
	if n := len(c.replaced()); n > mostReplaced {
		return configuration{}, fmt.Errorf("read configuration: it names %d programs: %w", n, ErrTooLarge)
	}
	return c, nil
}

// overrides are environment entries that take the place of the repository's own
// settings. git's -c would not do: it ends a key at the first "=", and a filter's
// name may hold one.
func (c configuration) overrides() []string {
	set := always()
	maps.Copy(set, c.replaced())
	keys := slices.Sorted(maps.Keys(set))
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(keys))}
	for i, key := range keys {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, set[key]))
	}
	return env
}

// always are the settings that name a program, or start one, under a fixed key.
func always() map[string]string {
	return map[string]string{
		"core.hookspath":            "/dev/null",
		"core.fsmonitor":            "false",
		"core.untrackedcache":       "false",
		"core.sshcommand":           "false",
		"core.gitproxy":             "",
		"core.askpass":              "false",
		"core.editor":               "false",
		"core.pager":                "cat",
		"core.alternaterefscommand": "false",
		"core.attributesfile":       "/dev/null",
		"core.excludesfile":         "/dev/null",
		"credential.helper":         "",
		"diff.external":             "",
		"diff.orderfile":            "/dev/null",
		"diff.ignoresubmodules":     "all",
		"diff.submodule":            "short",
		"status.submodulesummary":   "false",
		"submodule.recurse":         "false",
		"merge.default":             "text",
		"merge.verifysignatures":    "false",
		"log.showsignature":         "false",
		"commit.gpgsign":            "false",
		"tag.gpgsign":               "false",
		"gpg.program":               "false",
		"gpg.ssh.program":           "false",
		"gpg.x509.program":          "false",
		"gpg.openpgp.program":       "false",
		"gpg.ssh.defaultkeycommand": "false",
		"interactive.difffilter":    "",
		"sequence.editor":           "false",
		"protocol.allow":            "never",
		"protocol.ext.allow":        "never",
		"fetch.recursesubmodules":   "false",
		"gc.auto":                   "0",
		"maintenance.auto":          "false",
	}
}

// replaced are the settings that name a program under a key with a name in it, for
// each name that the configuration has.
func (c configuration) replaced() map[string]string {
	set := map[string]string{}
	for key := range c.values {
		section, name, ok := named(key)
		if !ok {
			continue
		}
		for setting, value := range neutral(section) {
			set[section+"."+name+"."+setting] = value
		}
	}
	return set
}

// neutral are the settings that replace those of a section that may name a program.
// A merge driver fails, which leaves a conflict: an empty one would take one side.
func neutral(section string) map[string]string {
	switch section {
	case "filter":
		return map[string]string{"clean": "", "smudge": "", "process": "", "required": "false"}
	case "diff":
		return map[string]string{"command": "", "textconv": "", "cachetextconv": "false"}
	case "merge":
		return map[string]string{"driver": "false", "recursive": "text"}
	case "submodule":
		return map[string]string{"ignore": "all", "update": "none"}
	case "remote":
		return map[string]string{"uploadpack": "false", "receivepack": "false"}
	case "hook":
		return map[string]string{"enabled": "false", "command": "false"}
	case "credential":
		return map[string]string{"helper": ""}
	case "protocol":
		return map[string]string{"allow": "never"}
	case "trailer":
		return map[string]string{"cmd": "", "command": ""}
	}
	return nil
}

// named divides section.name.setting. The name may hold dots; it does not exist in
// a key of two parts.
func named(key string) (section, name string, ok bool) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 || first == last {
		return "", "", false
	}
	return key[:first], key[first+1 : last], true
}

// remote is where the repository comes from, without user and password: origin, or
// the first of its remotes. Empty where there is none. An included file may be another
// repository's.
func (c configuration) remote() string {
	if url, ok := c.own["remote.origin.url"]; ok {
		return withoutUser(url)
	}
	for _, key := range slices.Sorted(maps.Keys(c.own)) {
		if strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".url") {
			return withoutUser(c.own[key])
		}
	}
	return ""
}
