// Package allow decides which actions of its agent a job's list allows. It looks at what
// the agent says of an action; it cannot see what a command does.
package allow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// The kinds of actions that a list can allow, as agents name them.
const (
	Read    event.ToolKind = "read"
	Edit    event.ToolKind = "edit"
	Delete  event.ToolKind = "delete"
	Move    event.ToolKind = "move"
	Search  event.ToolKind = "search"
	Execute event.ToolKind = "execute"
	Think   event.ToolKind = "think"
	Fetch   event.ToolKind = "fetch"
)

const (
	// mostAllowed and mostWord limit a list, and each of its words in bytes.
	mostAllowed = 100
	mostWord    = 1000
)

// Preset returns the list of a preset. tests are the project's test commands.
func Preset(p event.JobPreset, tests []string) []event.Allowed {
	list := []event.Allowed{{Kind: Read}, {Kind: Search}, {Kind: Think}}
	if p == event.PresetRead {
		return list
	}
	list = append(list, event.Allowed{Kind: Edit}, event.Allowed{Kind: Delete}, event.Allowed{Kind: Move})
	if p == event.PresetEdit {
		return list
	}
	for _, t := range tests {
		list = append(list, event.Allowed{Kind: Execute, Command: t})
	}
	return list
}

// Check refuses a list that nobody can have meant, as state.ErrInvalid.
func Check(list []event.Allowed) error {
	if len(list) > mostAllowed {
		return fmt.Errorf("%w: a policy allows at most %d actions", state.ErrInvalid, mostAllowed)
	}
	for _, a := range list {
		switch {
		case !slices.Contains(a.Kind.Values(), string(a.Kind)):
			return fmt.Errorf("%w: a policy allows kinds of actions, such as read, edit and execute, not %q", state.ErrInvalid, a.Kind)
		case len(a.Path) > mostWord || len(a.Command) > mostWord || !state.Printable(a.Path+a.Command):
			return fmt.Errorf("%w: a path or a command of a policy has at most %d printable bytes", state.ErrInvalid, mostWord)
		case a.Path != "" && !filepath.IsLocal(a.Path):
			return fmt.Errorf("%w: the path %q of a policy is not below the workspace", state.ErrInvalid, a.Path)
		case a.Command != "" && a.Kind != Execute:
			return fmt.Errorf("%w: a policy names a command for execute only", state.ErrInvalid)
		case a.Kind == Execute && len(strings.Fields(strings.TrimSuffix(a.Command, " *"))) == 0:
			return fmt.Errorf("%w: a policy that allows execute names the command", state.ErrInvalid)
		case neverMatches(a.Command):
			return fmt.Errorf("%w: the command %q of a policy matches nothing: before \" *\" there is no word with %s; allow each command on its own, or the whole line without \" *\"",
				state.ErrInvalid, a.Command, strings.Join(strings.Split(strings.TrimSpace(shellWords), ""), " "))
		}
	}
	return nil
}

// neverMatches reports whether a command is a beginning that no command has: one with
// characters that mean something to a shell.
func neverMatches(command string) bool {
	begin, prefix := strings.CutSuffix(command, " *")
	return prefix && strings.ContainsAny(begin, shellWords)
}

// List is a job's list for a workspace.
type List struct {
	Allowed []event.Allowed
	// Workspace is an absolute directory.
	Workspace string
}

// Files reports whether an action of a kind is allowed on all of these paths. They are
// absolute, or relative to the workspace. Links are followed as far as the path exists.
func (l List) Files(kind event.ToolKind, paths ...string) bool {
	for _, path := range paths {
		if !l.file(kind, path) {
			return false
		}
	}
	return len(paths) > 0
}

func (l List) file(kind event.ToolKind, path string) bool {
	at, inside := l.below(path)
	return inside && slices.ContainsFunc(l.Allowed, func(a event.Allowed) bool {
		place := filepath.Clean(a.Path)
		return a.Kind == kind && (place == "." || at == place || strings.HasPrefix(at, place+string(filepath.Separator)))
	})
}

// inside reports whether all of the paths are below the workspace.
func (l List) inside(paths []string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool {
		_, inside := l.below(path)
		return !inside
	})
}

// below returns the place of a path below the workspace, with its links followed.
func (l List) below(path string) (string, bool) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.Workspace, path)
	}
	root, err := filepath.EvalSymlinks(l.Workspace)
	if err != nil {
		return "", false
	}
	at, err := filepath.Rel(root, followed(filepath.Clean(path)))
	return at, err == nil && filepath.IsLocal(at)
}

