package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/abidehub/abide/internal/ownfiles"
)

// UnfitError says why sessions are not allowed in a folder, and what to do instead.
type UnfitError struct{ Reason string }

// Error implements error.
func (e *UnfitError) Error() string { return e.Reason }

// Fit returns a folder with its links resolved, or an *UnfitError: sessions may run
// neither in / or the home directory, nor in a folder that holds it, nor in the hub's
// own directories.
func (l Loader) Fit(folder string, own ownfiles.Set) (string, error) {
	path, err := l.absolute(folder, l.Dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", &UnfitError{fmt.Sprintf("%s does not exist: make it first", path)}
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() {
		return "", &UnfitError{fmt.Sprintf("%s is not a folder", path)}
	}
	home, err := l.home()
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	switch {
	case real == "/":
		return "", &UnfitError{"/ holds the whole machine: choose the folder of a project"}
	case err == nil && real == home:
		return "", &UnfitError{fmt.Sprintf("%s is your home directory, with your keys and settings: choose the folder of a project", l.Shown(real))}
	case err == nil && within(home, real):
		return "", &UnfitError{fmt.Sprintf("%s holds your home directory: choose the folder of a project", real)}
	case inOwn(real, own):
		return "", &UnfitError{fmt.Sprintf("%s belongs to the hub itself: choose the folder of a project", l.Shown(real))}
	}
	return real, nil
}

// Allow writes a folder into workspaces, unless a listed folder holds it, and returns
// the configuration and the folder with its links resolved. A folder that holds the
// hub's own files is an *UnfitError, too.
func (l Loader) Allow(folder string, own ownfiles.Set) (Config, string, error) {
	real, err := l.Fit(folder, own)
	if err != nil {
		return Config{}, "", err
	}
	for _, path := range own {
		if at, err := filepath.EvalSymlinks(path); err == nil && within(at, real) {
			return Config{}, "", &UnfitError{fmt.Sprintf("%s holds the hub's own files (%s): choose a folder in it", l.Shown(real), path)}
		}
	}
	if !utf8.ValidString(real) {
		return Config{}, "", &UnfitError{"the folder's name is not UTF-8, which the configuration cannot hold"}
	}
	allowed := func(c Config) bool {
		return slices.ContainsFunc(c.Workspaces, func(dir string) bool {
			if at, err := filepath.EvalSymlinks(dir); err == nil {
				dir = at
			}
			return within(real, dir)
		})
	}
	c, err := l.Load()
	if err == nil && !allowed(c) {
		c, err = l.Add(Entry{Option: "workspaces", Value: Text(l.Shown(real))}, allowed)
	}
	return c, real, err
}

// AddPublicName writes a name into public_names, unless it is there, and returns the
// configuration.
func (l Loader) AddPublicName(name string) (Config, error) {
	name, err := checkPublicName(name)
	if err != nil {
		return Config{}, err
	}
	named := func(c Config) bool { return slices.Contains(c.PublicNames, name) }
	c, err := l.Load()
	if err == nil && !named(c) {
		c, err = l.Add(Entry{Option: "public_names", Value: Text(name)}, named)
	}
	return c, err
}

// AddAgent writes an agent into agents and returns the configuration and the lines
// added. An agent of that name must not exist. Of a, only Name, Command and Env count.
func (l Loader) AddAgent(a Agent) (c Config, lines string, err error) {
	if err := CheckAgentName(a.Name); err != nil {
		return Config{}, "", err
	}
	var words []string
	for _, word := range a.Command {
		words = append(words, Text(word))
	}
	value := "command: [" + strings.Join(words, ", ") + "]"
	if len(a.Env) > 0 {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(a.Env)) {
			pairs = append(pairs, Text(name)+": "+Text(a.Env[name]))
		}
		value += ", env: {" + strings.Join(pairs, ", ") + "}"
	}
	e := Entry{Option: "agents", Name: a.Name, Value: "{" + value + "}"}
	c, err = l.Add(e, func(c Config) bool {
		return slices.ContainsFunc(c.Agents, func(b Agent) bool { return b.Name == a.Name && slices.Equal(b.Command, a.Command) })
	})
	return c, e.Lines(), err
}

// CheckAgentName returns an error if no agent can have that name.
func CheckAgentName(name string) error {
	if !agentName.MatchString(name) {
		return fmt.Errorf("%q is not an agent's name: lower-case letters, digits, - and _", name)
	}
	return nil
}

// Shown is a path as a person writes it, with ~ for the home directory.
func (l Loader) Shown(path string) string {
	home, err := l.home()
	if err != nil {
		return path
	}
	for _, dir := range []string{home, realOr(home)} {
		if path == dir {
			return "~"
		}
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok && dir != "/" {
			return "~/" + rest
		}
	}
	return path
}

func realOr(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// inOwn reports whether a path is one of the hub's own files or below one.
func inOwn(path string, own ownfiles.Set) bool {
	infos := own.Infos()
	for at := path; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && slices.ContainsFunc(infos, func(of os.FileInfo) bool { return os.SameFile(info, of) }) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// within reports whether a path is dir or below it; both are clean.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
