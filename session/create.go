package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/worktree"
)

// CreateRequest asks for a new session.
type CreateRequest struct {
	// Agent is a configured agent's name; empty means the default.
	Agent string
	// Workspace is an absolute directory; empty means the default.
	Workspace string
	// Name is the session's name given by a person. If empty, the first prompt and
	// the agent name the session.
	Name string
	// Prompt, if not empty, is the first prompt.
	Prompt string
	// Mode and Model, if not empty, are those that the session begins with, instead of
	// the configured ones.
	Mode, Model string
	// Options are added to the configured ones: strings and booleans by the ids of the
	// agent's options.
	Options map[string]json.RawMessage
	Actor   event.Actor
	// Policy decides about permission requests while no person watches; nil means
	// that of the hub's configuration now. It is recorded and does not change.
	Policy *event.Policy
	// Key is the client's id of this request, at most 128 bytes, and the id of its
	// prompt. If the same actor repeats the key, it gets the session of the first
	// request, as long as that exists. Without a key each request creates a
	// session.
	Key string
	// Worktree, if not nil, is created first.
	Worktree *NewWorktree

	recorded bool          // by a program: the hub runs no agent for it
	forkOf   *event.Forked // nil if it is no fork
	job      *event.Job    // nil if it is none
	// within is the worktree of another session that Workspace is in; nil if it is in none.
	within *event.Worktree
}

// NewWorktree asks for a git worktree of Workspace's repository, in which the session
// works. Empty fields are chosen.
type NewWorktree struct {
	// Branch is the name of its new branch, Base the branch, tag or commit where that
	// begins, Folder its absolute path.
	Branch, Base, Folder string

	fork     bool // see worktree.Request
	at, from string
	words    string
}

// creationKey separates the keys of different clients.
type creationKey struct{ byID, key string }

// hash identifies the content of a request: 128 bits of SHA-256, in hex.
func (r CreateRequest) hash() string {
	name := r.Name
	if r.forkOf != nil {
		name = "" // it follows from the original, whose name may change before a resend
	}
	asked := []string{r.Agent, r.Workspace, name, r.Prompt}
	if r.recorded {
		asked = append(asked, "recorded")
	}
	if f := r.forkOf; f != nil {
		asked = append(asked, fmt.Sprintf("fork of %s %d", f.SessionID, f.Seq))
	}
	if w := r.Worktree; w != nil {
		asked = append(asked, "in worktree "+w.Folder)
		if w.Branch+w.Base != "" {
			asked = append(asked, "branch "+w.Branch, "from "+w.Base)
		}
	}
	if r.Policy != nil {
		asked = append(asked, fmt.Sprintf("with policy %s %d", r.Policy.Unattended, r.Policy.WaitLimitMS))
	}
	if r.job != nil {
		given := *r.job
		given.Attachments = nil
		for _, a := range r.job.Attachments { // a name may differ when it is uploaded again
			given.Attachments = append(given.Attachments, event.Attachment{SHA256: a.SHA256})
		}
		job, err := json.Marshal(given)
		if err != nil { // encoding it never fails
			panic(err)
		}
		asked = append(asked, "job "+string(job))
	}
	if r.Mode+r.Model != "" {
		asked = append(asked, "in mode "+r.Mode, "with model "+r.Model)
	}
	for _, id := range slices.Sorted(maps.Keys(r.Options)) {
		asked = append(asked, "option "+id, string(r.Options[id]))
	}
	payload, err := json.Marshal(asked)
	if err != nil { // encoding strings never fails
		panic(err)
	}
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:16])
}

// Create creates a session and sends its first prompt, which starts its agent. With
// a key it does so once, however often the request is repeated. After an
// interruption between two steps, the next call completes the rest. It is
// ErrConflict if the key was used for another request.
func (m *Manager) Create(ctx context.Context, r CreateRequest) (*BackgroundSession, error) {
	prompt := PromptRequest{PromptID: r.Key, Text: r.Prompt, Actor: r.Actor}
	if r.Key == "" {
		id := make([]byte, 16)
		rand.Read(id)
		prompt.PromptID = hex.EncodeToString(id)
	}
	if r.Prompt != "" {
		// Check everything before a refusal would leave something behind.
		if err := prompt.validate(m.settings.Load().Limits.PromptBytes); err != nil {
			return nil, err
		}
	}
	if _, made := m.madeBy(r); r.Prompt != "" && !made {
		if err := m.stoppedIn(ctx, r.Workspace); err != nil {
			return nil, err
		}
	}
	b, err := m.createOnce(ctx, r)
	if err != nil || r.Prompt == "" {
		return b, err
	}
	if _, err := b.Prompt(ctx, prompt); err != nil {
		return nil, err
	}
	return b, nil
}

