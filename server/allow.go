package server

import (
	"net/http"
	"path/filepath"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/session"
)

// Folders allows folders for sessions. Its errors are those of package session.
type Folders interface {
	// Fit returns a folder with its links resolved, if it may be allowed.
	Fit(folder string) (string, error)
	// Shown is a path for people.
	Shown(path string) string
	// Allow writes a folder into the configuration, applies that and returns the
	// folder with its links resolved.
	Allow(folder string) (string, error)
}

// folderPlace says whether sessions may run in a folder.
type folderPlace struct {
	Path string `json:"path"`
	// Shown is the path for people, with ~ for the home directory.
	Shown string `json:"shown"`
	// Allowed means that sessions may run there.
	Allowed bool `json:"allowed"`
	// MayAllow means that POST /api/folder/allow can allow it.
	MayAllow bool `json:"may_allow,omitempty"`
	// Why says why sessions may not run there.
	Why string `json:"why,omitempty"`
}

func folderPlaceRoute(s *Server, c *call) error {
	path := session.ExpandHome(c.r.URL.Query().Get("path"))
	place := folderPlace{Path: path, Shown: path}
	if !filepath.IsAbs(path) {
		place.Why = "a path begins with / or ~/"
	} else if s.manager.InRoots(path) {
		place.Allowed = true
	} else if s.folders == nil {
		place.Why = "it is outside the allowed folders"
	} else if real, err := s.folders.Fit(path); err != nil {
		p, unexpected := explain(err, "")
		if unexpected {
			return err
		}
		place.Why = p.message
	} else {
		place.MayAllow, place.Why = true, "it is outside the allowed folders"
		place.Path = real
	}
	if s.folders != nil {
		place.Shown = s.folders.Shown(place.Path)
	}
	return c.reply(http.StatusOK, place)
}

func folderAllowRoute(s *Server, c *call) error {
	var in newFolder
	if err := c.read(&in); err != nil {
		return err
	}
	if s.folders == nil {
		return forbidden()
	}
	path := session.ExpandHome(in.Path)
	if !filepath.IsAbs(path) {
		return invalid("path does not begin with / or ~/")
	}
	path, err := s.folders.Allow(path)
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.FolderAllowed, Detail: path})
	s.logger.Info("folder allowed", "folder", path, "actor", c.grant.Actor())
	return c.reply(http.StatusOK, folderPlace{Path: path, Shown: s.folders.Shown(path), Allowed: s.manager.InRoots(path)})
}
