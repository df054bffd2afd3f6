package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/branch"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/worktree"
)

// hashOf identifies the content of a request.
func hashOf(r branch.Request) string {
	sum := sha256.New()
	for _, text := range append([]string{r.Act, r.Method, r.Message}, r.Files...) {
		fmt.Fprintf(sum, "%d %s", len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// ActOnBranch commits, updates, merges or pushes. It is *resume.NeedsConfirmation while something
// was not confirmed. The same request with its key again gets the outcome of the first.
// The act goes on if its caller goes away; a push and a pull request end with the hub. In the log are a note before the branch moves
// and one with the outcome.
func (m *Manager) ActOnBranch(ctx context.Context, id string, r branch.Request) (state.BranchAct, error) {
	b, err := m.Session(ctx, id)
	if err != nil {
		return state.BranchAct{}, err
	}
	if err := r.Check(); err != nil {
		return state.BranchAct{}, err
	}
	if r.Key == "" {
		r.Key = rand.Text()
	}
	select {
	case b.acting <- struct{}{}:
		defer func() { <-b.acting }()
	case <-ctx.Done():
		return state.BranchAct{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.Bound())
	defer cancel()
	if err := m.settleAct(ctx, b); err != nil {
		return state.BranchAct{}, err
	}
	known, err := b.act(ctx, r.Key)
	if err != nil {
		return state.BranchAct{}, err
	}
	if known != nil && known.Stage == state.ActDone {
		if known.Hash != hashOf(r) {
			return *known, fmt.Errorf("%w: the key %q was used for another request", state.ErrConflict, r.Key)
		}
		return *known, nil
	}
	if err := m.mayAct(ctx, b, r); err != nil {
		return state.BranchAct{}, err
	}
	return m.act(ctx, b, r)
}

// PullRequest makes a pull request of the session's branch by the program that the project
// names, as an act, and returns its address. Where it names none, it returns the page of the
// remote's host that makes one. Without a message it takes the draft of a commit.
func (m *Manager) PullRequest(ctx context.Context, id string, r branch.Request) (address string, made bool, err error) {
	b, err := m.Session(ctx, id)
	if err != nil {
		return "", false, err
	}
	r.Act = branch.Pull
	place := m.place(b)
	if place.PullRequests != "" {
		act, err := m.ActOnBranch(ctx, id, r)
		return act.URL, err == nil, err
	}
	if err := r.Check(); err != nil {
		return "", false, err
	}
	if r.Message, err = b.titled(ctx, r.Message); err != nil {
		return "", false, err
	}
	address, err = m.branches.PullRequest(ctx, place, r.Message, r.Confirm)
	return address, false, err
}

// titled is the message of a pull request or a squash; the draft if it is empty.
func (b *BackgroundSession) titled(ctx context.Context, message string) (string, error) {
	if strings.TrimSpace(message) == "" {
		return b.Draft(ctx)
	}
	return message, nil
}

// DiscardCopy removes the session's own working copy with its branch, and ends the sessions
// that use it. It is *resume.NeedsConfirmation while something would be lost that was not
// confirmed. One that is gone is not an error.
func (m *Manager) DiscardCopy(ctx context.Context, id string, confirm []string, actor event.Actor) error {
	b, err := m.Session(ctx, id)
	if err != nil {
		return err
	}
	w := worktreeOf(b.log.Metadata())
	if w == nil {
		return fmt.Errorf("%w: the session has no working copy of its own, and its branch in %s stays: undo puts its files back as they were before a prompt", state.ErrConflict, b.place().Workspace)
	}
	err = m.RemoveWorktree(ctx, WorktreeRemoval{Folder: w.Folder, Discard: true, Confirm: confirm, Actor: actor})
	if errors.Is(err, state.ErrNotFound) {
		return m.worktrees.Gone(*w) // an answer was lost, or a person removed it
	}
	return err
}

// DiscardWhole is DiscardCopy that loses what would be lost.
func (m *Manager) DiscardWhole(ctx context.Context, id string, actor event.Actor) error {
	return m.DiscardCopy(ctx, id, worktree.AllNeeds(), actor)
}

// act does it, and writes about it.
func (m *Manager) act(ctx context.Context, b *BackgroundSession, r branch.Request) (state.BranchAct, error) {
	hash, noted := hashOf(r), false
	doing := ctx
	if r.Act == branch.Pull || r.Act == branch.Merge && r.Method == "squash" {
		var err error
		if r.Message, err = b.titled(ctx, r.Message); err != nil {
			return state.BranchAct{}, err
		}
	}
	if r.ByHand() {
		leave, err := m.help()
		if err != nil {
			return state.BranchAct{}, err
		}
		defer leave()
		var cancel context.CancelFunc
		doing, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(m.ctx, cancel)()
	}
	act, err := m.branches.Do(doing, m.place(b), r, func(act state.BranchAct) error {
		act.Hash = hash
		if err := b.noteAct(ctx, act, "", r.Actor); err != nil {
			return err
		}
		noted = true
		return nil
	})
	act.Hash = hash
	if !noted {
		return act, err
	}
	if err != nil && r.ByHand() {
		act.Stage = state.ActFailed
		what := "Push"
		if r.Act == branch.Pull {
			what = "Pull request"
		}
		if failed := b.noteAct(ctx, act, what+" failed: "+branch.Why(err)+".", r.Actor); failed != nil {
			m.logger.Warn("a session does not say that an act on its branch failed", "session", b.id, "act", r.Act, "err", failed)
		}
		return act, err
	}
	if err != nil {
		// Whether the branch moved before is seen there.
		if failed := m.settleAct(ctx, b); failed != nil {
			m.logger.Warn("a session does not say how an act on its branch ended", "session", b.id, "err", failed)
		}
		return act, err
	}
	act.Stage = state.ActDone
	subject, _, _ := strings.Cut(strings.TrimSpace(r.Message), "\n")
	m.logger.Info("acted on a branch", "session", b.id, "act", act.Act, "branch", act.Branch, "commit", act.After, "actor", r.Actor.Name)
	return act, b.noteAct(ctx, act, branch.Words(act, state.Cut(subject, 200)), r.Actor)
}

// mayAct refuses an act while an agent works in the folder, unless that was confirmed.
func (m *Manager) mayAct(ctx context.Context, b *BackgroundSession, r branch.Request) error {
	own, base := b.place().Workspace, ""
	if w := worktreeOf(b.log.Metadata()); w != nil && r.Act == branch.Merge {
		base = w.Of // its files may change
	}
	var busy []string
	if open, err := ask(ctx, b.mail, func(e *engine) (bool, error) { return e.fold.Open, nil }); err != nil {
		return err
	} else if open {
		busy = append(busy, "this session")
	}
	for _, meta := range m.journal.List() {
		status := state.Status(meta.Status)
		if meta.SessionID != b.id && (within(meta.Workspace, own) || base != "" && within(meta.Workspace, base)) && (status == state.StatusRunning || status == state.StatusNeedsYou) {
			busy = append(busy, "session "+meta.SessionID)
		}
	}
	if len(busy) == 0 {
		return nil
	}
	return branch.Confirmed(r.Confirm, branch.NeedTurn, "an agent works in the folder, whose files may be half written: "+strings.Join(busy, ", "))
}

// within reports whether one of two folders is in the other.
func within(a, b string) bool {
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}

// settleLeft settles the act that was under way when the hub died, whoever opens the
// session first.
func (m *Manager) settleLeft(b *BackgroundSession) error {
	select {
	case b.acting <- struct{}{}:
		defer func() { <-b.acting }()
	case <-m.ctx.Done():
		return m.ctx.Err()
	}
	return m.settleAct(m.ctx, b)
}

// settleAct finds out how an act ended that a kill or an error cut off, and writes it down.
// The caller holds b.acting, so that no act is under way.
func (m *Manager) settleAct(ctx context.Context, b *BackgroundSession) error {
	open, err := ask(ctx, b.mail, func(e *engine) (*state.BranchAct, error) { return state.OpenAct(e.fold.Acts), nil })
	if err != nil || open == nil {
		return err
	}
	happened, known := m.branches.Happened(ctx, b.place().Workspace, *open)
	text := fmt.Sprintf("The act on the branch was interrupted (%s of %s), and did not happen.", open.Act, open.Branch)
	open.Stage = state.ActFailed
	switch {
	case happened:
		open.Stage, text = state.ActDone, strings.TrimRight(branch.Words(*open, ""), ": ")+". It was interrupted after that: git status says whether files are left to do."
	case open.Act == branch.Pull:
		text = fmt.Sprintf("The pull request of %s was interrupted. Whether it was made is not known: look at the host of %s before it is made again.", open.Branch, open.Remote)
	case !known:
		text = fmt.Sprintf("The act on the branch was interrupted (%s of %s). Whether it happened is not known: commit %.9s would be on the branch.", open.Act, open.Branch, open.After)
	}
	return b.noteAct(ctx, *open, text, state.TheHub())
}

// act is a known act of a request.
func (b *BackgroundSession) act(ctx context.Context, key string) (*state.BranchAct, error) {
	return ask(ctx, b.mail, func(e *engine) (*state.BranchAct, error) { return state.ActOf(e.fold.Acts, key), nil })
}

// Merges are the newest merges of the session's branch into its base.
func (b *BackgroundSession) Merges(ctx context.Context) ([]state.BranchAct, error) {
	return ask(ctx, b.mail, func(e *engine) (merges []state.BranchAct, err error) {
		for _, act := range slices.Backward(e.fold.Acts) {
			if act.Act == branch.Merge && act.Stage == state.ActDone {
				merges = append(merges, act)
			}
		}
		return merges, nil
	})
}

func (b *BackgroundSession) noteAct(ctx context.Context, act state.BranchAct, text string, by event.Actor) error {
	raw, err := json.Marshal(act)
	if err != nil {
		return err
	}
	return tell(ctx, b.mail, func(e *engine) error {
		_, err := e.write(e.entries(event.Note{Method: state.NoteBranch, Text: event.Text(text), Raw: raw, By: by.Name, ByID: by.ID})...)
		return err
	})
}

// help lets Close wait for what a caller does here, until leave.
func (m *Manager) help() (leave func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fmt.Errorf("%w: the hub is ending", state.ErrUnavailable)
	}
	m.helpers.Add(1)
	return m.helpers.Done, nil
}

// place is where the session works, with what its project allows.
func (m *Manager) place(b *BackgroundSession) branch.Place {
	p := b.place()
	git := m.GitSettings(b)
	p.Push, p.Forge, p.PullRequests, p.Sign = git.Push, git.Forge, git.PullRequests, git.Sign
	return p
}

// GitSettings are those of the project that the session's workspace is in, or a copy of.
func (m *Manager) GitSettings(b *BackgroundSession) settings.Git {
	meta := b.log.Metadata()
	folder := meta.Workspace
	if w := worktreeOf(meta); w != nil {
		folder = w.Of
	}
	return m.settings.Load().GitFor(folder)
}

// place is where the session works.
func (b *BackgroundSession) place() branch.Place {
	meta := b.log.Metadata()
	p := branch.Place{Workspace: meta.Workspace}
	if w := worktreeOf(meta); w != nil {
		p.Base = w.Base
	}
	return p
}

// Draft is what a commit of the session's work could say: what a person asked for, and the
// last words of the agent.
func (b *BackgroundSession) Draft(ctx context.Context) (string, error) {
	return ask(ctx, b.mail, func(e *engine) (string, error) {
		subject, last := e.fold.Task.Subject, state.OneLine(e.fold.Line.Text())
		switch {
		case subject == "":
			return state.CommitSubject(last), nil
		case last == "" || last == subject:
			return subject, nil
		}
		return subject + "\n\n" + last, nil
	})
}