// followed resolves the links of the part of a clean path that exists.
func followed(path string) string {
	if actual, err := filepath.EvalSymlinks(path); err == nil {
		return actual
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(followed(dir), filepath.Base(path))
}

// Command reports whether a command with these arguments is allowed in a directory.
func (l List) Command(words []string, dir string) bool {
	if dir != "" {
		if _, inside := l.below(dir); !inside {
			return false
		}
	}
	line, isLine := shellLine(words)
	return slices.ContainsFunc(l.Allowed, func(a event.Allowed) bool {
		if a.Kind != Execute {
			return false
		}
		begin, prefix := strings.CutSuffix(a.Command, " *")
		want := strings.Fields(begin)
		switch {
		case len(want) == 0:
			return false
		case isLine && !prefix:
			return line == a.Command
		case isLine:
			if strings.ContainsAny(line, shellWords) {
				return false
			}
			words = strings.Fields(line)
		case prefix && slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, shellWords) }):
			return false
		}
		if prefix {
			return len(words) >= len(want) && slices.Equal(words[:len(want)], want)
		}
		return slices.Equal(words, want)
	})
}

// shellWords are the characters that mean something to a shell.
const shellWords = "|&;<>()$`\\\"'*?[]{}~!#\n\r\t"

// shellLine returns the line that a shell is given; ok is false for another command.
func shellLine(words []string) (line string, ok bool) {
	if len(words) == 1 {
		return words[0], true
	}
	if len(words) != 3 || words[1] != "-c" && words[1] != "-lc" {
		return "", false
	}
	switch filepath.Base(words[0]) {
	case "sh", "bash", "zsh", "dash":
		return words[2], true
	}
	return "", false
}

// Request reports whether what an agent asks for is allowed: about are all facts that it
// told of the call, call is the call as the request has it.
func (l List) Request(about state.Subject, call json.RawMessage) bool {
	kind := about.Kind
	if !about.Surely(kind) {
		return false
	}
	said := factsOf(call)
	if !said.readable {
		return false
	}
	switch kind {
	case Execute:
		return len(said.command) > 0 && l.Command(said.command, said.dir) && l.inside(said.paths)
	case Think:
		return slices.ContainsFunc(l.Allowed, func(a event.Allowed) bool { return a.Kind == Think })
	case Search:
		if len(said.paths) == 0 {
			return l.Files(kind, l.Workspace)
		}
		return l.Files(kind, said.paths...)
	case Read, Edit, Delete, Move:
		return l.Files(kind, said.paths...)
	}
	return slices.ContainsFunc(l.Allowed, func(a event.Allowed) bool { return a.Kind == kind && a.Path == "" && len(said.paths) == 0 })
}

// facts are what a request says of its call.
type facts struct {
	readable bool
	command  []string
	dir      string
	paths    []string
}

// pathNames are the members of an input that hold a path, and dirNames those that hold the
// directory of a command.
var (
	pathNames = []string{"path", "file_path", "filePath", "filepath", "abs_path", "absolute_path", "file", "filename", "notebook_path", "old_path", "new_path", "source", "destination", "directory", "dir", "target_file"}
	dirNames  = []string{"cwd", "workdir", "working_directory", "workingDirectory"}
)

func factsOf(call json.RawMessage) (f facts) {
	var said struct {
		Locations []struct {
			Path string `json:"path"`
		} `json:"locations"`
		Content []struct {
			Type string `json:"type"`
			Path string `json:"path"`
		} `json:"content"`
		Input json.RawMessage `json:"rawInput"`
	}
	if json.Unmarshal(call, &said) != nil {
		return f
	}
	f.readable = true
	for _, at := range said.Locations {
		f.paths = append(f.paths, at.Path)
	}
	for _, c := range said.Content {
		if c.Type == "diff" {
			f.paths = append(f.paths, c.Path)
		}
	}
	var input map[string]json.RawMessage
	if len(bytes.TrimSpace(said.Input)) > 0 && json.Unmarshal(said.Input, &input) != nil {
		return f // a text or a list, which names no path
	}
	for name, raw := range input {
		var word string
		text := json.Unmarshal(raw, &word) == nil
		switch {
		case name == "command" && text && word != "":
			f.command = append([]string{word}, f.command...)
		case name == "command" && json.Unmarshal(raw, &f.command) != nil:
			f.readable = false
		case slices.Contains(dirNames, name) && text:
			f.dir = word
		case slices.Contains(pathNames, name):
			f.paths, f.readable = append(f.paths, word), f.readable && text
		}
	}
	if args, has := input["args"]; has {
		var more []string
		f.readable = f.readable && json.Unmarshal(args, &more) == nil
		f.command = append(f.command, more...)
	}
	return f
}
