// Package ownfiles tells whether an open file is one of the hub's own, opened by
// any name or link.
package ownfiles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Set are the files and directories of the hub itself, which are neither read nor
// written for others. They are compared as files (device and inode), so neither a
// link nor another name leads to them.
type Set []string

// Holds reports whether an open file is one of the hub's own or in one of its
// directories. at is the file's real path.
func (p Set) Holds(info os.FileInfo, at string) bool {
	own := p.Infos()
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
	return LinkCount(info) > 1 && p.Contains(info)
}

// Infos are those of them that exist.
func (p Set) Infos() []os.FileInfo {
	var infos []os.FileInfo
	for _, path := range p {
		if info, err := os.Stat(path); err == nil {
			infos = append(infos, info)
		}
	}
	return infos
}

// Contains searches the directories for a name of the file. A file that cannot be
// looked at counts as a match.
func (p Set) Contains(info os.FileInfo) bool {
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

// LinkCount is how many directory entries lead to a file.
func LinkCount(info os.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// InGit reports whether a real path is a .git or below one.
func InGit(path string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}
