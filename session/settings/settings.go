// Package settings holds the settings of a hub for its sessions: agents, folders, queue,
// permissions, limits. They can change while the hub runs.
package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// Agent is one configured agent.
type Agent struct {
	// Name is how sessions name it.
	Name string
	// Description is a line for people.
	Description string
	// Command is the command line that runs it.
	Command []string
	// MCPServers are the names of the MCP servers that it gets.
	MCPServers []string
	// Resume says how its interrupted turns are resumed.
	Resume Resume
	// Delegating are the titles of its tool calls that run sub-agents.
	Delegating []string
	// Begin are the settings that its new sessions begin with.
	Begin Begin
	// Continue is the command that continues a session of it in its own terminal, with
	// {id} for its id of the session; empty if it is not known.
	Continue string
	// Asks is the mode in which it asks before it does what a policy may forbid; empty if that is
	// not known. Unasked are those in which it does some of that without asking.
	Asks    string
	Unasked []string
	// Reports says what it reports of its use: tokens, cost. Empty if that is not known.
	Reports []string
	// StartLimit limits its start; 0 means Limits.AgentStart.
	StartLimit time.Duration
}

// Begin are settings that a new session begins with. Empty ones are left to the agent.
type Begin struct {
	Mode, Model string
	// Options are strings and booleans by the ids of the agent's options.
	Options map[string]any
}

