package acp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/ownfiles"
	"github.com/abidehub/abide/internal/rootfs"
	"github.com/abidehub/abide/session/allow"
	"github.com/abidehub/abide/session/event"
)

// fileLimit is the largest file read for an agent.
const fileLimit = 16 << 20

// files reads and writes text files of the workspace for the agent. Every path is
// opened below the workspace, so no symbolic link can lead out of it.
type files struct {
	workspace string
	private   ownfiles.Set
	allow     *allow.List // nil allows all
	record    func(...event.Payload) error
}

// fileRequest is the params of both methods.
type fileRequest struct {
	Path    string  `json:"path"`
	Line    *int    `json:"line"`  // from 1
	Limit   *int    `json:"limit"` // lines
	Content *string `json:"content"`
}

// open returns the workspace and the path within it.
func (f *files) open(params json.RawMessage) (rootfs.Folder, string, fileRequest, error) {
	var r fileRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return rootfs.Folder{}, "", r, invalid("unreadable params: %v", err)
	}
	rel, err := within(f.workspace, r.Path)
	if err != nil {
		return rootfs.Folder{}, "", r, err
	}
	root, err := rootfs.Open(f.workspace)
	if err != nil {
		return rootfs.Folder{}, "", r, fmt.Errorf("open workspace: %w", err)
	}
	return root, rel, r, nil
}

// within returns the path relative to the workspace, from its text alone: opening it
// checks the links.
func within(workspace, path string) (string, error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", invalid("path %q is not absolute", path)
	}
	bases := []string{workspace}
	// An agent may know its workspace by the path with links resolved.
	if actual, err := filepath.EvalSymlinks(workspace); err == nil && actual != workspace {
		bases = append(bases, actual)
	}
	for _, base := range bases {
		if rel, ok := rootfs.Below(base, path); ok {
			return rel, nil
		}
	}
	return "", forbidden("%s is outside the workspace", path)
}

// read implements fs/read_text_file.
func (f *files) read(_ context.Context, params json.RawMessage) (any, error) {
	root, rel, r, err := f.open(params)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := f.allowed(allow.Read, r.Path); err != nil {
		return nil, err
	}
	file, _, err := root.OpenRegular(rel)
	if errors.Is(err, rootfs.ErrNotRegular) || errors.Is(err, syscall.EISDIR) {
		return nil, invalid("%s is not a file", r.Path)
	}
	if err != nil {
		return nil, fileError(r.Path, err)
	}
	defer file.Close()
	if err := f.admit(file, rel, r.Path, allow.Read); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, fileLimit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", r.Path, err)
	case len(data) > fileLimit:
		return nil, invalid("%s is larger than %d bytes", r.Path, fileLimit)
	case !utf8.Valid(data):
		return nil, invalid("%s is not text", r.Path)
	}
	data = lineRange(data, r.Line, r.Limit)
	if err := f.record(event.FileRead{Path: r.Path, Bytes: int64(len(data)), Lines: countLines(data)}); err != nil {
		return nil, err
	}
	return map[string]string{"content": string(data)}, nil
}

// write implements fs/write_text_file. An existing file keeps its mode.
func (f *files) write(_ context.Context, params json.RawMessage) (any, error) {
	root, rel, r, err := f.open(params)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if r.Content == nil {
		return nil, invalid("no content")
	}
	if err := f.allowed(allow.Edit, r.Path); err != nil {
		return nil, err
	}
	file, err := f.create(root, rel, r.Path)
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString(*r.Content)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", r.Path, err)
	}
	written := []byte(*r.Content)
	if err := f.record(event.FileWrite{Path: r.Path, Bytes: int64(len(written)), Lines: countLines(written), SHA256: hashOf(*r.Content)}); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// hashOf is the SHA-256 of a text, in hex.
func hashOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// create opens a file for writing and truncates it. It checks the directory before
// it creates anything there, and the file before it truncates it.
func (f *files) create(root rootfs.Folder, rel, path string) (*os.File, error) {
	if err := f.admitParent(root, rel, path); err != nil {
		return nil, err
	}
	if dir := filepath.Dir(rel); dir != "." {
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return nil, fileError(path, err)
		}
	}
	file, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fileError(path, err)
	}
	if err := f.admitWrite(file, rel, path); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	if err := file.Truncate(0); err != nil && !errors.Is(err, syscall.EINVAL) { // a device has no length
		_ = file.Close() // nothing was written
		return nil, fileError(path, err)
	}
	return file, nil
}

// admitParent checks the nearest existing directory above rel.
func (f *files) admitParent(root rootfs.Folder, rel, path string) error {
	if ownfiles.InGit(rel) {
		return inGitError(path)
	}
	for dir := filepath.Dir(rel); ; dir = filepath.Dir(dir) {
		file, err := root.Open(dir)
		if err == nil {
			defer file.Close()
			return f.admitWrite(file, dir, path)
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == "." {
			return fileError(path, err)
		}
	}
}

// admitWrite is admit for a file that is to be written.
func (f *files) admitWrite(file *os.File, rel, path string) error {
	if err := f.admit(file, rel, path, allow.Edit); err != nil {
		return err
	}
	at, err := rootfs.RealPath(file, f.workspace, rel)
	if err != nil {
		return fmt.Errorf("find %s: %w", path, err)
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if ownfiles.InGit(at) || !info.IsDir() && ownfiles.LinkCount(info) > 1 && ownfiles.Set(gitstate.Own(f.workspace)).Contains(info) {
		return inGitError(path)
	}
	return nil
}

// allowed refuses what the list of a job does not allow.
func (f *files) allowed(kind event.ToolKind, path string) error {
	if f.allow == nil || f.allow.Files(kind, path) {
		return nil
	}
	return forbidden("the job's policy does not allow to %s %s", kind, path)
}

// admit refuses the hub's own files, and a file that the list of a job does not allow: its
// path may lead elsewhere than when that was looked at.
func (f *files) admit(file *os.File, rel, path string, kind event.ToolKind) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	at, err := rootfs.RealPath(file, f.workspace, rel)
	if err != nil {
		return fmt.Errorf("find %s: %w", path, err)
	}
	if f.private.Holds(info, at) {
		return forbidden("%s is one of abide's own files", path)
	}
	if info.IsDir() {
		return nil
	}
	return f.allowed(kind, at)
}

func inGitError(path string) error {
	return forbidden("%s is in .git, which only git writes", path)
}

// fileError maps an error to a code for the agent. os.Root has no sentinel for a
// path that leads out, so an error that is neither absence nor a refused permission
// counts as one.
func fileError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notFound("%s does not exist", path)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENAMETOOLONG):
		return invalid("%s: %v", path, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s: %w", path, err)
	}
	return forbidden("%s: %v", path, err)
}

// lineRange returns limit lines from line on, which counts from 1.
func lineRange(data []byte, line, limit *int) []byte {
	if line != nil {
		for range *line - 1 {
			i := bytes.IndexByte(data, '\n')
			if i < 0 {
				return nil
			}
			data = data[i+1:]
		}
	}
	if limit == nil {
		return data
	}
	end := 0
	for range max(*limit, 0) {
		i := bytes.IndexByte(data[end:], '\n')
		if i < 0 {
			return data
		}
		end += i + 1
	}
	return data[:end]
}

func countLines(data []byte) int {
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}
