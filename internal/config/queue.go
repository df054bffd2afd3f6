package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// applyQueue reads how prompts wait where a project has nothing else.
func (r reader) applyQueue(c *Config, f file) error {
	if field, err := f.Queue.Everywhere.apply(&c.Queue); err != nil {
		return r.wrong("$.queue."+field, "%v", err)
	}
	return nil
}

// applyProjects reads the settings of directories, and queue.workspaces, their
// former place.
func (r reader) applyProjects(c *Config, f file) error {
	for _, dir := range slices.Sorted(maps.Keys(f.Projects)) {
		if err := r.applyProject(c, dir, f.Projects[dir], "projects", dir); err != nil {
			return err
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(f.Queue.Workspaces)) {
		queue := f.Queue.Workspaces[dir]
		if err := r.applyProject(c, dir, fileProject{Queue: &queue}, "queue", "workspaces", dir); err != nil {
			return err
		}
	}
	if len(f.Queue.Workspaces) > 0 {
		c.Warnings = append(c.Warnings, "queue.workspaces is now called projects: write projects: {DIRECTORY: {queue: {…}}}")
	}
	return nil
}

// applyProject reads the settings of a directory, to which the keys lead.
func (r reader) applyProject(c *Config, dir string, f fileProject, keys ...string) error {
	wrong := func(err error, below ...string) error {
		names := append(slices.Clone(keys), below...)
		return &Error{File: r.loader.Path, Line: r.lineOf(names...), Reason: fmt.Sprintf("%s: %v", strings.Join(names, "."), err), cause: err}
	}
	path, err := r.loader.absolute(dir, r.base)
	if err == nil && dir == "" {
		err = errors.New("a directory has no name")
	}
	if err != nil {
		return wrong(err)
	}
	if _, twice := c.Projects[path]; twice {
		return wrong(errors.New("this directory is named twice"))
	}
	var p Project
	if f.Queue != nil {
		q := c.Queue // the defaults for its own settings
		if field, err := f.Queue.apply(&q); err != nil {
			if keys[0] == "projects" {
				return wrong(err, "queue", field)
			}
			return wrong(err, field)
		}
		p.Queue = &q
	}
	if w := f.Worktree; w != nil {
		for _, name := range w.Copy {
			if !filepath.IsLocal(name) || filepath.Clean(name) == "." || slices.Contains(strings.Split(filepath.ToSlash(filepath.Clean(name)), "/"), ".git") {
				return wrong(fmt.Errorf("%q is no path below the directory", name), "worktree", "copy")
			}
		}
		if len(w.Setup) > 0 && strings.TrimSpace(w.Setup[0]) == "" {
			return wrong(errors.New("the command has no program"), "worktree", "setup")
		}
		p.Worktree = &Worktree{Copy: w.Copy, Setup: w.Setup}
	}
	if f.Git != nil {
		kinds := []string{"github", "gitlab", "gitea", "bitbucket"}
		if f.Git.Forge == "forgejo" {
			f.Git.Forge = "gitea"
		}
		if f.Git.Forge != "" && !slices.Contains(kinds, f.Git.Forge) {
			return wrong(fmt.Errorf("%q is none of %s", f.Git.Forge, strings.Join(kinds, ", ")), "git", "forge")
		}
		if made := f.Git.PullRequests; made != "" && made != "gh" && made != "glab" {
			return wrong(fmt.Errorf("%q is none of gh, glab", made), "git", "pull_requests")
		} else if made != "" && !f.Git.Push {
			return wrong(fmt.Errorf("%s runs as you would run it by hand, which takes push: true, too", made), "git", "pull_requests")
		}
		p.Git = &Git{Collaborators: f.Git.Collaborators, Push: f.Git.Push, Forge: f.Git.Forge, PullRequests: f.Git.PullRequests, Sign: f.Git.Sign}
	}
	if f.Jobs != nil {
		for _, command := range f.Jobs.TestCommands {
			if len(strings.Fields(strings.TrimSuffix(command, " *"))) == 0 {
				return wrong(errors.New("a test command is empty"), "jobs", "test_commands")
			}
		}
		if field, err := r.loader.checkAuditors(f.Jobs); err != nil {
			return wrong(err, "jobs", field)
		}
		if name, err := f.Jobs.Caps.apply(&p.JobCaps); err != nil {
			return wrong(err, "jobs", "caps", name)
		}
		p.Tests, p.Auditors, p.Auditor = f.Jobs.TestCommands, f.Jobs.Auditors, f.Jobs.Auditor
	}
	if f.Budget != nil {
		p.Budget = &Budget{}
		if field, err := f.Budget.apply(p.Budget); err != nil {
			return wrong(err, slices.DeleteFunc([]string{"budget", field}, func(name string) bool { return name == "" })...)
		}
	}
	for _, name := range f.Directories {
		at, err := r.loader.absolute(name, r.base)
		if err == nil && name == "" {
			err = errors.New("a directory has no name")
		}
		if err != nil {
			return wrong(err, "directories")
		}
		p.Directories = append(p.Directories, at)
	}
	if c.Projects == nil {
		c.Projects = map[string]Project{}
	}
	c.Projects[path] = p
	return nil
}

// auditorName is what an auditor may be called.
var auditorName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// checkAuditors refuses auditors that could not run, and makes their programs absolute. A
// program relative to some folder is refused: the agent that it judges might have written it.
// With an error comes the field it is about.
func (l Loader) checkAuditors(f *fileProjectJobs) (field string, err error) {
	for _, name := range slices.Sorted(maps.Keys(f.Auditors)) {
		command := f.Auditors[name]
		if !auditorName.MatchString(name) {
			return "auditors", fmt.Errorf("%q is no name of an auditor: use letters, digits, '.', '_' and '-'", name)
		}
		if len(command) == 0 || strings.TrimSpace(command[0]) == "" {
			return "auditors", fmt.Errorf("%s has no program", name)
		}
		program := command[0]
		if strings.HasPrefix(program, "~/") {
			if program, err = l.absolute(program, ""); err != nil {
				return "auditors", err
			}
			command[0] = program
		}
		if strings.ContainsRune(program, filepath.Separator) && !filepath.IsAbs(program) {
			return "auditors", fmt.Errorf("%s: name the program %q by its absolute path, or by its name in the PATH", name, program)
		}
	}
	if _, has := f.Auditors[f.Auditor]; f.Auditor != "" && !has {
		return "auditor", fmt.Errorf("%q is none of the auditors", f.Auditor)
	}
	return "", nil
}

// apply sets the caps that are present. With an error comes the field it is about.
func (f fileJobCaps) apply(to *JobCaps) (field string, err error) {
	rounds := int64(0)
	for _, c := range []struct {
		name string
		to   *int64
		from *float64
	}{
		{"wall_s", &to.WallS, f.WallS}, {"round_s", &to.RoundS, f.RoundS}, {"rounds", &rounds, f.Rounds}, {"tokens", &to.Tokens, f.Tokens},
		{"events", &to.Events, f.Events}, {"output_bytes", &to.OutputBytes, f.OutputBytes},
	} {
		if c.from == nil {
			continue
		}
		n, err := whole(*c.from)
		if err == nil && n < 1 {
			err = fmt.Errorf("%d is no limit: leave it out for none", n)
		}
		if err != nil {
			return c.name, err
		}
		*c.to = int64(n)
	}
	if to.Rounds = int(rounds); f.Cost != nil {
		if to.Cost = *f.Cost; !(to.Cost > 0) || math.IsInf(to.Cost, 0) {
			return "cost", fmt.Errorf("%v is no limit: leave it out for none", to.Cost)
		}
	}
	return "", nil
}

// lineOf finds a key by the keys that lead to it. A YAML path cannot name keys
// with every character a directory may have.
func (r reader) lineOf(names ...string) int {
	line, node := 0, r.doc.Docs[0].Body
	for _, name := range names {
		mapping, ok := node.(ast.MapNode)
		if !ok {
			return line
		}
		for it := mapping.MapRange(); it.Next(); {
			if token := it.Key().GetToken(); token.Value == name {
				line, node = token.Position.Line, it.Value()
				break
			}
		}
	}
	return line
}

// apply changes the settings that are present. With an error comes the field it is
// about.
func (f fileProjectQueue) apply(to *Queue) (field string, err error) {
	if f.Enabled != nil {
		to.Enabled = *f.Enabled
	}
	if f.Titles != nil {
		to.Titles = *f.Titles
	}
	if f.Delay != nil {
		if err := setDuration(&to.Delay, *f.Delay); err != nil {
			return "delay", err
		}
	}
	if f.AfterInterruption != nil {
		if err := setAfterInterruption(to, *f.AfterInterruption); err != nil {
			return "after_interruption", err
		}
	}
	if f.MaxSize != nil {
		n, err := wholeCount(*f.MaxSize)
		if err != nil {
			return "max_size", err
		}
		to.MaxSize = n
	}
	return "", nil
}

func setAfterInterruption(to *Queue, word string) error {
	if word != "hold" && word != "continue" {
		return fmt.Errorf("%q is neither hold nor continue", word)
	}
	to.AfterInterruption = word
	return nil
}
