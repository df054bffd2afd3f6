package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

// AgentInfo is one configured agent.
type AgentInfo struct {
	// Name is how sessions name it.
	Name string
	// Description is a line for people.
	Description string
	// Command is the command line that runs it.
	Command []string
	// MCPServers are the names of the MCP servers that it gets.
	MCPServers []string
	// Resume says how its interrupted turns are resumed.
	Resume ResumeSettings
	// Delegating are the titles of its tool calls that run sub-agents.
	Delegating []string
	// Begin are the settings that its new sessions begin with.
	Begin Begin
}

// Begin are settings that a new session begins with. Empty ones are left to the agent.
type Begin struct {
	Mode, Model string
	// Options are strings and booleans by the ids of the agent's options.
	Options map[string]any
}

// settings returns them as a session's start records them.
func (b Begin) settings() (event.AgentSettings, error) {
	s := event.AgentSettings{Mode: b.Mode, Model: b.Model}
	for id, value := range b.Options {
		raw, err := json.Marshal(value)
		if err != nil {
			return s, fmt.Errorf("option %s: %w", id, err)
		}
		if s.Options == nil {
			s.Options = map[string]json.RawMessage{}
		}
		s.Options[id] = raw
	}
	return s, nil
}

// ResumeSettings say how an interrupted turn is resumed. The zero value is the
// default.
type ResumeSettings struct {
	// StaleAfter is the age from which a resume must be confirmed; 0 is 25 minutes.
	StaleAfter time.Duration
	// Auto lets the hub resume by itself if there is nothing to confirm, at most
	// twice after each prompt of a person.
	Auto bool
	// SegmentedFallback sends the whole session to an agent that cannot resume its
	// own, instead of a summary.
	SegmentedFallback bool
	// SegmentTokens is about how many tokens are sent at once; 0 is 4000.
	SegmentTokens int
}

// QueueSettings say how prompts wait. The zero value is the default: the queue is
// on, holds 10 prompts, has no delay and gives prompts titles.
type QueueSettings struct {
	// Disabled refuses prompts while the agent is busy.
	Disabled bool
	// Delay is how long the agent stays idle before it gets the next prompt.
	Delay time.Duration
	// MaxSize limits the waiting prompts of a session; 0 means 10.
	MaxSize int
	// ContinueInterrupted gives the agent the next prompt after an interrupted
	// turn. Otherwise the queue waits until a person decides.
	ContinueInterrupted bool
	// Untitled leaves waiting prompts without a title.
	Untitled bool
}

const defaultQueueSize = 10

func (q QueueSettings) maxSize() int {
	if q.MaxSize <= 0 {
		return defaultQueueSize
	}
	return q.MaxSize
}

// guestSize limits the prompts that wait when a guest sends one. One place in five, at
// least one, is the owners'.
func (q QueueSettings) guestSize() int { return q.maxSize() - (q.maxSize()+4)/5 }

// PermissionSettings decide about permission requests in unwatched sessions. A
// timeout never allows a request. They are the policy of sessions that begin while
// they are in force.
type PermissionSettings struct {
	// DenyUnattended rejects such a request at once. Otherwise it waits.
	DenyUnattended bool
	// WaitLimit is how long a request waits in an unwatched session before it is
	// rejected; 0 means forever.
	WaitLimit time.Duration
}

// policy returns the settings as a session that follows them records them. A limit
// below a millisecond is one.
func (s PermissionSettings) policy() event.Policy {
	p := event.Policy{Unattended: event.UnattendedWait, Configured: true}
	if s.DenyUnattended {
		p.Unattended = event.UnattendedDeny
	}
	if s.WaitLimit > 0 {
		p.WaitLimitMS = max(1, s.WaitLimit.Milliseconds())
	}
	return p
}

