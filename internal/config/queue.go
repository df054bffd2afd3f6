package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// applyQueues reads how prompts wait: everywhere, and in the directories that
// have it otherwise.
func (r reader) applyQueues(c *Config, f file) error {
	everywhere := fileWorkspaceQueue{Enabled: f.Queue.Enabled, Delay: f.Queue.Delay, MaxSize: f.Queue.MaxSize, Titles: f.Queue.Titles, AfterInterruption: f.Queue.AfterInterruption}
	if field, err := everywhere.apply(&c.Queue); err != nil {
		return r.wrong("$.queue."+field, "%v", err)
	}
	for _, dir := range slices.Sorted(maps.Keys(f.Queue.Workspaces)) {
		if err := r.applyWorkspaceQueue(c, dir, f.Queue.Workspaces[dir]); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) applyWorkspaceQueue(c *Config, dir string, f fileWorkspaceQueue) error {
	wrong := func(field string, err error) error {
		names := []string{"queue", "workspaces", dir}
		if field != "" {
			names = append(names, field)
		}
		return &Error{File: r.loader.Path, Line: r.lineOf(names...), Reason: fmt.Sprintf("%s: %v", strings.Join(names, "."), err), cause: err}
	}
	path, err := r.loader.absolute(dir, r.base)
	if err == nil && dir == "" {
		err = errors.New("a directory has no name")
	}
	if err != nil {
		return wrong("", err)
	}
	if _, twice := c.WorkspaceQueues[path]; twice {
		return wrong("", errors.New("this directory is named twice"))
	}
	q := c.Queue // the defaults for its own settings
	if field, err := f.apply(&q); err != nil {
		return wrong(field, err)
	}
	if c.WorkspaceQueues == nil {
		c.WorkspaceQueues = map[string]Queue{}
	}
	c.WorkspaceQueues[path] = q
	return nil
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
func (f fileWorkspaceQueue) apply(to *Queue) (field string, err error) {
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
