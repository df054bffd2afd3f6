package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

const (
	// sizeBound limits the time to add up the files of a copy, lookBound that of git.
	sizeBound = 2 * time.Second
	lookBound = 10 * time.Second
)

// Needs are what a person has to confirm before a copy is removed.
const (
	// NeedUncommitted: files that are not committed are lost.
	NeedUncommitted = "uncommitted"
	// NeedCommits: commits are lost that neither the base nor the remote has.
	NeedCommits = "commits"
	// NeedSessions: sessions that use it are ended.
	NeedSessions = "sessions"
	// NeedUnknown: git does not say whether something is lost.
	NeedUnknown = "unknown"
)

// Use is a session that works in a copy.
type Use struct {
	SessionID, Name string
	// Over means that the session is ended or archived, Busy that it has an open turn.
	Over, Busy bool
	// Trashed means that it lies in the trash, and would come back without its files.
	Trashed  bool
	Worktree event.Worktree
}

// Copy is a working copy that abide made.
type Copy struct {
	Folder string
	// Repository is the folder that it is a copy of; empty if that is not known.
	Repository string
	// Branch is the one that is checked out; empty if none is. Base is the one that it
	// comes from.
	Branch, Base string
	Sessions     []Use
	// Unfinished means that its making or removing was interrupted, and Gone that its
	// folder is no longer there.
	Unfinished, Gone bool
	// Bytes is its size; Partly means that there was no time to look at all of it.
	Bytes  int64
	Partly bool
	// Uncommitted counts files, and Commits those that neither the base nor the remote has.
	Uncommitted, Commits int
	// Names are the first of the files.
	Names []string
	// Unknown is the reason if they are not known.
	Unknown string

	repository *gitstate.Repository
	linked     gitstate.Linked
	head       gitstate.Head
}

// Safe reports whether it can be removed, and nothing is lost: the branch stays if it has
// commits of its own.
func (c Copy) Safe() bool {
	over := !slices.ContainsFunc(c.Sessions, func(u Use) bool { return !u.Over || u.Busy || u.Trashed })
	return c.Removable() == nil && over && c.Unknown == "" && c.Uncommitted == 0 && (c.Commits == 0 || c.head.Branch != "")
}

// AllNeeds confirms everything that Needs may list.
func AllNeeds() []string { return []string{NeedUncommitted, NeedCommits, NeedSessions, NeedUnknown} }

// Needs lists what a person has yet to confirm before it is removed, with its branch if
// discard.
func (c Copy) Needs(discard bool, confirmed []string) []string {
	return slices.DeleteFunc(c.needs(discard), func(need string) bool { return slices.Contains(confirmed, need) })
}

func (c Copy) needs(discard bool) (needs []string) {
	if slices.ContainsFunc(c.Sessions, func(u Use) bool { return !u.Over }) {
		needs = append(needs, NeedSessions)
	}
	if c.Unknown != "" {
		return append(needs, NeedUnknown)
	}
	if c.Uncommitted > 0 {
		needs = append(needs, NeedUncommitted)
	}
	if c.Commits > 0 && (discard || c.head.Branch == "") {
		needs = append(needs, NeedCommits)
	}
	return needs
}

// Words says what would be lost, for a person.
func (c Copy) Words() string {
	var words []string
	for _, u := range c.Sessions {
		if !u.Over {
			words = append(words, "session "+u.SessionID+" works in it and is not ended")
		}
	}
	if c.Uncommitted > 0 {
		more := ""
		if c.Uncommitted > len(c.Names) {
			more = ", …"
		}
		words = append(words, fmt.Sprintf("not committed (%d): %s%s", c.Uncommitted, strings.Join(c.Names, ", "), more))
	}
	if c.Commits > 0 {
		words = append(words, fmt.Sprintf("commits that neither the base nor the remote has: %d", c.Commits))
	}
	if c.Unknown != "" {
		words = append(words, "it is not known whether something would be lost: "+c.Unknown)
	}
	return strings.Join(words, "; ")
}

