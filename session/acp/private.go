package acp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// private are the files and directories of the hub itself, which the agent's fs
// methods neither read nor write. They are compared as files (device and inode), so
// neither a link nor another name leads to them.
type private []string

// holds reports whether an open file is one of the hub's own or in one of its
// directories. at is the file's real path.
func (p private) holds(info os.FileInfo, at string) bool {
	own := p.infos()
	if len(own) == 0 {
		return false
	}
	for dir := at; ; dir = filepath.Dir(dir) {
		if known, err := os.Stat(dir); err == nil && isOneOf(known, own) {
			return true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if isOneOf(info, own) {
		return true
	}
	// A file with several names may have one of them there.
	return linkCount(info) > 1 && p.contains(info)
}

func (p private) infos() []os.FileInfo {
	var infos []os.FileInfo
	for _, path := range p {
		if info, err := os.Stat(path); err == nil {
			infos = append(infos, info)
		}
	}
	return infos
}

// contains searches the directories for a name of the file. A file that cannot be
// looked at counts as a match.
func (p private) contains(info os.FileInfo) bool {
	for _, dir := range p {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case !entry.Type().IsRegular():
				return nil
			}
			other, err := entry.Info()
			if err == nil && os.SameFile(info, other) {
				return errFound
			}
			return nil
		})
		if err != nil {
			return true
		}
	}
	return false
}

var errFound = errors.New("found")

func isOneOf(info os.FileInfo, others []os.FileInfo) bool {
	for _, other := range others {
		if os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// linkCount is how many directory entries lead to a file.
func linkCount(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// inGit reports whether a real path is a .git or below one.
func inGit(path string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// realPath is where an open file is. name is how it was opened.
func realPath(file *os.File, root, name string) (string, error) {
	if path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd())); err == nil && filepath.IsAbs(path) {
		return strings.TrimSuffix(path, " (deleted)"), nil
	}
	return filepath.EvalSymlinks(filepath.Join(root, name))
}
