package session

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// AgentInfo is one configured agent.
type AgentInfo struct {
	// Name is how sessions name it.
	Name string
	// Description is a line for people.
	Description string
	// Command is the command line that runs it.
	Command []string
	// MCPServers are the names of the MCP servers that it is given.
	MCPServers []string
	// Resume is how its turns are resumed that were cut off.
	Resume ResumeSettings
	// Delegating are the titles of its tool calls that are sub-agents.
	Delegating []string
}

// ResumeSettings say how a turn is resumed that was cut off. The zero value is the
// default.
type ResumeSettings struct {
	// StaleAfter is the age from which a resume has to be confirmed; 0 is 25
	// minutes.
	StaleAfter time.Duration
	// Auto lets the hub resume by itself, where nothing changed that a person would
	// have to confirm, and at most twice after each prompt of a person.
	Auto bool
	// SegmentedFallback tells an agent without memory the whole session instead of a
	// short account.
	SegmentedFallback bool
	// SegmentTokens is about how many tokens it is told at once; 0 is 4000.
	SegmentTokens int
}

// QueueSettings say how prompts wait. The zero value is the default: the queue
// is on, holds 10 prompts, delivers at once and gives them titles.
type QueueSettings struct {
	// Disabled refuses prompts while the agent is busy.
	Disabled bool
	// Delay is how long the agent stays idle before it is given the next one.
	Delay time.Duration
	// MaxSize bounds the waiting prompts of a session; 0 means 10.
	MaxSize int
	// ContinueInterrupted gives the agent the next prompt after a turn was cut off.
	// Otherwise the queue waits until a person decides.
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

// PermissionSettings decide about permission requests in unwatched sessions.
// Nothing is ever allowed because time ran out.
type PermissionSettings struct {
	// DenyUnattended rejects at once; else the request waits.
	DenyUnattended bool
	// WaitLimit is how long a request waits in an unwatched session before it is
	// rejected; 0 means for ever.
	WaitLimit time.Duration
}

// Limits bound the hub's resources. Zero fields take the default.
type Limits struct {
	// Sessions bounds the sessions kept open in memory: 100.
	Sessions int
	// Agents bounds the live agents: 16. Idle ones that can be resumed are put
	// to sleep when another session needs one.
	Agents int
	// AgentIdle is how long an agent that can be resumed stays up with nothing
	// to do: 30 minutes. Negative means for ever.
	AgentIdle time.Duration
	// AgentStart bounds the start of an agent: 3 minutes.
	AgentStart time.Duration
	// PromptBytes bounds a prompt's text: 1 MiB.
	PromptBytes int
	// AttachmentBytes bounds one attachment: 25 MiB.
	AttachmentBytes int
	// SessionAttachmentBytes bounds all attachments of a session: 1 GiB.
	SessionAttachmentBytes int64
	// DailyAttachmentBytes bounds the uploads of one credential on a day: 200 MiB.
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
	// Workspaces are the directories sessions may run in or under. Empty
	// allows DefaultWorkspace only.
	Workspaces []string
	// DefaultWorkspace is used where a session names none.
	DefaultWorkspace string
	Queue            QueueSettings
	// WorkspaceQueues replaces Queue for sessions in these directories and
	// below; the nearest counts.
	WorkspaceQueues map[string]QueueSettings
	Permissions     PermissionSettings
	Limits          Limits
}

// queue returns the queue settings for a session in workspace, a path with its
// links resolved.
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

// resolveQueues names the directories of WorkspaceQueues as sessions do, with
// their links resolved. One that is not there keeps its name.
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

// agent is a configured agent; one that is not configured any more has the
// defaults.
func (s *Settings) agent(name string) AgentInfo {
	for _, a := range s.Agents {
		if a.Name == name {
			return a
		}
	}
	return AgentInfo{Name: name}
}

// commandDigest is the same for the same command, and does not tell it: arguments may
// be secret. It is empty where there is none.
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
