package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/abidehub/abide/frontend"
	"github.com/abidehub/abide/internal/agentsetup"
	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/internal/localhub"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/internal/record"
	"github.com/abidehub/abide/internal/schedule"
	"github.com/abidehub/abide/internal/workspace"
	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

const (
	// sweepTime limits the time to end processes of an earlier run.
	sweepTime = 30 * time.Second
	// lockPatience is how long a killed hub may take to release the lock.
	lockPatience = time.Second
	// closeTime limits the time to stop the agents when the hub stops.
	closeTime = 20 * time.Second
)

// hub is a running hub with its parts.
type hub struct {
	logger    *slog.Logger
	dir       string
	base      string // where people reach it
	started   config.Config
	loader    config.Loader
	folder    startFolder
	store     *store.Store
	registry  *auth.Registry
	door      *auth.Door
	agents    *agents
	audit     *audit.Trail
	manager   *session.Manager
	jobs      *jobs.Runner
	schedules *schedule.Schedules
	notify    *notify.Notifier
	machines  *machines.Home
	member    *machines.Member
	server    *server.Server
	listeners []net.Listener

	applying sync.Mutex // held while a configuration is applied

	beside sync.WaitGroup // goroutines beside the server; they end with ctx
	ctx    context.Context
	cancel context.CancelFunc
}

// buildHub builds a hub that is ready to serve. It builds the parts in the order of
// their dependencies. If one fails, it closes the earlier ones.
func buildHub(ctx context.Context, loader config.Loader, c config.Config, logger *slog.Logger) (h *hub, err error) {
	since, own := time.Now(), ownFiles(loader, c)
	h = &hub{logger: logger, dir: c.Data, started: c, loader: loader}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	durability := store.Balanced
	if c.Durability == "strict" {
		durability = store.Strict
	}
	options := store.Options{Logger: logger, Durability: durability, SegmentBytes: int64(c.LogFileMiB) << 20, KeepBytes: int64(c.KeepLogMiB) << 20}
	if h.store, err = openStore(ctx, c.Data, options); err != nil {
		return h, err
	}
	if err := h.sweep(ctx); err != nil {
		return h, err
	}
	h.audit = audit.Open(h.dir)
	if h.registry, err = auth.Open(c.Data, logger, nil); err != nil {
		return h, err
	}
	if h.listeners, err = handed(); err == nil && h.listeners == nil {
		h.listeners, err = listen(ctx, c.Addr)
	}
	if err != nil {
		return h, err
	}
	h.base = "http://" + h.listeners[0].Addr().String()
	h.agents = &agents{hubID: h.store.HubID(), runID: h.store.RunID(), own: own, logger: logger}
	if err := h.agents.configure(c); err != nil {
		return h, err
	}
	h.folder = startedIn(loader, own)
	settings := h.settings(c)
	h.warnOfExposure(settings)
	folders := newWorkspaces(ctx, logger)
	if err := h.openMachines(); err != nil {
		return h, err
	}
	h.manager, err = session.NewManager(session.Options{
		RuleAnswered:     h.noteRuleAnswer,
		MayRule:          h.mayManage,
		InspectWorkspace: folders.inspect, Git: folders.git, OwnersEnv: h.ownersEnv(),
		States: filestate.New(folders.git, filepath.Join(h.dir, "undo"), own, logger), UndoWait: settings.UndoWait, TrashFor: settings.TrashFor, ExpireAfter: settings.ExpireAfter, Space: settings.Space,
		Store: h.store.Journal(), SpoolDir: h.store.Dir(), IndexDir: filepath.Join(h.store.Dir(), "derived"), StartAgent: h.agents.start, SetUp: h.agents.setUp, ListPast: h.agents.listPast, Logger: logger,
		Agents: settings.Agents, Workspaces: settings.Workspaces, Own: settings.Own, DefaultWorkspace: settings.DefaultWorkspace,
		Queue: settings.Queue, WorkspaceQueues: settings.WorkspaceQueues, Directories: settings.Directories, Branches: settings.Git, Worktrees: settings.Worktrees, Tests: settings.Tests, Audits: settings.Audits, JobCaps: settings.JobCaps, Budgets: settings.Budgets, Permissions: settings.Permissions, Limits: settings.Limits,
	})
	if err != nil {
		return h, err
	}
	mayRun := func(by event.Actor) bool { return h.mayManage(by, "") }
	h.jobs = jobs.New(jobs.Options{
		Manager: h.manager, OwnersEnv: h.ownersEnv(), Settings: jobs.Settings(c.Jobs), Logger: logger, MayRun: mayRun,
	})
	h.schedules = schedule.Open(schedule.Options{Files: disk.Folder{Dir: h.dir}, Jobs: h.jobs, MayRun: mayRun, Logger: logger})
	h.door = auth.NewDoor(h.registry, h.store.HubID())
	h.door.Names(addressesOf(h.listeners), c.PublicNames)
	lines := &server.MachineLines{Home: h.machines}
	h.notify, err = notify.Open(notify.Options{
		Dir: h.dir, Manager: h.manager, Registry: h.registry, Since: since, Guard: guard(c), Channels: channels(c), Base: publicBase(c), Logger: logger,
		Lines: lines, Quiet: h.member.HomeNotifies,
	})
	if err != nil {
		return h, err
	}
	page, _ := frontend.Index()
	h.server, err = server.New(server.Options{
		Manager: h.manager, Jobs: h.jobs, Schedules: h.schedules, Registry: h.registry, Door: h.door, Notify: h.notify, Audit: h.audit, HubID: h.store.HubID(), Version: versionText(),
		Files: workspace.New(folders.git, own), Folders: folderGate{loader, own, h.reconfigure}, Agents: h.agentGate(), Machines: h.machines, Member: h.member, App: frontend.FS(), Page: page, Logger: logger, Limits: server.Limits{Clients: c.Limits.Clients},
	})
	if err != nil {
		return h, err
	}
	lines.Server = h.server
	return h, h.tellAddr()
}