// All lists the working copies of the repositories that sessions use, of those of the folders
// that are known, and those in the configured folder, by their folders.
func (m Maker) All(ctx context.Context, allowed *settings.Hub, uses []Use, folders []string) ([]Copy, error) {
	repositories, orphans, err := m.repositories(allowed, uses, folders)
	if err != nil {
		return nil, fmt.Errorf("list working copies: %w", err)
	}
	var all []Copy
	for _, r := range repositories {
		linked, err := r.Linked()
		if err != nil {
			continue
		}
		for _, l := range linked {
			if l.Mark != nil && l.Folder != "" {
				all = append(all, m.look(ctx, r, l))
			}
		}
	}
	for _, o := range orphans {
		if !slices.ContainsFunc(all, func(c Copy) bool { return c.Folder == o.Folder }) {
			all = append(all, o)
		}
	}
	for i := range all {
		c := &all[i]
		c.Bytes, c.Partly = size(ctx, c.Folder)
		c.Sessions = usesOf(c.Folder, uses)
	}
	slices.SortFunc(all, func(a, b Copy) int { return strings.Compare(a.Folder, b.Folder) })
	return all, ctx.Err()
}

// repositories are those that sessions use copies of, those of the folders that are known, and
// those of the copies in the configured folder, by their directory; and the copies there of which there is none.
func (m Maker) repositories(allowed *settings.Hub, uses []Use, folders []string) (repositories map[string]*gitstate.Repository, orphans []Copy, err error) {
	repositories = map[string]*gitstate.Repository{}
	folders = slices.Clone(folders)
	for _, u := range uses {
		folders = append(folders, u.Worktree.Of)
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		if r, err := gitstate.Find(folder); err == nil {
			repositories[r.Common()] = r
		}
	}
	below, err := foldersIn(allowed.Worktrees.Folder)
	if err != nil {
		return repositories, nil, err
	}
	for _, folder := range below {
		r, err := gitstate.Find(folder)
		if err == nil && r.Worktree == folder {
			if _, known := repositories[r.Common()]; !known {
				repositories[r.Common()] = r
			}
			continue
		}
		if exists(filepath.Join(folder, ".git")) {
			orphans = append(orphans, Copy{Folder: folder, Unknown: "its repository is gone or does not know it"})
		}
	}
	return repositories, orphans, nil
}

