package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/ownfiles"
)

const (
	// mostNames bounds the file names that are kept of one folder.
	mostNames = 200_000
	// mostKept bounds the folders with kept names.
	mostKept = 4
	// namesFresh is how long names are used before the folder is read again.
	namesFresh = 15 * time.Second
)

// names keeps the file names of the folders that were completed last.
type names struct {
	mu   sync.Mutex
	kept []*nameList // the last used is the last
}

// nameList is the file names of one folder.
type nameList struct {
	root string
	mu   sync.Mutex // held while the folder is read
	read time.Time
	list []name
}

// name is a path with its lower-case form.
type name struct{ path, lower string }

func newNames() *names { return &names{} }

// of returns the list of a folder, which may have to be read.
func (n *names) of(root string) *nameList {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.kept, func(l *nameList) bool { return l.root == root })
	l := &nameList{root: root}
	if i >= 0 {
		l = n.kept[i]
		n.kept = slices.Delete(n.kept, i, i+1)
	} else if len(n.kept) == mostKept {
		n.kept = slices.Delete(n.kept, 0, 1)
	}
	n.kept = append(n.kept, l)
	return l
}

// Complete returns the paths in root that match the typed text, the best first, at
// most that many. Files that .gitignore names are left out.
func (f *Files) Complete(ctx context.Context, root, typed string, most int) ([]string, error) {
	l := f.names.of(root)
	l.mu.Lock()
	if time.Since(l.read) > namesFresh {
		list, err := f.readNames(ctx, root)
		if err != nil {
			l.mu.Unlock()
			return nil, err
		}
		l.list, l.read = list, time.Now()
	}
	list := l.list // replaced, never changed
	l.mu.Unlock()
	return best(list, typed, most), nil
}

func (f *Files) readNames(ctx context.Context, root string) ([]name, error) {
	paths, err := f.gitNames(ctx, root)
	if err != nil {
		if paths, err = walkNames(ctx, root); err != nil {
			return nil, err
		}
	}
	hidden := f.hidden(root)
	list := make([]name, 0, len(paths))
	for _, path := range paths {
		if utf8.ValidString(path) && !ownfiles.InGit(path) && !hidden(path) {
			list = append(list, name{path, strings.ToLower(path)})
		}
	}
	return list, nil
}

// gitNames asks git, which knows the ignored files.
func (f *Files) gitNames(ctx context.Context, root string) ([]string, error) {
	if f.git == nil {
		return nil, gitstate.ErrUnavailable
	}
	repository, err := gitstate.Find(root)
	if err != nil {
		return nil, err
	}
	out, err := f.git.Run(ctx, repository, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return nil, err
	}
	paths := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	return paths[:min(len(paths), mostNames)], nil
}

var errEnough = errors.New("enough")

// walkNames reads a folder that is in no repository. Hidden folders are left out,
// and links are not followed.
func walkNames(ctx context.Context, root string) ([]string, error) {
	base, err := os.OpenRoot(root)
	if err != nil {
		return nil, notFound(root, err)
	}
	defer base.Close()
	var paths []string
	err = fs.WalkDir(base.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case len(paths) == mostNames:
			return errEnough
		case err != nil:
			return nil // a folder that may not be read
		case e.IsDir() && path != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
			return fs.SkipDir
		case !e.IsDir():
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read file names: %w", err)
	}
	return paths, nil
}

// hidden reports of a path in root whether it is the hub's own or below that.
func (f *Files) hidden(root string) func(path string) bool {
	var own []string
	for _, p := range f.own {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		if rel, err := filepath.Rel(root, p); err == nil && (filepath.IsLocal(rel) || strings.Trim(rel, "./") == "") {
			own = append(own, rel)
		}
	}
	return func(path string) bool {
		return slices.ContainsFunc(own, func(p string) bool {
			return !filepath.IsLocal(p) || p == "." || path == p || strings.HasPrefix(path, p+"/")
		})
	}
}