// createOnce creates the session, or finds the one that a request with this key
// created.
func (m *Manager) createOnce(ctx context.Context, r CreateRequest) (*BackgroundSession, error) {
	if r.Key == "" {
		return m.create(ctx, r)
	}
	if err := state.CheckID("a new session", r.Key); err != nil {
		return nil, err
	}
	done, err := m.creating.hold(ctx, creationKey{r.Actor.ID, r.Key})
	if err != nil {
		return nil, err
	}
	defer done()
	if md, made := m.madeBy(r); made {
		return m.createdBefore(ctx, r, md)
	}
	return m.create(ctx, r)
}

// madeBy returns the session that an earlier request with this key made.
func (m *Manager) madeBy(r CreateRequest) (journal.Metadata, bool) {
	for md := range m.journal.Newest(journal.Place{}) {
		if md.RequestKey == r.Key && r.Actor.Is(md.CreatedBy, md.CreatedByID) {
			return md, true
		}
	}
	return journal.Metadata{}, false
}

// creations are those with a key that are running.
type creations struct {
	mu      sync.Mutex
	running map[creationKey]chan struct{} // closed when the creation with that key has ended
}

// hold waits until no other creation with this key is running, so that two concurrent
// requests create one session. Other keys do not wait.
func (c *creations) hold(ctx context.Context, key creationKey) (done func(), err error) {
	for {
		c.mu.Lock()
		before, held := c.running[key]
		if !held {
			ended := make(chan struct{})
			c.running[key] = ended
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.running, key)
				c.mu.Unlock()
				close(ended)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// createdBefore answers a request that has already created a session. It also sets
// the name if the hub ended before that.
func (m *Manager) createdBefore(ctx context.Context, r CreateRequest, md journal.Metadata) (*BackgroundSession, error) {
	if err := r.sameAs(md); err != nil {
		return nil, err
	}
	b, err := m.Session(ctx, md.SessionID)
	if err != nil || b.log.Metadata().Named {
		return b, err
	}
	name, err := state.GivenName(r.Name)
	if err != nil {
		return nil, err
	}
	return b, m.nameCreated(ctx, b, name)
}

// sameAs refuses a request that is not the one that made a session.
func (r CreateRequest) sameAs(md journal.Metadata) error {
	// Older sessions have no hash; for them any request matches.
	if md.RequestHash != "" && md.RequestHash != r.hash() {
		what, parts := "session", "agent, workspace, name or prompt"
		if md.Job != nil {
			what, parts = "job", "agent, workspace, task or settings"
		}
		return fmt.Errorf("%w: this key made %s %s of another %s", state.ErrConflict, what, md.SessionID, parts)
	}
	return nil
}

func (m *Manager) create(ctx context.Context, r CreateRequest) (*BackgroundSession, error) {
	name, err := state.GivenName(r.Name)
	if err != nil {
		return nil, err
	}
	id, err := m.begin(ctx, r)
	if err != nil {
		return nil, err
	}
	b, err := m.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return b, m.nameCreated(ctx, b, name)
}

// begin writes the first line of a new session. The session is not open.
func (m *Manager) begin(ctx context.Context, r CreateRequest) (id string, err error) {
	if err := r.checkBegin(); err != nil {
		return "", err
	}
	current := m.settings.Load()
	hash := ""
	if r.Key != "" {
		hash = r.hash()
	}
	if r.Agent == "" {
		r.Agent = current.Agents[0].Name
	}
	if !r.recorded && !current.Configured(r.Agent) {
		return "", noAgent(r.Agent)
	}
	workspace, err := r.resolve(current)
	if err != nil {
		return "", state.About("workspace", err)
	}
	if r.job == nil { // a job is opened when it starts
		if err := m.makeRoom(ctx, current.Limits.Sessions); err != nil {
			return "", err
		}
	}
	undo, root, within := func() {}, settings.ProjectRoot(workspace), r.within
	if within != nil {
		root = settings.ProjectRoot(within.Of)
	}
	if r.Worktree != nil {
		make := m.worktrees.Add
		if r.job != nil {
			make = m.worktrees.Plan // MakeJobCopy makes it
		}
		made, err := make(ctx, current, workspace, r.worktree())
		if err != nil {
			return "", state.About("worktree", err)
		}
		workspace, undo, within = made.Workspace, made.Undo, &made.Worktree
		within.Setup = !r.recorded && current.SetupFor(within.Of) != nil
	}
	head := gitHead(workspace)
	if r.job != nil && r.Worktree != nil {
		head = &event.Git{Commit: within.Commit, Branch: within.Branch}
	}
	policy := r.Policy
	if policy == nil && !r.recorded { // the hub decides nothing in a recording
		now := current.Permissions.Policy()
		policy = &now
	}
	begin, err := r.begin(current.Agent(r.Agent))
	if err != nil {
		undo()
		return "", err
	}
	begin.Rules = ruleIDs(m.hub.rules.All(), r.Agent)
	id, err = m.journal.Create(ctx, event.SessionStart{
		Policy:      policy,
		ForkedFrom:  r.forkOf,
		Agent:       r.Agent,
		Workspace:   workspace,
		ProjectRoot: root,
		Worktree:    within,
		Git:         head,
		CreatedBy:   r.Actor.Name,
		CreatedByID: r.Actor.ID,
		RequestKey:  r.Key,
		RequestHash: hash,
		Settings:    &begin,
		Job:         r.job,
	})
	if err != nil {
		undo()
		return "", fmt.Errorf("create session: %w", problem.OfLog(err))
	}
	m.hub.lines.Forks.Add(id, r.forkOf)
	m.changes.Add(id)
	m.logger.Info("session created", "session", id, "agent", r.Agent, "workspace", workspace, "actor", r.Actor.Name)
	return id, nil
}

// resolve checks the workspace of a request.
func (r CreateRequest) resolve(current *settings.Hub) (string, error) {
	switch {
	case r.recorded:
		return current.Recorded(r.Workspace)
	case r.within == nil:
		return current.Resolve(r.Workspace)
	}
	// A worktree is allowed as long as the folder is that it is a copy of.
	if _, err := current.Resolve(r.within.Of); err != nil {
		return "", err
	}
	return current.Recorded(r.Workspace)
}

// worktree is the request for the session's worktree.
func (r CreateRequest) worktree() worktree.Request {
	w := r.Worktree
	sum := sha256.Sum256([]byte(r.Actor.ID + "\x00" + r.Key))
	if r.Key == "" {
		rand.Read(sum[:])
	}
	return worktree.Request{
		Branch: w.Branch, Base: w.Base, Folder: w.Folder, Fork: w.fork, At: w.at, From: w.from,
		Words: cmp.Or(r.Name, r.Prompt, w.words), For: hex.EncodeToString(sum[:16]),
	}
}

// begin returns the settings that the session begins with: those that were asked for,
// else the agent's configured ones.
func (r CreateRequest) begin(agent settings.Agent) (event.AgentSettings, error) {
	begin := event.AgentSettings{}
	if !r.recorded {
		asked := agent.Begin
		asked.Mode, asked.Model = cmp.Or(r.Mode, asked.Mode), cmp.Or(r.Model, asked.Model)
		var err error
		if begin, err = asked.Settings(); err != nil {
			return begin, err
		}
		if begin.Options == nil && len(r.Options) > 0 {
			begin.Options = map[string]json.RawMessage{}
		}
		maps.Copy(begin.Options, r.Options)
	}
	begin.MCPServers = append([]string{}, agent.MCPServers...)
	return begin, nil
}

// maxSetting limits the name of a mode, model or option in a request, and the value of an
// option, in bytes; maxOptions limits the options.
const (
	maxSetting = 200
	maxOptions = 50
)

// noAgent refuses the name of an agent that is not configured.
func noAgent(name string) error {
	return state.About("agent", fmt.Errorf("%w: no agent %q is configured: %q lists those that are", state.ErrInvalid, name, "abide agents"))
}

// checkBegin refuses settings that no agent can have.
func (r CreateRequest) checkBegin() error {
	if len(r.Options) > maxOptions {
		return state.About("options", fmt.Errorf("%w: a session begins with at most %d options", state.ErrInvalid, maxOptions))
	}
	for id, raw := range r.Options {
		var value any
		err := json.Unmarshal(raw, &value)
		text, is := value.(string)
		if _, on := value.(bool); err != nil || id == "" || !is && !on || len(id) > maxSetting || len(text) > maxSetting || !state.Printable(id+text) {
			return state.About("options", fmt.Errorf("%w: the options of a session are strings and booleans by id, each of at most %d printable bytes", state.ErrInvalid, maxSetting))
		}
	}
	for _, set := range []struct{ field, name string }{{"mode", r.Mode}, {"model", r.Model}} {
		if len(set.name) > maxSetting || !state.Printable(set.name) {
			return state.About(set.field, fmt.Errorf("%w: the name of a mode or a model has at most %d printable bytes", state.ErrInvalid, maxSetting))
		}
	}
	return nil
}

// gitHead reads the branch and commit of the workspace's repository from its files.
// Nil means that there is no repository, or that its files do not show it.
func gitHead(workspace string) *event.Git {
	repository, err := gitstate.Find(workspace)
	if err != nil {
		return nil
	}
	head, err := repository.Head()
	if err != nil || head.Commit == "" {
		return nil
	}
	return &event.Git{Commit: head.Commit, Branch: head.Branch}
}

// nameCreated gives a new session the name from its request, if any.
func (m *Manager) nameCreated(ctx context.Context, b *BackgroundSession, name string) error {
	if name == "" {
		return nil
	}
	if err := b.rename(ctx, name); err != nil {
		return err
	}
	if err := b.log.FlushMetadata(ctx); err != nil {
		// The session exists, and the log retries the write.
		m.logger.Warn("name of a new session is not on the device yet", "session", b.id, "err", err)
	}
	return nil
}
