package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/rootfs"
	"github.com/abidehub/abide/server/wire"
)

// mostFolders bounds the folders that are shown of one folder.
const mostFolders = 500

// Folders lists the folders in path, which is absolute and in one of the roots.
// Hidden folders and links are left out.
func (f *Files) Folders(roots []string, path string) (wire.FolderContent, error) {
	root, rel, err := below(roots, path)
	if err != nil {
		return wire.FolderContent{}, err
	}
	list, err := f.List(root, rel)
	if err != nil {
		return wire.FolderContent{}, err
	}
	at := filepath.Join(root, rel)
	place := wire.FolderContent{Folder: folder(at), Folders: []wire.Folder{}, LeftOut: list.LeftOut}
	if _, _, err := below(roots, filepath.Dir(at)); err == nil && at != filepath.Dir(at) {
		place.Parent = filepath.Dir(at)
	}
	for _, e := range list.Entries {
		switch {
		case e.Kind != wire.KindFolder || e.Unreadable || strings.HasPrefix(e.Name, "."):
		case len(place.Folders) == mostFolders:
			place.LeftOut++
		default:
			place.Folders = append(place.Folders, folder(filepath.Join(at, e.Name)))
		}
	}
	return place, nil
}

// MakeFolder makes the folder at path. Its parent must exist.
func (f *Files) MakeFolder(roots []string, path string) (wire.Folder, error) {
	parent, name := filepath.Split(filepath.Clean(path))
	if name == "" || strings.HasPrefix(name, ".") {
		return wire.Folder{}, notFound(path, errors.New("its name begins with a dot or is empty"))
	}
	root, rel, err := below(roots, parent)
	if err != nil {
		return wire.Folder{}, err
	}
	opened, err := f.open(root, rel)
	if err != nil {
		return wire.Folder{}, err
	}
	defer opened.Close()
	base, err := rootfs.Open(root)
	if err != nil {
		return wire.Folder{}, notFound(root, err)
	}
	defer base.Close()
	switch err := base.Mkdir(filepath.Join(rel, name), 0o777); {
	case errors.Is(err, fs.ErrExist):
		return wire.Folder{}, fmt.Errorf("make folder %s: %w", path, ErrExists)
	case errors.Is(err, fs.ErrPermission):
		return wire.Folder{}, notFound(path, err)
	case err != nil:
		return wire.Folder{}, fmt.Errorf("make folder: %w", err)
	}
	return folder(filepath.Join(root, rel, name)), nil
}

func folder(path string) wire.Folder {
	found := wire.Folder{Name: filepath.Base(path), Path: path}
	if _, err := os.Lstat(filepath.Join(path, ".git")); err != nil {
		return found
	}
	repository, err := gitstate.Find(path)
	if err != nil {
		return found
	}
	found.Repository = repository.Worktree == path
	if head, err := repository.Head(); err == nil {
		found.Branch = head.Branch
	}
	return found
}

// below returns the root that holds an absolute path, with links resolved, and the
// path relative to it.
func below(roots []string, path string) (root, rel string, err error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", "", notFound(path, errors.New("it is not absolute"))
	}
	actual, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", "", notFound(path, err)
	}
	for _, root := range roots {
		real, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		if rel, ok := rootfs.Below(real, actual); ok {
			return real, rel, nil
		}
	}
	return "", "", notFound(path, errors.New("no session may run there"))
}

// InRepository reports whether a folder is in a git repository. It reads files only.
func (f *Files) InRepository(folder string) bool {
	_, err := gitstate.Find(folder)
	return err == nil
}
