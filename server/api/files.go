package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/workspace"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/settings"
)

const (
	// mostOfFile bounds the bytes of a file in one answer.
	mostOfFile = 2 << 20
	// mostTyped bounds the text to complete, in bytes.
	mostTyped = 256
	// mostCompleted bounds the files that completion answers with.
	mostCompleted = 50
	// gitBound bounds how long git may take for one request.
	gitBound = 10 * time.Second
)

// fileRows are the routes of this file.
func fileRows() section {
	return section{
		title: "Files and folders",
		about: []string{
			"`folders` and `folder` are of the hub's machine; `~` is the home of the hub's user, and outside of the allowed folders the answer is 404. A folder to allow is written into the configuration and applied before the answer.",
			"The paths of `files`, `file`, `complete`, `changes` and `change` are relative to the session's workspace. They answer 404 outside of it, for a link that leads out of it, in `.git`, for the hub's own files, and where sessions may no longer run; `change` also if a link stands in the place of one of the file's folders. `complete` keeps a folder's names for 15 s. A renamed file is absent at its old path and new at the other.",
		},
		rows: []route{
			{
				"GET", "/api/folders", auth.Credential, auth.Manage, false, foldersRoute,
				doc{
					summary: "A folder and the folders in it, for a new session. 404 outside of the folders that sessions may run in.",
					query:   []param{{"path", "absolute, or below ~; empty is the first folder that sessions may run in", ""}, ofMachine},
					out:     wire.FolderContent{}, status: 200,
				},
			},
			{
				"POST", "/api/folders", auth.Credential, auth.Manage, false, with(folderMakeRoute),
				doc{summary: "Make a folder in one that exists.", in: wire.NewFolder{}, out: wire.Folder{}, status: 201},
			},
			{
				"GET", "/api/folder", auth.Credential, auth.Manage, false, folderPlaceRoute,
				doc{
					summary: "Whether sessions may run in a folder, why not, and whether it may be allowed.",
					query:   []param{{"path", "absolute, or below ~", ""}, ofMachine},
					out:     wire.FolderPlace{}, status: 200,
				},
			},
			{
				"POST", "/api/folder/allow", auth.Credential, auth.Manage, false, with(folderAllowRoute),
				doc{
					summary: "Let sessions run in a folder and below: write it into the configuration, and apply that. 403 for a folder that is not fit, 409 with the lines to add for a configuration that cannot be written.",
					in:      wire.NewFolder{}, out: wire.FolderPlace{}, status: 200,
				},
			},
			{
				"GET", one + "/files", auth.Credential, auth.Act, false, filesRoute,
				doc{
					summary: "A folder of the session's workspace: folders first, at most 2,000 entries. .git and the hub's own files are left out.",
					query:   []param{{"path", "relative to the workspace; empty is the workspace", ""}},
					out:     wire.FileList{}, status: 200,
				},
			},
			{
				"GET", one + "/file", auth.Credential, auth.Act, false, fileRoute,
				doc{
					summary: "A file of the session's workspace. An answer has at most 2 MiB: a larger file takes Range, and a longer range is cut.",
					query:   []param{{"path", "relative to the workspace", ""}},
					headers: []param{{"Range", "one range of bytes", ""}},
					status:  200, stream: "application/octet-stream",
				},
			},
			{
				"GET", one + "/complete", auth.Credential, auth.Act, false, completeRoute,
				doc{
					summary: "Paths of the workspace that match what was typed, the best first, at most 50. Files that .gitignore names are left out.",
					query:   []param{{"q", "letters of the path in their order", ""}},
					out:     wire.Completions{}, status: 200,
				},
			},
			{
				"GET", one + "/changes", auth.Credential, auth.Act, false, changesRoute,
				doc{summary: "Where the workspace's git repository stands, and at most 1,000 changed files.", out: wire.Changes{}, status: 200},
			},
			{
				"GET", one + "/change", auth.Credential, auth.Act, false, changeRoute,
				doc{
					summary: "A file of the session's workspace in the commit and as it is now, each side a text of at most 2 MiB. A side without the file is absent; unknown says why the texts are left out.",
					query:   []param{{"path", "relative to the workspace", ""}},
					out:     wire.FileChange{}, status: 200,
				},
			},
		},
	}
}

func filesRoute(s *API, c *call) error {
	root, err := c.workspace()
	if err != nil {
		return err
	}
	path := c.r.URL.Query().Get("path")
	list, err := s.files.List(root, path)
	if err != nil {
		return fileProblem(err, path)
	}
	return c.reply(http.StatusOK, wire.FileList{Path: path, Entries: list.Entries, LeftOut: list.LeftOut})
}

// fileRoute answers with a file's bytes. Like a blob they are shown only as text or
// as a plain image.
func fileRoute(s *API, c *call) error {
	root, err := c.workspace()
	if err != nil {
		return err
	}
	path := c.r.URL.Query().Get("path")
	file, info, err := s.files.Open(root, path)
	if err != nil {
		return fileProblem(err, path)
	}
	defer file.Close()
	if err := cutRange(c.r, info.Size()); err != nil {
		return err
	}
	whole := io.NewSectionReader(file, 0, info.Size())
	kind, inline, err := sniff(whole)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	h := c.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-store")
	if !inline {
		h.Set("Content-Disposition", "attachment")
	}
	c.boundAnswer()
	http.ServeContent(c.w, c.r, "", info.ModTime(), whole)
	return nil
}

