package gitstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/abidehub/abide/internal/rootfs"
)

const (
	// mostCommitted bounds the files of one commit, and mostCommittedBytes their bytes.
	mostCommitted      = 10_000
	mostCommittedBytes = 200 << 20
)

// NewCommit is what to commit.
type NewCommit struct {
	// Folder is the absolute path of a folder in the worktree: only what is in it and below
	// is committed.
	Folder string
	// Paths are files and folders relative to it. Without any, all that Status lists there
	// is committed.
	Paths   []string
	Message string
	// Sign has the commit signed; nil makes it without a signature.
	Sign *Signing
	// Begun is called once all is known and nothing that a person sees has changed. Its
	// error ends the commit.
	Begun func(Move) error
}

// CommitFiles commits files as they are on disk to the branch that is checked out, as
// `git commit -- FILE…` does: what else is staged stays staged. It has an index of its
// own, and runs no hook and no filter: a file that a filter, an encoding or the line ends
// of core.autocrlf would change is ErrUnsuited.
//
// A kill before the branch moves leaves what it was. After it, the index may still be the
// one before, as a kill of git leaves it.
func (g *Git) CommitFiles(ctx context.Context, r *Repository, c NewCommit) (Move, error) {
	message := cleanMessage(c.Message)
	if message == "" {
		return Move{}, errors.New("commit: the message is empty")
	}
	m, err := g.openMove(ctx, r)
	if err != nil {
		return Move{}, fmt.Errorf("commit: %w", err)
	}
	m.sign = c.Sign
	made, err := m.commit(ctx, c, message)
	if err = errors.Join(err, m.close()); err != nil {
		return made, fmt.Errorf("commit: %w", err)
	}
	return made, nil
}

func (m *moving) commit(ctx context.Context, c NewCommit, message string) (Move, error) {
	if err := m.holdWorktree(ctx); err != nil {
		return Move{}, err
	}
	m.g.step("index locked")
	changes, err := m.chosen(ctx, c)
	if err != nil {
		return Move{}, err
	}
	entries, err := m.fromDisk(ctx, changes)
	if err != nil {
		return Move{}, err
	}
	before, err := m.treeOf(ctx, m.at)
	if err != nil {
		return Move{}, err
	}
	own, err := m.withIndex(ctx, "index-committed", before)
	if err == nil {
		err = m.stage(ctx, own, entries)
	}
	if err == nil {
		err = m.convertible(ctx, own, entries)
	}
	if err != nil {
		return Move{}, err
	}
	out, err := m.g.output(ctx, own.command(own.repository.Worktree, "write-tree"))
	if err != nil {
		return Move{}, err
	}
	tree := strings.TrimSpace(string(out))
	if tree == before {
		return Move{}, fmt.Errorf("%w: these files are as the last commit has them", ErrNothing)
	}
	after, err := m.personsIndex(ctx, entries)
	if err != nil {
		return Move{}, err
	}
	made := Move{Branch: m.branch, Before: m.at, Files: make([]string, len(entries))}
	for i, e := range entries {
		made.Files[i] = e.path
	}
	if made.After, err = m.newCommit(ctx, m.who.environment(), tree, message, m.at); err != nil {
		return Move{}, err
	}
	if err := m.holdBranch(ctx); err != nil {
		return Move{}, err
	}
	if err := c.Begun(made); err != nil {
		return Move{}, err
	}
	why := "commit"
	if m.at == "" {
		why = "commit (initial)"
	}
	if err := m.setBranch(made.After, why+": "+subject(message)); err != nil {
		return made, err
	}
	return made, m.putIndex(ctx, after)
}

