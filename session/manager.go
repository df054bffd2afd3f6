package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/branch"
	"github.com/abidehub/abide/session/budget"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/index"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/rule"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/slots"
	"github.com/abidehub/abide/session/snapshot"
	"github.com/abidehub/abide/session/space"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/usage"
	"github.com/abidehub/abide/session/worktree"
)

// Options configure a Manager. Store, StartAgent and one agent are required.
type Options struct {
	Store journal.Store
	// SpoolDir is an absolute directory for the bytes of an import while it is read;
	// empty is the system's directory for temporary files.
	SpoolDir   string
	StartAgent StartAgent
	// SetUp runs set-up commands of working copies. Nil runs none.
	SetUp SetUp
	// ListPast asks an agent for the sessions that it stores. Nil: none can be asked.
	ListPast ListPast
	// Agents are the configured agents; the first is the default.
	Agents []settings.Agent
	// Workspaces are the directories in or under which sessions may run. Empty
	// allows DefaultWorkspace only.
	Workspaces       []string
	DefaultWorkspace string
	// Own are the hub's own files and directories. No session is made there.
	Own   []string
	Queue settings.Queue
	// WorkspaceQueues replaces Queue for sessions in or below these directories.
	// The nearest one applies.
	WorkspaceQueues map[string]settings.Queue
	// Directories and Branches are those of settings.Hub.
	Directories map[string][]string
	Branches    map[string]settings.Git
	// Worktrees say how a session's own copy of a repository is made.
	Worktrees settings.Worktrees
	// Tests, Audits and JobCaps are settings.Hub's.
	Tests   map[string][]string
	Audits  map[string]settings.Audits
	JobCaps map[string]event.JobCaps
	// Budgets are settings.Hub's.
	Budgets     map[string]settings.Budget
	Permissions settings.Permissions
	Limits      settings.Limits
	// MayRule reports whether the recorded person may still make rules for a
	// session, or for all sessions if the id is empty. It must not block. Nil
	// always allows.
	MayRule func(by event.Actor, sessionID string) bool
	// RuleAnswered is called after an answer that a rule gave is in the log, in the order
	// of the answers of a session. It may block. Nil is not called.
	RuleAnswered func(sessionID string, o event.PermissionOutcome)
	// InspectWorkspace returns the state of a workspace, for the prompt that
	// resumes a turn. If nil, the prompt omits it.
	InspectWorkspace InspectWorkspace
	// States keeps the files of workspaces, for undo. Nil: there is no undo.
	States *filestate.Keeper
	// UndoWait is how long a prompt waits at most until the files are kept; 0 is no undo.
	UndoWait time.Duration
	// TrashFor is how long a deleted session can be restored; 0 deletes it at once.
	TrashFor time.Duration
	// ExpireAfter is how long nothing happens in an idle session until it is expired; 0 is
	// never.
	ExpireAfter time.Duration
	// Space says how much sessions may take, and when old ones are put away.
	Space settings.Space
	// Git creates worktrees for forks. Nil if git is not installed.
	Git *gitstate.Git
	// OwnersEnv is added to the environment of programs that run as the owner would run
	// them.
	OwnersEnv []string
	Logger    *slog.Logger
	// Now is the clock for counting uploads; nil is time.Now.
	Now func() time.Time
	// SweepEvery is the interval of removing old uploads and what was in the trash for
	// long enough; 0 is 10 minutes.
	SweepEvery time.Duration
	// SaveNothing saves no snapshots by itself, in tests that count what is read.
	SaveNothing bool
	// IndexDir is the directory of the search index. Empty: there is none.
	IndexDir string
	// SearchPatience is how long a search waits for a slot; 0 is 10 seconds.
	SearchPatience time.Duration
	// Strict panics for a bug in the order of steps, in tests. Otherwise it is logged,
	// because a panic would end all sessions.
	Strict bool
	// FreeDisk returns how many bytes are free where an import is put; nil asks the file
	// system.
	FreeDisk func(dir string) (int64, error)
}

