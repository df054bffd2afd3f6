package demoagent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// archiveBytes is how much of one session is kept.
const archiveBytes = 8 << 20

// archive keeps sessions in a folder, one file each: a line with the session's
// facts, then a line for each update a client would need again.
type archive struct{ dir string }

// about is the first line of a session's file.
type about struct {
	ID        sdk.SessionId `json:"id"`
	Workspace string        `json:"cwd"`
}

// stateDir is where sessions are kept.
func (o Options) stateDir() string {
	if o.StateDir != "" {
		return o.StateDir
	}
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			home = os.TempDir()
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "abide", "demo-agent")
}

// create makes a session with the next free id.
func (a archive) create(seed int64, workspace string) (sdk.SessionId, error) {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return "", fmt.Errorf("make state folder: %w", err)
	}
	for n := 1; ; n++ {
		id := sdk.SessionId(fmt.Sprintf("demo-%d-%d", seed, n))
		file, err := os.OpenFile(a.path(id), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make session: %w", err)
		}
		err = json.NewEncoder(file).Encode(about{ID: id, Workspace: workspace})
		if err := errors.Join(err, file.Close()); err != nil {
			return "", fmt.Errorf("make session %s: %w", id, err)
		}
		return id, nil
	}
}

func (a archive) path(id sdk.SessionId) string { return filepath.Join(a.dir, string(id)+".jsonl") }

// valid keeps ids from naming other files.
func valid(id sdk.SessionId) bool {
	return id != "" && strings.Trim(string(id), "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// append adds a turn's updates.
func (a archive) append(id sdk.SessionId, updates []json.RawMessage) error {
	file, err := os.OpenFile(a.path(id), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep session %s: %w", id, err)
	}
	w := bufio.NewWriter(file)
	for _, update := range updates {
		w.Write(update)
		w.WriteByte('\n')
	}
	if err := errors.Join(w.Flush(), file.Close()); err != nil {
		return fmt.Errorf("keep session %s: %w", id, err)
	}
	return nil
}

// open reads a session back.
func (a archive) open(id sdk.SessionId) (about, []json.RawMessage, error) {
	notFound := &sdk.RequestError{Code: -32002, Message: fmt.Sprintf("session %q not found", id)}
	if !valid(id) {
		return about{}, nil, notFound
	}
	data, err := os.ReadFile(a.path(id))
	if err != nil {
		return about{}, nil, notFound
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	var is about
	if err := json.Unmarshal([]byte(first), &is); err != nil {
		return about{}, nil, notFound
	}
	var updates []json.RawMessage
	for line := range strings.Lines(rest) {
		if json.Valid([]byte(line)) { // a line that a kill cut off is not
			updates = append(updates, json.RawMessage(strings.TrimSuffix(line, "\n")))
		}
	}
	return is, updates, nil
}

// list returns the sessions of a workspace, newest first.
func (a archive) list(workspace *string) []sdk.SessionInfo {
	files, _ := filepath.Glob(filepath.Join(a.dir, "*.jsonl"))
	sessions := []sdk.SessionInfo{}
	for _, file := range files {
		is, updates, err := a.open(sdk.SessionId(strings.TrimSuffix(filepath.Base(file), ".jsonl")))
		if err != nil || workspace != nil && is.Workspace != *workspace {
			continue
		}
		info := sdk.SessionInfo{SessionId: is.ID, Cwd: is.Workspace}
		if stat, err := os.Stat(file); err == nil {
			info.UpdatedAt = sdk.Ptr(stat.ModTime().UTC().Format(time.RFC3339Nano))
		}
		if title := titleIn(updates); title != "" {
			info.Title = &title
		}
		sessions = append(sessions, info)
	}
	slices.SortStableFunc(sessions, func(x, y sdk.SessionInfo) int {
		return strings.Compare(deref(y.UpdatedAt), deref(x.UpdatedAt))
	})
	return sessions
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// titleIn is the first prompt, shortened.
func titleIn(updates []json.RawMessage) string {
	for _, raw := range updates {
		var u struct {
			Kind    string `json:"sessionUpdate"`
			Content struct{ Text string }
		}
		if json.Unmarshal(raw, &u) == nil && u.Kind == "user_message_chunk" {
			return titleOf(u.Content.Text)
		}
	}
	return ""
}

func (a archive) remove(id sdk.SessionId) {
	if valid(id) {
		os.Remove(a.path(id))
	}
}