// foldersIn lists the folders of the folders of one.
func foldersIn(place string) (all []string, err error) {
	if place == "" {
		return nil, nil
	}
	place, err = filepath.EvalSymlinks(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	above, err := os.ReadDir(place)
	for _, a := range above {
		if !a.IsDir() {
			continue
		}
		entries, failed := os.ReadDir(filepath.Join(place, a.Name()))
		err = errors.Join(err, failed)
		for _, e := range entries {
			if e.IsDir() {
				all = append(all, filepath.Join(place, a.Name(), e.Name()))
			}
		}
	}
	return all, err
}

// look finds out what a copy has that is nowhere else.
func (m Maker) look(ctx context.Context, r *gitstate.Repository, l gitstate.Linked) Copy {
	c := Copy{Folder: l.Folder, Repository: r.Home(), Branch: l.Mark.Branch, Base: l.Mark.Base, Unfinished: l.Unfinished, repository: r, linked: l}
	if l.Unfinished {
		return c // no agent has worked there, or a person wanted it gone
	}
	if c.Gone = !exists(l.Folder); c.Gone {
		return c
	}
	if m.Git == nil {
		c.Unknown = "git is not installed"
		return c
	}
	own, err := gitstate.Find(l.Folder)
	if err == nil && own.Worktree != l.Folder {
		err = gitstate.ErrNone
	}
	if err != nil {
		c.Unknown = "the folder is no longer this worktree"
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, lookBound)
	defer cancel()
	head, err := own.Head()
	if err == nil {
		err = m.compare(ctx, own, head, &c)
	}
	if err != nil {
		c.Unknown = "git did not say"
		m.Logger.Warn("the state of a working copy is not known", "folder", l.Folder, "err", err)
	}
	return c
}

func (m Maker) compare(ctx context.Context, own *gitstate.Repository, head gitstate.Head, c *Copy) error {
	c.head, c.Branch = head, head.Branch
	base := gitstate.Base{Commit: c.linked.Mark.Commit}
	if c.linked.Mark.Base != "" {
		found, err := own.BaseOf(head.Branch, c.linked.Mark.Base)
		if err != nil {
			return err
		}
		if found.Commit != "" {
			base = found
		}
	}
	standing, err := m.Git.Compare(ctx, own, base)
	if err != nil {
		return err
	}
	c.Uncommitted, c.Names, c.Commits = standing.Uncommitted, standing.Names, standing.Ahead
	if !standing.Compared {
		return errors.New("git counts no commits")
	}
	if own.Pushed(head) {
		c.Commits = 0
	}
	return nil
}

// Remove removes a copy. Its branch stays if it has commits that are nowhere else, unless
// discard, and so does a branch that the copy was not made with. The caller has asked for
// what it Needs. gone is called when it is gone, and before the repository forgets it; if
// the hub is killed before that is over, the same again or Recover calls it (again).
func (m Maker) Remove(ctx context.Context, c Copy, discard bool, gone func() error) error {
	if err := c.Removable(); err != nil {
		return err
	}
	how := gitstate.Removal{Gone: gone}
	switch mark := c.linked.Mark; {
	case c.Unfinished && !c.linked.Removing: // nobody has worked there
		how.BranchAt = mark.Commit
	case c.Unfinished || c.Gone || c.head.Branch != mark.Branch || c.Commits > 0 && !discard:
	default:
		how.BranchAt = c.head.Commit
	}
	if err := m.Git.RemoveWorktree(ctx, c.repository, c.linked, how); err != nil {
		m.Logger.Warn("a working copy could not be removed", "folder", c.Folder, "err", err)
		return fmt.Errorf("%w: %q could not be removed whole, try again; the hub's log says why", state.ErrUnavailable, c.Folder)
	}
	return nil
}

// Recover ends what a kill of the hub interrupted: it removes the copies whose removal had
// begun, and those whose making nobody is at and that no session waits for. gone is called
// with each that was to be removed, as Remove does.
func (m Maker) Recover(ctx context.Context, allowed *settings.Hub, uses []Use, folders []string, gone func(Copy) error) {
	if m.Git == nil {
		return
	}
	repositories, _, err := m.repositories(allowed, uses, folders)
	if err != nil {
		m.Logger.Warn("working copies that were interrupted are not looked for", "err", err)
	}
	for _, r := range repositories {
		linked, err := r.Linked()
		if err != nil {
			continue
		}
		for _, l := range linked {
			if l.Mark == nil || !l.Unfinished || ctx.Err() != nil {
				continue
			}
			c := Copy{Folder: l.Folder, Branch: l.Mark.Branch, Unfinished: true, repository: r, linked: l}
			c.Sessions = usesOf(l.Folder, uses)
			if !l.Removing && (len(c.Sessions) > 0 || r.AtWork(l)) {
				continue
			}
			if err := m.Remove(ctx, c, false, func() error { return gone(c) }); err == nil {
				m.Logger.Info("removed a working copy whose making or removing was interrupted", "folder", c.Folder)
			}
		}
	}
}

func usesOf(folder string, uses []Use) (of []Use) {
	for _, u := range uses {
		if u.Worktree.Folder == folder {
			of = append(of, u)
		}
	}
	return of
}

// Gone returns an error while something is left of a copy that no repository knows.
func (m Maker) Gone(w event.Worktree) error {
	if exists(w.Folder) {
		return fmt.Errorf("%w: no repository knows %q as its worktree: delete the folder if you do not need it", state.ErrConflict, w.Folder)
	}
	r, err := gitstate.Find(w.Of)
	if err != nil || w.Branch == "" {
		return nil
	}
	if at, err := r.Branch(w.Branch); err != nil || at == "" {
		return err
	}
	return fmt.Errorf("%w: the working copy is gone, and its branch %s is still there: `git branch -D %[2]s` removes it with its commits", state.ErrConflict, w.Branch)
}

// Removable returns why it cannot be removed now, whatever a person confirms.
func (c Copy) Removable() error {
	switch {
	case c.repository == nil:
		return fmt.Errorf("%w: %q is no worktree that a repository knows: delete the folder if you do not need it", state.ErrConflict, c.Folder)
	case c.linked.Locked:
		return fmt.Errorf("%w: %q is locked: `git worktree unlock` frees it", state.ErrConflict, c.Folder)
	}
	for _, u := range c.Sessions {
		if u.Busy {
			return fmt.Errorf("%w: a turn is open in session %s, which works in %q: stop it first", state.ErrConflict, u.SessionID, c.Folder)
		}
	}
	return nil
}

// size adds up the files of a folder.
func size(ctx context.Context, folder string) (bytes int64, partly bool) {
	until := time.Now().Add(sizeBound)
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is being removed, or is another's
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return fs.SkipAll
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes, err != nil || time.Now().After(until)
}