// Manager manages the sessions: it lists them, opens them, and decides which may
// run an agent. It is safe for concurrent use.
type Manager struct {
	journal   journal.Store
	spoolDir  string
	hub       hub
	worktrees worktree.Maker
	branches  branch.Maker
	settings  atomic.Pointer[settings.Hub]
	pool      *slots.Pool
	changes   *list.ChangeFeed
	reads     *list.ReadMarks
	logger    *slog.Logger
	freeDisk  func(dir string) (int64, error)
	listPast  ListPast

	ctx     context.Context // ends when the manager is closed
	cancel  context.CancelFunc
	helpers sync.WaitGroup // goroutines that open sessions; Close waits

	search  *search.Sessions
	index   *index.Index // nil if there is none
	used    *usage.Book
	budgets *budget.Keeper
	// snapshots has the snapshots of all sessions.
	snapshots *snapshot.Book
	creating  creations
	sizes     keptSizes
	restored  sync.Map // ids of sessions that come back from the trash just now; stays has them

	mu     sync.Mutex
	open   map[string]*opening
	began  int                       // number of openings that ever began
	broken map[string]*problem.Error // sessions whose last opening failed
	closed bool
}

// NewManager returns a manager that continues where the hub ended. In the
// background it opens sessions with waiting prompts and sessions that were
// interrupted. No agent of an earlier run may be alive.
func NewManager(o Options) (*Manager, error) {
	if o.Store == nil || o.StartAgent == nil {
		return nil, errors.New("new manager: a store and a way to start agents are needed")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = sweepEvery
	}
	if o.FreeDisk == nil {
		o.FreeDisk = disk.Free
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	rules, err := rule.Open(o.Store.Files())
	if err != nil {
		return nil, fmt.Errorf("new manager: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &Manager{
		journal: o.Store, spoolDir: o.SpoolDir,
		worktrees: worktree.Maker{Git: o.Git, Logger: o.Logger},
		branches:  branch.Maker{Git: o.Git, Logger: o.Logger, Env: o.OwnersEnv},
		pool:      slots.NewPool(0),
		changes:   list.NewChangeFeed(),
		reads:     list.OpenReadMarks(o.Store.Files(), o.Logger),
		logger:    o.Logger,
		freeDisk:  o.FreeDisk,
		sizes:     keptSizes{Book: space.OpenBook(o.Store, o.Logger)},
		listPast:  o.ListPast,
		ctx:       ctx,
		cancel:    cancel,
		open:      map[string]*opening{},
		broken:    map[string]*problem.Error{},

		creating: creations{running: map[creationKey]chan struct{}{}},
		used:     usage.NewBook(o.Store, o.Logger),

		snapshots: snapshot.NewBook(o.Store, o.Logger),
	}
	m.budgets = budget.NewKeeper(budget.Options{Store: o.Store, Used: m.used, Settings: m.settings.Load, Now: o.Now, Tell: m.tellBudget, Logger: o.Logger})
	m.hub = hub{
		budgets: m.budgets,
		start:   o.StartAgent, setUp: o.SetUp, settings: m.settings.Load, pool: m.pool, rules: rules, mayRule: o.MayRule, reads: m.reads, lines: list.Lines{Forks: forksOf(m.journal), Expiry: list.NewExpiry(func() time.Duration { return m.settings.Load().ExpireAfter }, o.Now)}, inspect: o.InspectWorkspace, states: o.States,
		uploads:   &uploadDays{now: o.Now, bytes: map[string]int64{}},
		snapshots: snapshot.NewSaver(m.snapshots),
		touched:   m.changes.Touch, lost: m.lose, logger: o.Logger, strict: o.Strict,
		answered: o.RuleAnswered,
	}
	m.openSearch(o)
	err = m.Configure(settings.Hub{
		Agents: o.Agents, Workspaces: o.Workspaces, DefaultWorkspace: o.DefaultWorkspace, Own: o.Own,
		Queue: o.Queue, WorkspaceQueues: o.WorkspaceQueues, Directories: o.Directories, Git: o.Branches, Worktrees: o.Worktrees, Tests: o.Tests, Audits: o.Audits, JobCaps: o.JobCaps, Budgets: o.Budgets, Permissions: o.Permissions, Limits: o.Limits, UndoWait: o.UndoWait, TrashFor: o.TrashFor, ExpireAfter: o.ExpireAfter, Space: o.Space,
	})
	if err != nil {
		cancel()
		return nil, err
	}
	m.helpers.Go(m.wakeSessions)
	m.helpers.Go(m.recoverWorktrees)
	m.helpers.Go(func() { o.States.ForgetOthers(ctx, m.mayExist) })
	for _, step := range []func(){m.emptyTrash, m.tellExpired, m.putAwayJobs, m.sweepUploads, m.keepUsage, m.archiveByAge, m.packArchived} {
		m.helpers.Go(func() {
			step()
			m.periodically(o.SweepEvery, step)
		})
	}
	m.helpers.Go(func() { m.periodically(o.SweepEvery, m.keepSizes) }) // the start has more urgent things to read
	m.helpers.Go(func() { m.reads.Run(ctx) })
	if !o.SaveNothing {
		m.helpers.Go(func() { m.hub.snapshots.Run(ctx) })
	}
	m.helpers.Go(func() { m.budgets.Run(ctx) })
	if m.index != nil {
		m.helpers.Go(func() { m.index.Run(ctx, m.changes) })
	}
	return m, nil
}

// Configure replaces the settings, also of open sessions.
func (m *Manager) Configure(s settings.Hub) error {
	if len(s.Agents) == 0 {
		return errors.New("configure sessions: no agent is configured")
	}
	s.Limits = s.Limits.WithDefaults()
	s.ResolveProjects()
	m.settings.Store(&s)
	m.pool.SetLimit(s.Limits.Agents)
	m.budgets.Look()
	for _, b := range m.opened() {
		b.watchers.Changed.Ring() // the engine checks its settings again
	}
	return nil
}

// wakeSessions opens the sessions that have work to do: those with waiting prompts,
// those without readable metadata, and those that may have been killed during a turn. The status may be up to a
// tenth of a second behind the log. The mark of an open log is on the device before
// its first line.
func (m *Manager) wakeSessions() {
	for meta := range m.journal.Owned() {
		if m.ctx.Err() != nil {
			return
		}
		beside, err := m.journal.Beside(meta.SessionID)
		if err != nil {
			continue // deleted meanwhile
		}
		working := false
		switch state.Status(meta.Status) {
		case state.StatusRunning, state.StatusNeedsYou, state.StatusFailed, state.StatusDamaged:
			working = true
		}
		unread := meta.Format == 0 // its metadata is rebuilt when it is opened
		if !working && !unread && meta.Writer == nil && !queue.Waiting(beside) {
			continue
		}
		// A session that cannot be opened is listed in Problems and does not delay
		// the others.
		if _, err := m.Session(m.ctx, meta.SessionID); err != nil {
			m.logger.Debug("a session was not woken", "session", meta.SessionID, "err", err)
		}
	}
}

// List returns a page of the sessions, newest first. It opens no session. The first page by
// size measures those in which something happened, for at most measureBound; those that are
// not measured then come last.
func (m *Manager) List(o list.Options) (list.Page, error) {
	if o.Sort == list.BySize && o.Cursor == "" {
		bounded, cancel := context.WithTimeout(m.ctx, measureBound)
		m.sizes.Measure(bounded, m.journal.Owned())
		cancel()
	}
	o.Bytes = func(info list.Info) int64 { return m.sizes.Of(info).Total() }
	return o.Page(m.journal.Newest, m.listed)
}

// Info returns the line of one session in the list, also if it cannot be opened.
func (m *Manager) Info(ctx context.Context, id string) (list.Info, error) {
	b, err := m.Session(ctx, id)
	var failed *problem.Error
	if errors.As(err, &failed) {
		if meta, listed := m.journal.Listed(id); listed {
			return m.listed(meta), nil
		}
	}
	if err != nil {
		return list.Info{}, err
	}
	return b.Info(), nil
}

// Changed returns a channel that is closed when the session list changes. Take it
// before ChangesSince, or a change in between is missed.
func (m *Manager) Changed() <-chan struct{} { return m.changes.Changed() }

// ChangesSince returns the sessions that changed or were added after version v, and
// the ids of those that were deleted. Version 0 is the start of the manager. Of
// several changes of a session it returns the last. now is the v of the next call.
func (m *Manager) ChangesSince(v uint64) (changed []list.Info, gone []string, now uint64) {
	ids, gone, now := m.changes.Since(v)
	for _, id := range ids {
		meta, listed := m.journal.Listed(id)
		if !listed {
			continue // deleted meanwhile, which the next call reports
		}
		changed = append(changed, m.listed(meta))
	}
	return changed, gone, now
}

// Lines returns the line of every session, newest activity first, and the version from which
// ChangesSince goes on. It opens no session.
func (m *Manager) Lines() (lines []list.Info, now uint64) {
	_, _, now = m.changes.Since(math.MaxUint64)
	for meta := range m.journal.Newest(journal.Place{}) {
		lines = append(lines, m.listed(meta))
	}
	return lines, now
}

// Reads returns people's read marks.
func (m *Manager) Reads() *list.ReadMarks { return m.reads }

// Patch changes a session's name, its archived and pinned labels, its tags, and whether it
// waits to be resumed. Nil
// fields do not change.
type Patch struct {
	// Name, if empty, allows automatic names again.
	Name     *string
	Pinned   *bool
	Archived *bool
	// Tags replaces the list; an empty one removes all.
	Tags *[]string
	// Resumable says whether the session waits to be resumed, by the word of an actor.
	// Unlike the labels it is an event of the log.
	Resumable *bool
	By        event.Actor
}

// Update changes a session's labels. A change that cannot be written has no effect.
func (m *Manager) Update(ctx context.Context, id string, p Patch) error {
	b, err := m.Session(ctx, id)
	if err != nil {
		return err
	}
	if p.Name != nil {
		name, err := state.GivenName(*p.Name)
		if err != nil {
			return err
		}
		p.Name = &name
	}
	if p.Tags != nil {
		tags, err := state.GivenTags(*p.Tags)
		if err != nil {
			return state.About("tags", err)
		}
		p.Tags = &tags
	}
	if p.Resumable != nil {
		if err := tell(ctx, b.mail, func(e *engine) error { return e.pauses.mark(*p.Resumable, p.By) }); err != nil {
			return err
		}
	}
	back := p.Archived != nil && !*p.Archived && b.Info().Archived && m.settings.Load().Space.ArchiveAfter > 0
	if err := b.label(ctx, p); err != nil {
		return fmt.Errorf("update session: %w", b.stuck(err))
	}
	if back {
		if err := m.noteUnarchived(b, p.By); err != nil {
			m.logger.Warn("a session does not say that it was taken out of the archive", "session", id, "err", err)
		}
	}
	if err := b.log.FlushMetadata(ctx); err != nil {
		// The labels are on the device, and the log retries the metadata.
		m.logger.Warn("metadata is not on the device yet", "session", id, "err", err)
	}
	m.changes.Touch(id)
	return nil
}

// Close stops all agents, closes open turns as hub_restart, and returns when all
// goroutines have ended. If ctx ends first, open turns and calls stay open in the
// log and the next start closes them. The caller closes the store.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.helpers.Wait()
	sessions := m.opened()
	errs := make(chan error, len(sessions))
	for _, b := range sessions {
		go func() { errs <- b.close(ctx) }() // received below
	}
	var all []error
	for range sessions {
		all = append(all, <-errs)
	}
	// Save the read marks after the agents' exits.
	if err := m.reads.Save(); err != nil {
		m.logger.Warn("read marks could not be saved", "err", err)
	}
	return errors.Join(all...)
}

// ResumeCounts counts the interrupted turns of all sessions, without those of imports:
// they were another hub's. It opens no session.
func (m *Manager) ResumeCounts() resume.Counts {
	return resume.Sum(func(yield func(event.InterruptionCounts) bool) {
		for meta := range m.journal.Newest(journal.Place{}) {
			if meta.Interruptions != nil && !meta.Imported && !yield(*meta.Interruptions) {
				return
			}
		}
	})
}
