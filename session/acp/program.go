package acp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program returns the path of a command's program for a process with env: ~/ is
// that process's home, and a name without a slash is looked up in its PATH. So an
// agent is found where its own configuration says, not where the hub's would.
func program(name string, env []string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home := variable(env, "HOME")
		if home == "" {
			return "", fmt.Errorf("%s: HOME is not set", name)
		}
		return filepath.Join(home, rest), nil
	}
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := variable(env, "PATH")
	found := error(exec.ErrNotFound)
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // it would depend on the workspace
		}
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		switch {
		case err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0:
			return file, nil
		case err == nil && info.Mode().IsRegular():
			found = fmt.Errorf("%s: %w", file, fs.ErrPermission)
		}
	}
	if errors.Is(found, exec.ErrNotFound) {
		return "", &startError{fmt.Sprintf("not found in PATH (the agent's is %q)", path), found}
	}
	return "", found
}

// startError is the reason for a failed start in words of its own.
type startError struct {
	words string
	cause error
}

// Error implements error.
func (e *startError) Error() string { return e.words }

// Unwrap implements the interface of package errors.
func (e *startError) Unwrap() error { return e.cause }

// variable returns a variable of an environment; the last of its name counts.
func variable(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// command returns a command whose program was found for a process with env.
func command(words, env []string) (*exec.Cmd, error) {
	path, err := program(words[0], env)
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: path, Args: append([]string{}, words...), Env: env}, nil
}