// chosen lists the changes that are to be committed.
func (m *moving) chosen(ctx context.Context, c NewCommit) ([]Change, error) {
	r := m.s.repository
	out, err := m.g.output(ctx, m.s.command(c.Folder, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", "."))
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(r.Worktree, c.Folder)
	if err != nil {
		return nil, err
	}
	prefix := ""
	if below != "." {
		prefix = filepath.ToSlash(below) + "/"
	}
	all := parseStatus(out, mostCommitted+1).Files
	var chosen []Change
	found := make([]bool, len(c.Paths))
	for _, change := range all {
		rest, in := strings.CutPrefix(change.Path, prefix)
		take := in && len(c.Paths) == 0
		for i, path := range c.Paths {
			if folder := strings.TrimSuffix(path, "/"); in && (rest == path || strings.HasPrefix(rest, folder+"/")) {
				take, found[i] = true, true
			}
		}
		if take {
			chosen = append(chosen, change)
		}
	}
	if i := slices.Index(found, false); i >= 0 {
		return nil, fmt.Errorf("%w: %q is as the last commit has it, or is not there", ErrNothing, c.Paths[i])
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w: no file differs from the last commit", ErrNothing)
	}
	if len(chosen) > mostCommitted {
		return nil, fmt.Errorf("commit more than %d files: %w", mostCommitted, ErrTooLarge)
	}
	return chosen, unmerged(chosen)
}

// unmerged is a Conflict if there are files of a merge that conflicted.
func unmerged(changes []Change) error {
	var files []string
	for _, c := range changes {
		if strings.Contains(c.Code, "U") || c.Code == "AA" || c.Code == "DD" {
			files = append(files, c.Path)
		}
	}
	if len(files) > 0 {
		return &Conflict{Files: files}
	}
	return nil
}

// fromDisk makes objects of files as they are on disk.
func (m *moving) fromDisk(ctx context.Context, changes []Change) ([]staged, error) {
	root, err := rootfs.Open(m.s.repository.Worktree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	modes := map[string]string{}
	if m.s.own["core.filemode"] == "false" {
		if modes, err = m.indexModes(ctx); err != nil {
			return nil, err
		}
	}
	copies := filepath.Join(m.s.dir, "files")
	if err := os.Mkdir(copies, 0o700); err != nil {
		return nil, err
	}
	var entries []staged
	var names strings.Builder
	left := int64(mostCommittedBytes)
	for _, change := range changes {
		copied := filepath.Join(copies, strconv.Itoa(len(entries)))
		e, size, err := copyOut(root, change, copied, left)
		if err != nil {
			return nil, err
		}
		left -= size
		if e.mode != "" {
			if mode := modes[e.path]; mode != "" && e.mode != modeLink {
				e.mode = mode
			}
			names.WriteString(copied + "\n")
		}
		entries = append(entries, e)
	}
	c := m.s.command(m.s.repository.Worktree, "hash-object", "-w", "--no-filters", "--stdin-paths")
	c.in, c.bound = strings.NewReader(names.String()), treeBound
	out, err := m.g.output(ctx, c)
	if err != nil {
		return nil, err
	}
	objects := strings.Fields(string(out))
	for i := range entries {
		if entries[i].mode == "" {
			continue
		}
		if len(objects) == 0 || !isCommit(objects[0]) {
			return nil, errors.New("write objects: git did not name each")
		}
		entries[i].object, objects = objects[0], objects[1:]
	}
	return entries, nil
}

// copyOut copies a file, or a link's target, to a place where it stays as it is. A file
// that is gone has no mode.
func copyOut(root rootfs.Folder, change Change, to string, most int64) (staged, int64, error) {
	path := change.Path
	e := staged{path: path}
	if strings.HasSuffix(path, "/") {
		return e, 0, fmt.Errorf("%w: %q is a repository of its own", ErrUnsuited, path)
	}
	if err := (Entry{modeFile, "", path}).suited(); err != nil {
		return e, 0, err
	}
	info, err := root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && info.IsDir() && strings.Contains(change.Code, "D"):
		return e, 0, nil
	case err != nil:
		return e, 0, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(path)
		if err != nil {
			return e, 0, err
		}
		e.mode = modeLink
		return e, int64(len(target)), os.WriteFile(to, []byte(target), 0o600)
	case info.IsDir():
		return e, 0, fmt.Errorf("%w: %q is a folder", ErrUnsuited, path)
	}
	file, info, err := root.OpenRegular(path)
	if err != nil {
		return e, 0, fmt.Errorf("%w: %q cannot be read: %v", ErrUnsuited, path, err)
	}
	defer file.Close()
	if e.mode = modeFile; info.Mode()&0o100 != 0 {
		e.mode = modeExecutable
	}
	copied, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return e, 0, err
	}
	size, err := io.Copy(copied, io.LimitReader(file, most+1))
	if err = errors.Join(err, copied.Close()); err == nil && size > most {
		err = fmt.Errorf("commit more than %d MiB at once: %w", mostCommittedBytes>>20, ErrTooLarge)
	}
	return e, size, err
}

// indexModes are the modes of the files in the person's index.
func (m *moving) indexModes(ctx context.Context) (map[string]string, error) {
	out, err := m.g.output(ctx, m.s.command(m.s.repository.Worktree, "ls-files", "--stage", "-z"))
	modes := map[string]string{}
	for line := range bytes.SplitSeq(out, []byte{0}) {
		if about, path, ok := strings.Cut(string(line), "\t"); ok {
			modes[path], _, _ = strings.Cut(about, " ")
		}
	}
	return modes, err
}