// mayManage reports whether an actor may manage a session, or all where id is empty: by a
// credential of this hub, or at its home.
func (h *hub) mayManage(by event.Actor, id string) bool {
	return h.registry.May(by, auth.Manage, id) || h.member.MayManage(by)
}

// openMachines opens what joins this hub to others. Neither part does anything before a link
// is made or spent.
func (h *hub) openMachines() (err error) {
	listed := func(id string) bool {
		_, listed := h.store.Journal().Listed(id)
		return listed
	}
	if h.machines, err = machines.OpenHome(machines.HomeOptions{Dir: h.dir, ID: h.store.HubID(), Version: versionText(), Has: listed, Notifies: func() bool { return h.notify.Notifies() }, Logger: h.logger}); err != nil {
		return err
	}
	h.machines.Configure(keptCopies(h.started))
	h.member, err = machines.OpenMember(machines.MemberOptions{Dir: h.dir, ID: h.store.HubID(), Run: h.store.RunID(), Version: versionText(), Logger: h.logger})
	return err
}

// keptCopies says what copies of machines' sessions a configuration keeps.
func keptCopies(c config.Config) machines.Keep {
	return machines.Keep{Copies: machines.KeepCopies(c.Machines.KeepCopies), Bytes: int64(c.Machines.CopiesMiB) << 20}
}

// ownersEnv marks the programs that the hub runs as its owner would.
func (h *hub) ownersEnv() []string {
	return []string{acp.OwnersProgram(h.store.HubID(), h.store.RunID())}
}

// agentGate is the hub's part that sets agents up.
func (h *hub) agentGate() agentGate {
	setup := &agentsetup.Setup{
		Loader: h.loader, HubID: h.store.HubID(), RunID: h.store.RunID(), Version: versionText(), Logger: h.logger, Apply: h.reconfigure,
		Busy: make(chan struct{}, 1), Slot: h.manager.AgentSlot,
	}
	if err := setup.RemoveFolders(); err != nil {
		h.logger.Warn("folders of an earlier run's agents could not be removed", "err", err)
	}
	return agentGate{setup, agentsetup.NewLogins(setup, h.run)}
}

// tellAddr writes the hub's address to a file. If there is no space, the hub runs
// anyway; the command line then needs the address.
func (h *hub) tellAddr() error {
	err := localhub.Announce(h.dir, h.base)
	if disk.IsFull(err) {
		h.logger.Warn("no space to write the hub's address; commands need ABIDE_ADDR until a restart", "err", err)
		return nil
	}
	return err
}

// openStore opens the data directory. A hub that was killed a moment ago may still
// hold the lock while the system cleans up: openStore waits for that, but not for a
// running hub.
func openStore(ctx context.Context, dir string, o store.Options) (*store.Store, error) {
	for deadline := time.Now().Add(lockPatience); ; {
		s, err := store.Open(dir, o)
		var locked *store.LockedError
		if err == nil || !errors.As(err, &locked) || time.Now().After(deadline) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lockPatience / 20):
		}
	}
}

