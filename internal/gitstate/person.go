package gitstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoPerson says that git's configuration does not name the person that commits.
var ErrNoPerson = errors.New("git does not know who you are")

// Person is the name and address that a person's git writes into commits.
type Person struct{ Name, Email string }

// personal are the settings of a repository and of the person that the hub runs as, as
// far as a commit needs them.
type personal struct {
	values map[string]string
	// partly is set if a file of the person includes others, which are not read.
	partly string
}

// personal reads the person's files and the repository's. No program runs but git, on
// their text. A file that the repository includes is not read.
func (g *Git) personal(ctx context.Context, s *standIn) (personal, error) {
	p := personal{values: map[string]string{}}
	for _, path := range personalFiles() {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		values, err := g.listed(ctx, s.repository, filepath.Dir(path), filepath.Base(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return p, fmt.Errorf("read %s: %w", path, err)
		}
		for key := range values {
			if strings.HasPrefix(key, "include.") || strings.HasPrefix(key, "includeif.") {
				p.partly = path
			}
		}
		maps.Copy(p.values, values)
	}
	maps.Copy(p.values, s.own)
	return p, nil
}

// personalFiles are git's system and user configuration, in the order in which git reads
// them.
func personalFiles() []string {
	var files []string
	if off := os.Getenv("GIT_CONFIG_NOSYSTEM"); off == "" || off == "0" || off == "false" {
		files = append(files, "/etc/gitconfig")
	}
	if global, set := os.LookupEnv("GIT_CONFIG_GLOBAL"); set {
		if global == "" || global == os.DevNull {
			return files
		}
		return append(files, global)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return files
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	return append(files, filepath.Join(config, "git", "config"), filepath.Join(home, ".gitconfig"))
}

// person is who commits.
func (p personal) person(s *standIn) (Person, error) {
	who := Person{Name: strings.TrimSpace(p.values["user.name"]), Email: strings.TrimSpace(p.values["user.email"])}
	if p.partly != "" && (s.own["user.name"] == "" || s.own["user.email"] == "") {
		return who, fmt.Errorf("%w: %s includes other files, which the hub does not read; say it in this repository: git config user.name NAME, git config user.email ADDRESS", ErrNoPerson, p.partly)
	}
	for _, text := range []string{who.Name, who.Email} {
		if text == "" || strings.ContainsAny(text, "\n\x00<>") {
			return who, fmt.Errorf("%w: git config --global user.name NAME, git config --global user.email ADDRESS", ErrNoPerson)
		}
	}
	return who, nil
}

// signs reports whether the person's commits are to be signed.
func (p personal) signs() bool { return isTrue(p.values["commit.gpgsign"]) }

// converts says which setting makes git change line ends between a file and its object;
// empty if none does.
func (p personal) converts() string {
	if value := strings.ToLower(p.values["core.autocrlf"]); isTrue(value) || value == "input" {
		return "core.autocrlf"
	}
	return ""
}

// environment makes git write this person's name.
func (w Person) environment() []string {
	env := []string{
		"GIT_AUTHOR_NAME=" + w.Name, "GIT_AUTHOR_EMAIL=" + w.Email,
		"GIT_COMMITTER_NAME=" + w.Name, "GIT_COMMITTER_EMAIL=" + w.Email,
	}
	if zone, set := os.LookupEnv("TZ"); set {
		env = append(env, "TZ="+zone)
	}
	return env
}

// Signs reports whether the person's commits are to be signed, as far as the files say that the
// hub reads: what they include is not read.
func (g *Git) Signs(ctx context.Context, r *Repository) (bool, error) {
	s, err := g.standIn(ctx, r)
	if err != nil {
		return false, err
	}
	defer s.remove()
	p, err := g.personal(ctx, s)
	return p.signs(), err
}