// Settings returns them as a session's start records them.
func (b Begin) Settings() (event.AgentSettings, error) {
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

// Resume say how an interrupted turn is resumed. The zero value is the
// default.
type Resume struct {
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

// Queue say how prompts wait. The zero value is the default: the queue is
// on, holds 10 prompts, has no delay and gives prompts titles.
type Queue struct {
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

// Size returns MaxSize or its default.
func (q Queue) Size() int {
	if q.MaxSize <= 0 {
		return defaultQueueSize
	}
	return q.MaxSize
}

// GuestSize limits the prompts that wait when a guest sends one. One place in five, at
// least one, is the owners'.
func (q Queue) GuestSize() int { return q.Size() - (q.Size()+4)/5 }

// Permissions decide about permission requests in unwatched sessions. A
// timeout never allows a request. They are the policy of sessions that begin while
// they are in force.
type Permissions struct {
	// DenyUnattended rejects such a request at once. Otherwise it waits.
	DenyUnattended bool
	// WaitLimit is how long a request waits in an unwatched session before it is
	// rejected; 0 means forever.
	WaitLimit time.Duration
}

// Policy returns the settings as a session that follows them records them. A limit
// below a millisecond is one.
func (s Permissions) Policy() event.Policy {
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
	// AgentStart limits the start of an agent that has no limit of its own: 5 minutes.
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

// WithDefaults returns the limits with defaults for the fields that are zero.
func (l Limits) WithDefaults() Limits {
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
		l.AgentStart = 5 * time.Minute
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

// Hub are the settings of a hub.
type Hub struct {
	// Agents are the configured agents; the first is the default.
	Agents []Agent
	// Workspaces are the directories in or under which sessions may run. Empty
	// allows DefaultWorkspace only.
	Workspaces []string
	// DefaultWorkspace is used if a session names none.
	DefaultWorkspace string
	// Own are the hub's own files and directories. No session is made there.
	Own   []string
	Queue Queue
	// WorkspaceQueues replaces Queue for sessions in or below these directories.
	// The nearest one applies.
	WorkspaceQueues map[string]Queue
	// Directories are absolute ones in which agents that work in or below a directory may
	// work, too. The nearest one applies.
	Directories map[string][]string
	Worktrees   Worktrees
	// Git are the settings of the directories that have some.
	Git map[string]Git
	// Tests are the test commands of projects, which jobs of the preset edit_test may run.
	Tests map[string][]string
	// Audits are the auditors of projects.
	Audits map[string]Audits
	// JobCaps are the caps that a project's jobs have by default, and at most.
	JobCaps map[string]event.JobCaps
	// Budgets are those of a day of a project.
	Budgets     map[string]Budget
	Permissions Permissions
	Limits      Limits
	// UndoWait is how long a prompt waits at most until the files are kept as they are
	// before it; 0 is no undo.
	UndoWait time.Duration
	// TrashFor is how long a deleted session can be restored; 0 deletes it at once.
	TrashFor time.Duration
	// ExpireAfter is how long nothing happens in an idle session until it is expired; 0 is
	// never.
	ExpireAfter time.Duration
	Space       Space
}

// Budget is how much the sessions of a project may use on a day. 0 is no bound of that kind.
type Budget struct {
	Tokens int64
	// Cost is in the currency that the agents report; several are not added up.
	Cost float64
	// WarnAt is the part, above 0 and at most 1, from which the hub warns. With Stop nothing
	// new begins on a day on which all is used.
	WarnAt float64
	Stop   bool
}

// Space says how much sessions may take, and when old ones are put away.
type Space struct {
	// Quota is in bytes; 0 is none. From WarnAt of it, between 0 and 1, the hub warns. It
	// deletes nothing for it.
	Quota  int64
	WarnAt float64
	// ArchiveAfter is for how long nothing happens in a session until it is archived; 0 is
	// never.
	ArchiveAfter time.Duration
	// CompressArchived compresses the logs of archived sessions.
	CompressArchived bool
	Clean            Clean
}

// Clean puts sessions away in which nothing happened for After, each Every.
type Clean struct {
	Enabled      bool
	Every, After time.Duration
	Lifecycles   []state.Lifecycle
}

// Worktrees say how sessions get their own copies of repositories.
type Worktrees struct {
	// Folder holds them. If it is empty, each is made beside its repository.
	Folder string
	// Copies name files of a directory that git ignores and that a copy gets, relative to
	// the directory. The nearest directory applies.
	Copies map[string][]string
	// Setups are commands, with their arguments, that run in a copy of a directory before an
	// agent starts there first. The nearest directory applies.
	Setups map[string][]string
}

// Audits are the auditors of a project.
type Audits struct {
	// Commands are command lines, by their names.
	Commands map[string][]string
	// Always names the one that judges every job; empty if none does.
	Always string
}

// Git says what may be done on the branches of a project's sessions.
type Git struct {
	// Collaborators lets collaborators commit and update.
	Collaborators bool
	// Push lets the hub push as the owner would by hand: git runs what the configuration of
	// the repository and of the owner names.
	Push bool
	// Forge is the kind of the remote's host (see internal/forge) if its name does not say it.
	Forge string
	// PullRequests is the program that makes pull requests, gh or glab, where Push is set;
	// empty for the page of the remote's host.
	PullRequests string
	// Sign lets the owner's git sign the commits that the hub makes, where it is to sign.
	Sign bool
}

// QueueFor returns the queue settings of a session in workspace, a path with its links
// resolved.
func (s *Hub) QueueFor(workspace string) Queue {
	if q, dir := nearest(s.WorkspaceQueues, workspace); dir != "" {
		return q
	}
	return s.Queue
}

// DirectoriesFor returns the directories beside workspace in which its agents may work,
// too.
func (s *Hub) DirectoriesFor(workspace string) []string {
	dirs, _ := nearest(s.Directories, workspace)
	return dirs
}

// CopiesFor returns the directory whose files a copy of the workspace gets, and their
// names.
func (s *Hub) CopiesFor(workspace string) (dir string, names []string) {
	names, dir = nearest(s.Worktrees.Copies, workspace)
	return dir, names
}

// SetupFor returns the command that sets up a copy of the workspace; nil if there is none.
func (s *Hub) SetupFor(workspace string) []string {
	command, _ := nearest(s.Worktrees.Setups, workspace)
	return command
}

// TestsFor returns the test commands of the project of a workspace.
func (s *Hub) TestsFor(workspace string) []string {
	tests, _ := nearest(s.Tests, workspace)
	return tests
}

// AuditsFor returns the auditors of the project of a workspace, and its directory; empty if
// it has none.
func (s *Hub) AuditsFor(workspace string) (a Audits, dir string) { return nearest(s.Audits, workspace) }

// CapsFor returns the caps that jobs in a workspace have by default, and at most.
func (s *Hub) CapsFor(workspace string) event.JobCaps {
	caps, _ := nearest(s.JobCaps, workspace)
	return caps
}

// BudgetFor returns the budget of a day for sessions in a folder, and the directory that has
// it; empty if there is none.
func (s *Hub) BudgetFor(folder string) (b Budget, dir string) { return nearest(s.Budgets, folder) }

// GitFor returns what may be done on the branch of a session in workspace.
func (s *Hub) GitFor(workspace string) Git {
	git, _ := nearest(s.Git, workspace)
	return git
}

// nearest returns the value of a directory or the nearest one above it that has one, and
// that directory; empty if none has.
func nearest[T any](of map[string]T, dir string) (value T, at string) {
	for ; len(of) > 0; dir = filepath.Dir(dir) {
		if value, ok := of[dir]; ok {
			return value, dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return value, ""
}

// plainWord is text that every shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.:/+@%-]+$`)

// Continuing returns the command that continues a session of the agent in its own
// terminal, from any folder; empty if that is not known.
func (a Agent) Continuing(agentSessionID, workspace string) string {
	if a.Continue == "" || !plainWord.MatchString(agentSessionID) {
		return ""
	}
	if !plainWord.MatchString(workspace) {
		if strings.ContainsFunc(workspace, unicode.IsControl) {
			return ""
		}
		workspace = "'" + strings.ReplaceAll(workspace, "'", `'\''`) + "'"
	}
	return "cd " + workspace + " && " + strings.ReplaceAll(a.Continue, "{id}", agentSessionID)
}

// ResolveProjects resolves the links in the paths of WorkspaceQueues, Directories, Copies
// and Setups, as in those of sessions. A missing directory keeps its path.
func (s *Hub) ResolveProjects() {
	s.Directories, s.Worktrees.Setups = resolved(s.Directories), resolved(s.Worktrees.Setups)
	s.Git, s.Tests, s.Audits = resolved(s.Git), resolved(s.Tests), resolved(s.Audits)
	s.JobCaps, s.Budgets = resolved(s.JobCaps), resolved(s.Budgets)
	s.WorkspaceQueues, s.Worktrees.Copies = resolved(s.WorkspaceQueues), resolved(s.Worktrees.Copies)
}

func resolved[T any](of map[string]T) map[string]T {
	all := make(map[string]T, len(of))
	for dir, value := range of {
		if real, err := RealDir(dir); err == nil {
			dir = real
		}
		all[filepath.Clean(dir)] = value
	}
	return all
}

// Agent returns a configured agent. An agent that is no longer configured has the
// defaults.
func (s *Hub) Agent(name string) Agent {
	for _, a := range s.Agents {
		if a.Name == name {
			return a
		}
	}
	return Agent{Name: name}
}

// CommandDigest returns a digest of a command. It does not reveal the command,
// whose arguments may be secret. It is empty if there is no command.
func (a Agent) CommandDigest() string {
	if len(a.Command) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(a.Command, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// ActsUnasked reports whether the agent is known to do in a mode, without asking, what a
// policy may forbid.
func (a Agent) ActsUnasked(mode string) bool { return slices.Contains(a.Unasked, mode) }

// Segment returns SegmentTokens or its default.
func (r Resume) Segment() int {
	if r.SegmentTokens <= 0 {
		return 4000
	}
	return r.SegmentTokens
}

// Configured reports whether there is an agent of this name.
func (s *Hub) Configured(name string) bool {
	return slices.ContainsFunc(s.Agents, func(a Agent) bool { return a.Name == name })
}

// Stale returns StaleAfter or its default.
func (r Resume) Stale() time.Duration {
	if r.StaleAfter <= 0 {
		return 25 * time.Minute
	}
	return r.StaleAfter
}