// sweep ends the processes of an earlier run of this hub before any agent starts:
// two agents must never work in one directory.
func (h *hub) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	n, err := acp.Sweep(ctx, h.store.HubID(), h.store.RunID())
	if n > 0 {
		h.logger.Warn("ended processes of an earlier run", "count", n)
	}
	if err != nil {
		return fmt.Errorf("end processes of an earlier run: %w", err)
	}
	return nil
}

// settings is the sessions' part of a configuration.
func (h *hub) settings(c config.Config) settings.Hub {
	workspaces, first := h.folder.workspaces(c)
	queues, directories := map[string]settings.Queue{}, map[string][]string{}
	worktrees := settings.Worktrees{Folder: c.Worktrees, Copies: map[string][]string{}, Setups: map[string][]string{}}
	git, tests, audits := map[string]settings.Git{}, map[string][]string{}, map[string]settings.Audits{}
	caps, budgets := map[string]event.JobCaps{}, map[string]settings.Budget{}
	for dir, p := range c.Projects {
		if p.Queue != nil {
			queues[dir] = queueSettings(*p.Queue)
		}
		if p.Worktree != nil {
			worktrees.Copies[dir] = p.Worktree.Copy
			if len(p.Worktree.Setup) > 0 {
				worktrees.Setups[dir] = p.Worktree.Setup
			}
		}
		if p.Git != nil {
			git[dir] = settings.Git(*p.Git)
		}
		if len(p.Tests) > 0 {
			tests[dir] = p.Tests
		}
		if len(p.Auditors) > 0 {
			audits[dir] = settings.Audits{Commands: p.Auditors, Always: p.Auditor}
		}
		if p.JobCaps != (config.JobCaps{}) {
			caps[dir] = event.JobCaps(p.JobCaps)
		}
		if p.Budget != nil {
			budgets[dir] = settings.Budget(*p.Budget)
		}
		if p.Directories != nil {
			directories[dir] = p.Directories
		}
	}
	if c.Worktrees == config.BesideRepository {
		worktrees.Folder = ""
	}
	return settings.Hub{
		Agents: h.agents.infos(c), Workspaces: workspaces, DefaultWorkspace: first, Own: h.agents.own,
		Queue: queueSettings(c.Queue), WorkspaceQueues: queues, Directories: directories, Worktrees: worktrees, Git: git, Tests: tests, Audits: audits, JobCaps: caps, Budgets: budgets, UndoWait: c.UndoWait, TrashFor: time.Duration(c.Storage.TrashDays) * 24 * time.Hour, ExpireAfter: time.Duration(c.Storage.ExpiredDays) * 24 * time.Hour, Space: spaceSettings(c.Storage),
		Permissions: settings.Permissions{
			DenyUnattended: c.Permissions.Unattended == "deny", WaitLimit: c.Permissions.WaitLimit,
		},
		Limits: settings.Limits{
			Sessions: c.Limits.Sessions, Agents: c.Limits.Agents,
			SessionAttachmentBytes: int64(c.Limits.SessionAttachmentsMiB) << 20, DailyAttachmentBytes: int64(c.Limits.DailyAttachmentsMiB) << 20,
		},
	}
}

func spaceSettings(c config.Storage) settings.Space {
	s := settings.Space{
		Quota: int64(c.QuotaMiB) << 20, WarnAt: c.WarnAt, ArchiveAfter: time.Duration(c.ArchiveDays) * 24 * time.Hour, CompressArchived: c.CompressArchived,
		Clean: settings.Clean{Enabled: c.Clean.Enabled, Every: c.Clean.Every, After: c.Clean.After},
	}
	for _, l := range c.Clean.Lifecycles {
		s.Clean.Lifecycles = append(s.Clean.Lifecycles, state.Lifecycle(l))
	}
	return s
}

// noteRuleAnswer records an answer that a rule gave. The answer is in the session's log
// already, so a failed write changes nothing.
func (h *hub) noteRuleAnswer(sessionID string, o event.PermissionOutcome) {
	r := audit.Record{
		Verb: audit.RuleAnswer, By: o.By, ByID: o.ByID, Peer: "hub", SessionID: sessionID,
		Detail: fmt.Sprintf("%s: %s %s by rule %s", o.PermissionID, o.Outcome, o.OptionID, o.Rule),
	}
	if err := h.audit.Append(r); err != nil {
		h.logger.Error("audit trail could not be written", "verb", r.Verb, "err", err)
	}
}

// warnOfExposure logs which of the hub's own files are in a workspace.
func (h *hub) warnOfExposure(s settings.Hub) {
	for _, e := range exposed(h.agents.own, s.Workspaces) {
		h.logger.Warn("move it out of the workspace: " + e.String())
	}
}