// Limits limit the hub's resources. Zero fields take the default.
type Limits struct {
	// Sessions limits the sessions kept open in memory: 100.
	Sessions int
	// Agents limits the running agents: 16. Idle agents that can be resumed are
	// stopped when another session needs one.
	Agents int
	// AgentIdle is how long an agent that can be resumed may be idle before it is
	// stopped: 30 minutes. Negative means forever.
	AgentIdle time.Duration
	// AgentStart limits the start of an agent: 3 minutes.
	AgentStart time.Duration
	// PromptBytes limits a prompt's text: 1 MiB.
	PromptBytes int
	// AttachmentBytes limits one attachment: 25 MiB.
	AttachmentBytes int
	// SessionAttachmentBytes limits all attachments of a session: 1 GiB.
	SessionAttachmentBytes int64
	// DailyAttachmentBytes limits the uploads of one credential per day: 200 MiB.
	DailyAttachmentBytes int64
}

func (l Limits) withDefaults() Limits {
	if l.Sessions <= 0 {
		l.Sessions = 100
	}
	if l.Agents <= 0 {
		l.Agents = 16
	}
	if l.AgentIdle == 0 {
		l.AgentIdle = 30 * time.Minute
	}
	if l.AgentStart <= 0 {
		l.AgentStart = 3 * time.Minute
	}
	if l.PromptBytes <= 0 {
		l.PromptBytes = 1 << 20
	}
	if l.AttachmentBytes <= 0 {
		l.AttachmentBytes = 25 << 20
	}
	if l.SessionAttachmentBytes <= 0 {
		l.SessionAttachmentBytes = 1 << 30
	}
	if l.DailyAttachmentBytes <= 0 {
		l.DailyAttachmentBytes = 200 << 20
	}
	return l
}

// Settings are the parts of the configuration that can change while the hub runs.
type Settings struct {
	// Agents are the configured agents; the first is the default.
	Agents []AgentInfo
	// Workspaces are the directories in or under which sessions may run. Empty
	// allows DefaultWorkspace only.
	Workspaces []string
	// DefaultWorkspace is used if a session names none.
	DefaultWorkspace string
	// Own are the hub's own files and directories. No session is made there.
	Own   []string
	Queue QueueSettings
	// WorkspaceQueues replaces Queue for sessions in or below these directories.
	// The nearest one applies.
	WorkspaceQueues map[string]QueueSettings
	Permissions     PermissionSettings
	Limits          Limits
}

// queue returns the queue settings of a session in workspace, a path with its links
// resolved.
func (s *Settings) queue(workspace string) QueueSettings {
	for dir := workspace; len(s.WorkspaceQueues) > 0; dir = filepath.Dir(dir) {
		if q, ok := s.WorkspaceQueues[dir]; ok {
			return q
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return s.Queue
}

// resolveQueues resolves the links in the paths of WorkspaceQueues, as in those of
// sessions. A missing directory keeps its path.
func (s *Settings) resolveQueues() {
	resolved := make(map[string]QueueSettings, len(s.WorkspaceQueues))
	for dir, q := range s.WorkspaceQueues {
		if real, err := realDir(dir); err == nil {
			dir = real
		}
		resolved[filepath.Clean(dir)] = q
	}
	s.WorkspaceQueues = resolved
}

// agent returns a configured agent. An agent that is no longer configured has the
// defaults.
func (s *Settings) agent(name string) AgentInfo {
	for _, a := range s.Agents {
		if a.Name == name {
			return a
		}
	}
	return AgentInfo{Name: name}
}

// commandDigest returns a digest of a command. It does not reveal the command,
// whose arguments may be secret. It is empty if there is no command.
func (a AgentInfo) commandDigest() string {
	if len(a.Command) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(a.Command, "\x00")))
	return hex.EncodeToString(sum[:8])
}

func (r ResumeSettings) segmentTokens() int {
	if r.SegmentTokens <= 0 {
		return defaultSegmentTokens
	}
	return r.SegmentTokens
}

// configured reports whether there is an agent of this name.
func (s *Settings) configured(name string) bool {
	return slices.ContainsFunc(s.Agents, func(a AgentInfo) bool { return a.Name == name })
}

func (r ResumeSettings) staleAfter() time.Duration {
	if r.StaleAfter <= 0 {
		return defaultStaleAfter
	}
	return r.StaleAfter
}
