package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/comment"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/space"
	"github.com/abidehub/abide/session/state"
)

// Cleaned is what a clean-up put away, or would put away.
type Cleaned struct {
	// Sessions are in the order of what they take, the most first, then of their last use.
	Sessions []space.Large
	// Stayed counts the sessions that were chosen and stay, by the reason, also those of
	// which a second look found it.
	Stayed map[space.Why]int
	// ForGood means that they are deleted: there is no trash.
	ForGood bool
}

// keptSizes are what sessions take, as of the last look.
type keptSizes struct {
	*space.Book
	warning atomic.Pointer[string] // nil before the first look
	// looked is when the states of files and the working copies were measured, which takes
	// long. Only keepSizes uses it.
	looked time.Time
}

// lookEvery is how often they are measured at most.
const lookEvery = time.Hour

// lines are the list's lines of all sessions.
func (m *Manager) lines() iter.Seq[list.Info] {
	return func(yield func(list.Info) bool) {
		for meta := range m.journal.Owned() {
			if !yield(m.listed(meta)) {
				return
			}
		}
	}
}

// Storage returns what the sessions take. Those in which something happened are measured
// first, for at most measureBound.
func (m *Manager) Storage(ctx context.Context) (space.Report, error) {
	bounded, cancel := context.WithTimeout(ctx, measureBound)
	defer cancel()
	m.sizes.Measure(bounded, m.journal.Owned())
	return m.spaceReport()
}

// measureBound limits how long a request waits for sizes.
const measureBound = 2 * time.Second

// spaceReport adds up what is known, and warns.
func (m *Manager) spaceReport() (space.Report, error) {
	trash, err := m.journal.Trashed()
	if err != nil {
		return space.Report{}, fmt.Errorf("list the trash: %w", err)
	}
	r := m.sizes.Report(m.lines(), trash, limitOf(m.settings.Load().Space), m.hub.uploads.now())
	warning := r.Warning()
	if before := m.sizes.warning.Swap(&warning); warning != "" && (before == nil || *before == "") {
		m.logger.Warn(warning)
	}
	return r, nil
}

func limitOf(s settings.Space) space.Limit { return space.Limit{Quota: s.Quota, WarnAt: s.WarnAt} }

// SpaceWarning says that the quota is nearly reached, as of the last look; empty otherwise.
func (m *Manager) SpaceWarning() string {
	if warning := m.sizes.warning.Load(); warning != nil {
		return *warning
	}
	return ""
}

// keepSizes measures what sessions take, and cleans if that is due.
func (m *Manager) keepSizes() {
	m.sizes.Measure(m.ctx, m.journal.Owned())
	m.measureCopies()
	m.cleanByAge()
	if m.ctx.Err() != nil {
		return
	}
	m.sizes.Save()
	if _, err := m.spaceReport(); err != nil {
		m.logger.Warn("what sessions take is not known", "err", err)
	}
}

// measureCopies measures the states of files and the working copies.
func (m *Manager) measureCopies() {
	now := m.hub.uploads.now()
	if now.Sub(m.sizes.looked) < lookEvery {
		return
	}
	m.sizes.looked = now
	states := map[string]int64{}
	for _, s := range m.StatesSizes(m.ctx) {
		states[s.Session] += s.Bytes
	}
	m.sizes.SetStates(states)
	all, err := m.Worktrees(m.ctx)
	if err != nil {
		m.logger.Info("the working copies were not measured", "err", err)
		return
	}
	copies := map[string]int64{}
	for _, c := range all {
		copies[c.Folder] = c.Bytes
	}
	m.sizes.SetCopies(copies)
}

// cleanByAge puts old sessions away where the owner's settings say so.
func (m *Manager) cleanByAge() {
	s, now := m.settings.Load().Space.Clean, m.hub.uploads.now()
	if !s.Enabled || now.Sub(m.sizes.Cleaned()) < s.Every || m.ctx.Err() != nil {
		return
	}
	cleaned, err := m.Clean(m.ctx, space.Choice{OlderThan: s.After, Lifecycles: s.Lifecycles}, false, state.TheHub())
	if err != nil {
		m.logger.Warn("the clean-up stopped", "sessions", len(cleaned.Sessions), "err", err)
		return
	}
	m.sizes.SetCleaned(now)
	if n := len(cleaned.Sessions); n > 0 {
		m.logger.Info("a clean-up put old sessions away", "sessions", n, "older_than", s.After)
	}
}

