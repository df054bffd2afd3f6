package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/session/state"
)

// startFolder is the folder that a hub was started in.
type startFolder struct {
	path  string // empty if it is not allowed
	unfit error  // why
}

// startedIn allows the current folder while the hub runs, if it is fit for sessions.
func startedIn(loader config.Loader, own []string) startFolder {
	path, err := loader.Fit(loader.Dir, own)
	return startFolder{path, err}
}

// workspaces returns the folders that sessions may run in, and the first choice. The
// folder that the hub was started in comes first unless the configuration lists others.
func (f startFolder) workspaces(c config.Config) (all []string, first string) {
	all = c.Workspaces
	if f.path != "" && !slices.ContainsFunc(all, func(dir string) bool { return within(f.path, dir) }) {
		all = append(slices.Clone(all), f.path)
	} else if f.path != "" {
		return all, f.path
	}
	if len(all) > 0 {
		first = all[0]
	}
	return all, first
}

// told is the line for a terminal: where sessions may run, and how to add a folder.
func (f startFolder) told(loader config.Loader, all []string) string {
	var shown []string
	for _, dir := range all {
		shown = append(shown, loader.Shown(dir))
	}
	if len(all) == 0 {
		return fmt.Sprintf("no folder is allowed yet (%v); name one: %s allow FOLDER", f.unfit, called())
	}
	return fmt.Sprintf("sessions may run in %s; to add a folder: %s allow FOLDER", strings.Join(shown, ", "), called())
}

// folderGate is a server.Folders.
type folderGate struct {
	loader config.Loader
	own    []string // the hub's own files
	apply  func(config.Config)
}

// Fit implements server.Folders.
func (g folderGate) Fit(folder string) (real string, err error) {
	real, err = g.loader.Fit(folder, g.own)
	return real, refusal(err)
}

// Shown implements server.Folders.
func (g folderGate) Shown(path string) string { return g.loader.Shown(path) }

// Allow implements server.Folders.
func (g folderGate) Allow(folder string) (string, error) {
	c, real, err := g.loader.Allow(folder, g.own)
	if err != nil {
		return "", refusal(err)
	}
	g.apply(c)
	return real, nil
}

// refusal puts an error of the configuration in the words of sessions.
func refusal(err error) error {
	var unfit *config.UnfitError
	var edit *config.EditError
	var wrong *config.Error
	switch {
	case errors.As(err, &unfit):
		return fmt.Errorf("%w: %s", state.ErrForbidden, unfit.Reason)
	case errors.As(err, &edit):
		return fmt.Errorf("%w: %v:\n%s", state.ErrConflict, edit, edit.Lines)
	case errors.As(err, &wrong):
		return fmt.Errorf("%w: the configuration has a fault, correct it first: %v", state.ErrConflict, wrong)
	}
	return err
}

// called is the program as a person called it, for commands to type.
func called() string {
	if name := os.Args[0]; filepath.Base(name) == "abide" {
		return name
	}
	return "abide"
}