func queueSettings(q config.Queue) settings.Queue {
	return settings.Queue{
		Disabled: !q.Enabled, Delay: q.Delay, MaxSize: q.MaxSize, Untitled: !q.Titles,
		ContinueInterrupted: q.AfterInterruption == "continue",
	}
}

// serve runs the hub until ctx ends.
func (h *hub) serve(ctx context.Context) error {
	h.run("credentials", h.registry.Run)
	h.run("notifications", h.notify.Run)
	h.beside.Go(func() { h.jobs.Run(h.ctx) })
	h.beside.Go(func() { h.schedules.Run(h.ctx) })
	h.run("recordings", h.takeRecordings)
	h.beside.Go(func() { h.member.Run(h.ctx, h.server.ForHome()) })
	return h.server.Serve(ctx, h.listeners...)
}

// recordingsEvery is how often the hub looks for what killed recorders left. It is less
// than the silence after which their sessions are closed.
const recordingsEvery = 5 * time.Second

// takeRecordings takes the events that killed recorders of this machine left.
func (h *hub) takeRecordings(ctx context.Context) error {
	every := time.NewTicker(recordingsEvery)
	defer every.Stop()
	for {
		record.HandOver(ctx, record.Dir(h.dir), record.InHub(h.manager), func(format string, args ...any) {
			h.logger.Warn(fmt.Sprintf(format, args...))
		})
		select {
		case <-every.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// browse opens the person's browser. A failure does not end the hub.
func (h *hub) browse(env []string, link string) {
	h.run("browser", func(ctx context.Context) error {
		return openBrowser(ctx, env, h.dir, link, auth.PairingLife)
	})
}

// watch applies valid edits of the configuration while the hub runs.
func (h *hub) watch(loader config.Loader) {
	h.run("configuration", func(ctx context.Context) error {
		return loader.Watch(ctx, h.started, h.reconfigure, func(err error) {
			h.logger.Error("configuration refused, the previous one is kept", "err", err)
		})
	})
}

func (h *hub) reconfigure(c config.Config) {
	h.applying.Lock()
	defer h.applying.Unlock()
	if err := h.agents.configure(c); err != nil {
		h.logger.Error("configuration refused, the previous one is kept", "err", err)
		return
	}
	settings := h.settings(c)
	if err := h.manager.Configure(settings); err != nil {
		h.logger.Error("configuration refused, the previous one is kept", "err", err)
		return
	}
	h.warnOfExposure(settings)
	h.door.Names(addressesOf(h.listeners), c.PublicNames)
	h.jobs.Configure(jobs.Settings(c.Jobs))
	h.notify.Configure(guard(c), channels(c), publicBase(c))
	h.store.SetKeep(int64(c.KeepLogMiB) << 20)
	h.machines.Configure(keptCopies(c))
	h.server.SetLimits(server.Limits{Clients: c.Limits.Clients})
	was := h.started
	if c.Addr != was.Addr || c.Data != was.Data || c.Durability != was.Durability || c.LogFileMiB != was.LogFileMiB {
		h.logger.Warn("addr, data, durability and log_file_mib take effect at the next start")
	}
	warnOf(h.logger, c)
	h.logger.Info("configuration applied")
}

// warnOf logs what the configuration should say otherwise.
func warnOf(logger *slog.Logger, c config.Config) {
	for _, warning := range c.Warnings {
		logger.Warn(warning)
	}
}

// run runs a function beside the server until the hub closes.
func (h *hub) run(name string, f func(context.Context) error) {
	h.beside.Go(func() {
		if err := f(h.ctx); err != nil && !errors.Is(err, context.Canceled) {
			h.logger.Error(name+" failed", "err", err)
		}
	})
}

// close stops the parts in reverse order. When it returns, the agents are gone and
// the data directory is unlocked.
func (h *hub) close() error {
	h.cancel()
	h.beside.Wait()
	var errs []error
	for _, l := range h.listeners {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) { // serve has already closed them
			errs = append(errs, err)
		}
	}
	if h.machines != nil {
		h.machines.Close()
	}
	if h.manager != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		errs = append(errs, h.manager.Close(ctx))
		if h.notify != nil {
			h.notify.Finish(ctx)
		}
	}
	errs = append(errs, h.audit.Close())
	if h.store == nil {
		return errors.Join(errs...)
	}
	if err := localhub.Withdraw(h.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	err := h.store.Close()
	if errors.Is(err, journal.ErrFrozen) {
		// The freeze was logged when it happened, and the next start repairs the
		// log: the hub itself stopped as requested.
		h.logger.Warn("a session could not be closed", "err", err)
		err = nil
	}
	return errors.Join(append(errs, err)...)
}