// cutRange shortens the requested range to the size of one answer. A large file has
// to be asked for by ranges.
func cutRange(r *http.Request, size int64) error {
	asked := r.Header.Get("Range")
	if asked == "" || r.Header.Get("If-Range") != "" {
		if size > mostOfFile {
			return &Problem{Code: wire.CodeTooLarge, Message: fmt.Sprintf(
				"the file has %d bytes, at most %d are sent at once: ask with Range, without If-Range", size, mostOfFile)}
		}
		return nil
	}
	from, to, ok := strings.Cut(strings.TrimPrefix(asked, "bytes="), "-")
	if !ok || strings.Contains(asked, ",") {
		return Invalid("one range of bytes is expected")
	}
	first, err := strconv.ParseInt(from, 10, 64)
	if from == "" { // the last bytes
		n, err := strconv.ParseInt(to, 10, 64)
		if err != nil || n < 0 {
			return Invalid("the range is not of bytes")
		}
		first, to = max(size-n, 0), ""
	} else if err != nil || first < 0 {
		return Invalid("the range is not of bytes")
	}
	last := first + mostOfFile - 1
	if to != "" {
		n, err := strconv.ParseInt(to, 10, 64)
		if err != nil || n < first {
			return Invalid("the range is not of bytes")
		}
		last = min(last, n)
	}
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", first, last))
	return nil
}

func completeRoute(s *API, c *call) error {
	typed := c.r.URL.Query().Get("q")
	if len(typed) > mostTyped {
		return Invalid("q has at most %d bytes", mostTyped)
	}
	root, err := c.workspace()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), gitBound)
	defer cancel()
	paths, err := s.files.Complete(ctx, root, typed, mostCompleted)
	if err != nil {
		return fileProblem(err, "the workspace")
	}
	return c.reply(http.StatusOK, wire.Completions{Paths: paths})
}

func changesRoute(s *API, c *call) error {
	root, err := c.workspace()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), gitBound)
	defer cancel()
	return c.answer(s.files.Changes(ctx, root))
}

// changeRoute answers with a file in the commit and as it is now.
func changeRoute(s *API, c *call) error {
	root, err := c.workspace()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), gitBound)
	defer cancel()
	path := c.r.URL.Query().Get("path")
	change, err := s.files.Change(ctx, root, path)
	if err != nil {
		return fileProblem(err, path)
	}
	return c.reply(http.StatusOK, change)
}

func foldersRoute(s *API, c *call) error {
	path, roots := settings.ExpandHome(c.r.URL.Query().Get("path")), s.manager.Settings().Roots()
	if path == "" && len(roots) > 0 {
		path = roots[0]
	}
	place, err := s.files.Folders(roots, path)
	if err != nil {
		return fileProblem(err, path)
	}
	return c.reply(http.StatusOK, place)
}

func folderMakeRoute(s *API, c *call, in wire.NewFolder) error {
	made, err := s.files.MakeFolder(s.manager.Settings().Roots(), settings.ExpandHome(in.Path))
	if err != nil {
		return fileProblem(err, in.Path)
	}
	c.note(audit.Record{Verb: audit.FolderMade, Detail: made.Path})
	return c.reply(http.StatusCreated, made)
}

func folderPlaceRoute(s *API, c *call) error {
	path := settings.ExpandHome(c.r.URL.Query().Get("path"))
	place := wire.FolderPlace{Path: path, Shown: path}
	if !filepath.IsAbs(path) {
		place.Why = "a path begins with / or ~/"
	} else if s.manager.Settings().Holds(path) {
		place.Allowed, place.Repository = true, s.files.InRepository(path)
	} else if s.folders == nil {
		place.Why = "it is outside the allowed folders"
	} else if real, err := s.folders.Fit(path); err != nil {
		p, unexpected := Explain(err, "")
		if unexpected {
			return err
		}
		place.Why = p.Message
	} else {
		place.MayAllow, place.Why = true, "it is outside the allowed folders"
		place.Path = real
	}
	if s.folders != nil {
		place.Shown = s.folders.Shown(place.Path)
	}
	return c.reply(http.StatusOK, place)
}

func folderAllowRoute(s *API, c *call, in wire.NewFolder) error {
	if s.folders == nil {
		return Forbidden()
	}
	path := settings.ExpandHome(in.Path)
	if !filepath.IsAbs(path) {
		return Invalid("path does not begin with / or ~/")
	}
	path, err := s.folders.Allow(path)
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.FolderAllowed, Detail: path})
	s.logger.Info("folder allowed", "folder", path, "actor", c.grant.Actor())
	return c.reply(http.StatusOK, wire.FolderPlace{Path: path, Shown: s.folders.Shown(path), Allowed: s.manager.Settings().Holds(path)})
}

// workspace is the folder of the session the path names. One in which no session may
// run any longer, and one of a recording elsewhere, does not exist for clients.
func (c *call) workspace() (string, error) {
	own, err := c.session()
	if err != nil {
		return "", err
	}
	folder, allowed := own.Info().Workspace, own.Info().Workspace
	if w := own.Info().Worktree; w != nil {
		allowed = w.Of
	}
	// It was a real path when the session was made. A link in its place leads elsewhere.
	if real, err := filepath.EvalSymlinks(folder); err != nil || real != folder || !c.server.manager.Settings().Holds(allowed) {
		return "", NotFound("the folder of session " + own.ID())
	}
	return folder, nil
}

// fileProblem says that there is nothing, and not why.
func fileProblem(err error, path string) error {
	switch {
	case errors.Is(err, workspace.ErrNotFound):
		return NotFound(fmt.Sprintf("%q", path))
	case errors.Is(err, workspace.ErrExists):
		return &Problem{Code: wire.CodeConflict, Message: fmt.Sprintf("%q already exists", path)}
	}
	return err
}
