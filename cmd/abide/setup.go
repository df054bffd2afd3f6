package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/record"
)

// ownFiles are the hub's own files and directories, which agents' fs methods
// neither read nor write: the data directory and the configuration's directory. For
// a configuration given by a flag it is the file only, because other files beside
// it are not abide's.
func ownFiles(loader config.Loader, c config.Config) []string {
	if loader.Required {
		return []string{c.Data, record.Dir(c.Data), loader.Path}
	}
	return []string{c.Data, record.Dir(c.Data), filepath.Dir(loader.Path)}
}

// exposed returns the own files that are in a workspace, each with the workspace.
func exposed(own, workspaces []string) []exposure {
	var found []exposure
	for _, path := range own {
		for _, workspace := range slices.Compact(slices.Clone(workspaces)) {
			if within(path, workspace) {
				found = append(found, exposure{path, workspace})
			}
		}
	}
	return found
}

type exposure struct{ path, workspace string }

func (e exposure) String() string {
	return fmt.Sprintf("%s is in the workspace %s: an agent that runs commands there can read and change it", e.path, e.workspace)
}

// within reports whether path is dir or below it, compared as files.
func within(path, dir string) bool {
	above, err := os.Stat(dir)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for at := path; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, above) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
