package workspace

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/ownfiles"
	"github.com/abidehub/abide/internal/rootfs"
)

const (
	// mostNames bounds the file names that are kept of one folder.
	mostNames = 200_000
	// mostNameBytes bounds the length of their paths together.
	mostNameBytes = 16 << 20
	// mostDepth bounds how deep a folder is looked into. Each level is held open.
	mostDepth = 64
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
			list = append(list, name{path, folded(path)})
		}
	}
	return list, nil
}

// folded returns text as names are compared: lower case, and NFC, because macOS writes
// names in NFD and keyboards type NFC.
func folded(text string) string { return norm.NFC.String(strings.ToLower(text)) }

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
	paths := strings.SplitN(strings.TrimSuffix(string(out), "\x00"), "\x00", mostNames+1)
	return paths[:min(len(paths), mostNames)], nil
}

// walkNames reads a folder that is in no repository. Hidden folders are left out,
// and links are not followed.
func walkNames(ctx context.Context, root string) ([]string, error) {
	base, err := rootfs.Open(root)
	if err != nil {
		return nil, notFound(root, err)
	}
	w := walk{ctx: ctx}
	if err := w.folder(base, "", 0); err != nil {
		return nil, fmt.Errorf("read file names: %w", err)
	}
	return w.paths, nil
}

// walk collects file names, until one of the bounds is reached.
type walk struct {
	ctx   context.Context
	paths []string
	seen  int // entries, folders too
	bytes int
}

// folder reads dir, which it closes, and the folders in it. Each is opened in the one
// above, so a deep one costs no more than another.
func (w *walk) folder(dir rootfs.Folder, path string, depth int) error {
	defer dir.Close()
	opened, err := dir.Open(".")
	if err != nil {
		return nil // it may not be read
	}
	defer opened.Close()
	var folders []string
	for {
		some, err := opened.ReadDir(mostEntries)
		for _, e := range some {
			name := e.Name()
			switch {
			case !e.IsDir():
				w.paths = append(w.paths, path+name)
			case !strings.HasPrefix(name, ".") && name != "node_modules" && depth < mostDepth:
				folders = append(folders, name)
			}
			w.seen++
			w.bytes += len(path) + len(name)
			if w.full() {
				return nil
			}
		}
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if err != nil {
			break
		}
	}
	opened.Close()
	for _, name := range folders {
		below, err := dir.OpenFolder(name)
		if err != nil {
			continue
		}
		if err := w.folder(below, path+name+"/", depth+1); err != nil || w.full() {
			return err
		}
	}
	return nil
}

func (w *walk) full() bool { return w.seen >= mostNames || w.bytes >= mostNameBytes }

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