// Clean puts the chosen sessions into the trash, unless something speaks for them, and
// returns which. A dry run puts nothing away. state.ErrNotFound if an id names no session:
// nothing was done. After another error those in Cleaned are put away.
func (m *Manager) Clean(ctx context.Context, c space.Choice, dry bool, by event.Actor) (Cleaned, error) {
	done := Cleaned{Stayed: map[space.Why]int{}, ForGood: m.settings.Load().TrashFor == 0}
	if err := c.Check(); err != nil {
		return done, err
	}
	for _, id := range c.IDs {
		if _, listed := m.journal.Listed(id); !listed {
			return done, state.About("session_ids", fmt.Errorf("%w: session %s", state.ErrNotFound, id))
		}
	}
	now := m.hub.uploads.now()
	var chosen []list.Info
	for info := range m.lines() {
		if c.Has(info, now) {
			chosen = append(chosen, info)
		}
	}
	if len(c.IDs) == 0 {
		stays, err := m.stays(ctx, chosen)
		if err != nil {
			return done, err
		}
		for _, why := range stays {
			done.Stayed[why]++
		}
		chosen = slices.DeleteFunc(chosen, func(info list.Info) bool { return stays[info.SessionID] != "" })
	}
	bounded, cancel := context.WithTimeout(ctx, measureBound)
	m.sizes.Measure(bounded, m.first(chosen))
	cancel()
	all := make([]space.Large, 0, len(chosen))
	for _, info := range chosen {
		all = append(all, space.Large{Info: info, Taken: m.sizes.Of(info)})
	}
	slices.SortFunc(all, func(a, b space.Large) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), a.UpdatedAt.Compare(b.UpdatedAt), cmp.Compare(a.SessionID, b.SessionID))
	})
	if dry {
		done.Sessions = all
		return done, nil
	}
	for _, one := range all {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		var err error
		if len(c.IDs) == 0 {
			err = m.putAwayIf(ctx, one.SessionID, func() error {
				return m.stillGoes(ctx, one.SessionID, func(info list.Info) bool { return c.Has(info, now) })
			})
		} else {
			err = m.putAway(ctx, one.SessionID, by)
		}
		var stays staysError
		switch {
		case errors.As(err, &stays):
			done.Stayed[space.Why(stays)]++
			continue
		case errors.Is(err, state.ErrNotFound):
			continue // it was deleted meanwhile
		case err != nil:
			return done, err
		}
		done.Sessions = append(done.Sessions, one)
	}
	return done, nil
}

// first are the metadata of all sessions, those of chosen first.
func (m *Manager) first(chosen []list.Info) iter.Seq[journal.Metadata] {
	return func(yield func(journal.Metadata) bool) {
		for _, info := range chosen {
			if md, listed := m.journal.Listed(info.SessionID); listed && !yield(md) {
				return
			}
		}
		m.journal.Owned()(yield)
	}
}

// staysError says why a session stays, as something happened in it meanwhile.
type staysError space.Why

func (e staysError) Error() string { return "the session stays: " + string(e) }

// stillGoes returns a staysError unless a session is still chosen and nothing speaks for it.
func (m *Manager) stillGoes(ctx context.Context, id string, chosen func(list.Info) bool) error {
	meta, listed := m.journal.Listed(id)
	if !listed {
		return state.ErrNotFound // deleted meanwhile
	}
	info := m.listed(meta)
	stays, err := m.stays(ctx, []list.Info{info})
	switch {
	case err != nil:
		return err
	case stays[id] != "":
		return staysError(stays[id])
	case !chosen(info):
		return staysError(space.Used)
	}
	return nil
}

// putAwayIf is putAway of a session that stays unless may returns nil, before it is closed
// and once it is, when nothing can be added to it.
func (m *Manager) putAwayIf(ctx context.Context, id string, may func() error) error {
	if err := may(); err != nil {
		return err
	}
	if m.settings.Load().TrashFor == 0 {
		return m.deleteIf(ctx, id, may)
	}
	return m.takeOut(ctx, id, func(*BackgroundSession) error { return may() }, may, m.journal.Trash)
}

// putAway puts a session into the trash, or deletes it where there is none.
func (m *Manager) putAway(ctx context.Context, id string, by event.Actor) error {
	if m.settings.Load().TrashFor == 0 {
		return m.Delete(ctx, id)
	}
	return m.Trash(ctx, id, by)
}

// stays returns which of the sessions stay, and why. It opens no log.
func (m *Manager) stays(ctx context.Context, sessions []list.Info) (map[string]space.Why, error) {
	stays := map[string]space.Why{}
	copies := false
	for _, info := range sessions {
		why := space.Stays(info)
		if _, back := m.restored.Load(info.SessionID); back && why == "" {
			why = space.Restored // see noteRestored
		}
		if why == "" {
			var err error
			if why, err = m.staysByFiles(info.SessionID); err != nil {
				return nil, err
			}
		}
		if why != "" {
			stays[info.SessionID] = why
		} else if info.Worktree != nil {
			copies = true
		}
	}
	if !copies {
		return stays, nil
	}
	all, err := m.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Uncommitted == 0 && c.Commits == 0 && c.Unknown == "" {
			continue
		}
		for _, use := range c.Sessions {
			if stays[use.SessionID] == "" && slices.ContainsFunc(sessions, func(i list.Info) bool { return i.SessionID == use.SessionID }) {
				stays[use.SessionID] = space.Unmerged
			}
		}
	}
	return stays, nil
}

// staysByFiles returns why a session stays by the files beside its log.
func (m *Manager) staysByFiles(id string) (space.Why, error) {
	files, err := m.journal.Beside(id)
	if err != nil {
		return "", nil //nolint:nilerr // it was deleted meanwhile
	}
	if queue.Waiting(files) {
		return space.Waiting, nil
	}
	data, err := files.Read(comment.FileName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the comments of session %s: %w", id, err)
	}
	if _, comments, err := comment.Parse(data); err != nil || len(comments) > 0 {
		return space.Commented, nil //nolint:nilerr // a person may want to repair the file
	}
	return "", nil
}
