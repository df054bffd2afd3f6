package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Flags are the settings of the command line. Nil means it said nothing.
type Flags struct {
	Addr *string
	Data *string
	Open *bool
}

// Loader knows where the configuration comes from.
type Loader struct {
	// Path is the file.
	Path string
	// Required makes a missing file an error, because the user named it.
	Required bool
	// Env is the environment, as "NAME=value".
	Env   []string
	Flags Flags
	// Dir is the base of relative paths of the environment and the flags.
	Dir string
}

// NewLoader returns a loader of the file that the flag, else ABIDE_CONFIG, else
// the user's configuration directory names.
func NewLoader(configFlag string, flags Flags, env []string, dir string) (Loader, error) {
	l := Loader{Env: env, Flags: flags, Dir: dir}
	named := configFlag
	if named == "" {
		named, _ = lookup(env, "ABIDE_CONFIG")
	}
	if named != "" {
		path, err := l.absolute(named, dir)
		if err != nil {
			return Loader{}, err
		}
		l.Path, l.Required = path, true
		return l, nil
	}
	base, err := l.userDir("XDG_CONFIG_HOME", ".config")
	if err != nil {
		return Loader{}, err
	}
	l.Path = filepath.Join(base, "abide", "config.yaml")
	return l, nil
}

// Load reads everything once. The error is an *Error unless the file could not
// be read.
func (l Loader) Load() (Config, error) {
	data, err := l.read()
	if err != nil {
		return Config{}, err
	}
	return l.parse(data)
}

// DataDir is the data directory, which clients of a running hub need: it is found in a
// configuration that the hub would refuse, too.
func (l Loader) DataDir() (string, error) {
	c, err := l.Load()
	if err == nil {
		return c.Data, nil
	}
	named, _ := lookup(l.Env, "ABIDE_DATA")
	if l.Flags.Data != nil && *l.Flags.Data != "" {
		named = *l.Flags.Data
	}
	if named != "" {
		return l.absolute(named, l.Dir)
	}
	data, unread := l.read()
	if unread != nil {
		return "", err
	}
	var f struct {
		Data string `yaml:"data"`
	}
	wrong := yaml.Unmarshal(asHere(data), &f)
	switch {
	case strings.Contains(f.Data, "${"), wrong != nil && dataLine.Match(data):
		return "", err
	case f.Data != "":
		return l.absolute(f.Data, filepath.Dir(l.Path))
	}
	base, noHome := l.userDir("XDG_DATA_HOME", filepath.Join(".local", "share"))
	if noHome != nil {
		return "", noHome
	}
	return filepath.Join(base, "abide"), nil
}

// dataLine matches a data directory in a file that is no YAML.
var dataLine = regexp.MustCompile(`(?m)^\s*["']?data["']?\s*:`)

func (l Loader) read() ([]byte, error) {
	data, err := os.ReadFile(l.Path)
	if errors.Is(err, fs.ErrNotExist) && !l.Required {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return data, nil
}

func (l Loader) parse(data []byte) (Config, error) {
	c := defaults()
	if err := l.applyFile(&c, data); err != nil {
		return Config{}, err
	}
	if err := l.applyEnv(&c); err != nil {
		return Config{}, err
	}
	if err := l.applyFlags(&c); err != nil {
		return Config{}, err
	}
	if c.Data != "" && c.Worktrees != "" {
		return c, nil
	}
	base, err := l.userDir("XDG_DATA_HOME", filepath.Join(".local", "share"))
	if err != nil && c.Data == "" {
		return Config{}, err
	}
	if c.Data == "" {
		c.Data = filepath.Join(base, "abide")
	}
	if c.Worktrees == "" && err == nil {
		c.Worktrees = filepath.Join(base, "abide-worktrees")
	}
	return c, nil
}

func (l Loader) applyFlags(c *Config) error {
	if l.Flags.Addr != nil {
		if err := checkAddr(*l.Flags.Addr); err != nil {
			return &Error{File: "--addr", Reason: err.Error(), cause: err}
		}
		c.Addr = *l.Flags.Addr
	}
	if l.Flags.Data != nil && *l.Flags.Data != "" {
		path, err := l.absolute(*l.Flags.Data, l.Dir)
		if err != nil {
			return &Error{File: "--data", Reason: err.Error()}
		}
		c.Data = path
	}
	if l.Flags.Open != nil {
		c.Open = *l.Flags.Open
	}
	return nil
}

// userDir is an XDG base directory. The specification has relative values
// ignored.
func (l Loader) userDir(variable, underHome string) (string, error) {
	if dir, ok := lookup(l.Env, variable); ok && filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := l.home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, underHome), nil
}

func (l Loader) home() (string, error) {
	if home, ok := lookup(l.Env, "HOME"); ok && filepath.IsAbs(home) {
		return home, nil
	}
	return "", &Error{File: "HOME", Reason: "is not set: name the data directory with --data and the file with --config"}
}

// absolute resolves ~ and relative paths.
func (l Loader) absolute(path, base string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		home, err := l.home()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, path[1:]), nil
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(base, path), nil
}

// lookup finds the last value of a variable, which is the one that counts.
func lookup(env []string, name string) (string, bool) {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}
