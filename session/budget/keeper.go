// Package budget says how much of the daily budgets of projects is used, warns of it, and
// tells where nothing new begins before tomorrow. A turn that runs goes on.
package budget

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/usage"
)

// Options configure a Keeper. All fields are required.
type Options struct {
	Store    journal.Store
	Used     *usage.Book
	Settings func() *settings.Hub
	// Now is the clock; a day is one of its time zone.
	Now func() time.Time
	// Tell says to a session whose turn used the budget up to the warning that it is so. It
	// may block.
	Tell   func(ctx context.Context, id, words string)
	Logger *slog.Logger
}

// Keeper knows the budgets of a hub. Without a budget it reads nothing. It is safe for
// concurrent use.
type Keeper struct {
	Options
	today *usage.Today
	due   bell.Bell // something is to be counted

	mu      sync.Mutex
	ended   []string // sessions whose turns ended since the last look at warnings
	waiting []func() // callers of Holds
	warned  warned
}

// NewKeeper reads which warnings were given today.
func NewKeeper(o Options) *Keeper {
	return &Keeper{Options: o, today: usage.NewToday(o.Used, o.Now), warned: readWarned(o.Store.Derived(), o.Logger)}
}

// Ended says that a turn of a session ended with this event, which is in the log. It does
// not block.
func (k *Keeper) Ended(id string, seq event.Seq) {
	if len(k.Settings().Budgets) == 0 {
		return
	}
	k.mu.Lock()
	k.today.Ended(id, seq) // with k.ended: a look that has the id counts its end
	k.ended = append(k.ended, id)
	k.mu.Unlock()
	k.due.Ring()
}

// Look has Run look at the budgets again: they may have changed.
func (k *Keeper) Look() { k.due.Ring() }

// Days returns the budgets, by their folders, and what was used of each. It counts what is
// not counted yet. The error is ctx's.
func (k *Keeper) Days(ctx context.Context) ([]Day, error) {
	if len(k.Settings().Budgets) == 0 {
		return nil, nil
	}
	if err := k.today.Count(ctx); err != nil {
		return nil, err
	}
	return k.known(), nil
}

// known is Days as of the last count.
func (k *Keeper) known() []Day {
	hub := k.Settings()
	days := map[string]*Day{}
	for folder, b := range hub.Budgets {
		days[folder] = &Day{Project: folder, Budget: b, Until: k.today.Next()}
	}
	k.today.Used(func(md journal.Metadata, used usage.Sum) {
		if _, folder := hub.BudgetFor(FolderOf(md)); folder != "" && days[folder] != nil {
			days[folder].Used.Add(used)
		}
	})
	all := make([]Day, 0, len(days))
	for _, d := range days {
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b Day) int { return cmp.Compare(a.Project, b.Project) })
	return all
}

// FolderOf is the folder whose settings a session has: its workspace, or what that is a copy
// of.
func FolderOf(md journal.Metadata) string {
	if md.Worktree != nil && !md.Imported {
		return md.Worktree.Of
	}
	return md.Workspace
}

// Stopped returns the budget that stops what would begin in a folder; nil if none does. It
// counts what is not counted yet. The error is ctx's.
func (k *Keeper) Stopped(ctx context.Context, folder string) (*Day, error) {
	if b, _ := k.Settings().BudgetFor(folder); !b.Stop {
		return nil, nil
	}
	if err := k.today.Count(ctx); err != nil {
		return nil, err
	}
	return k.stopped(folder), nil
}

func (k *Keeper) stopped(folder string) *Day {
	_, at := k.Settings().BudgetFor(folder)
	days := k.known()
	i := slices.IndexFunc(days, func(d Day) bool { return d.Project == at && d.Stops() })
	if i < 0 {
		return nil
	}
	return &days[i]
}

// Holds is Stopped for a caller that must not block. If something is not counted yet, it
// returns false, and counted is called when it is.
func (k *Keeper) Holds(folder string, counted func()) (*Day, bool) {
	if b, _ := k.Settings().BudgetFor(folder); !b.Stop {
		return nil, true
	}
	if k.today.Counted() {
		return k.stopped(folder), true
	}
	k.mu.Lock()
	k.waiting = append(k.waiting, counted)
	k.mu.Unlock()
	k.due.Ring()
	return nil, false
}

// Warnings are the sentences about the budgets of which enough is used, as of the last count.
func (k *Keeper) Warnings() (all []string) {
	if len(k.Settings().Budgets) == 0 || !k.today.Counted() {
		return nil
	}
	for _, d := range k.known() {
		if d.Warns() {
			all = append(all, d.Words())
		}
	}
	return all
}

// Run counts what ended, and warns, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for ctx.Err() == nil {
		due := k.due.Listen()
		k.look(ctx)
		select {
		case <-ctx.Done():
		case <-due:
		}
	}
}

func (k *Keeper) look(ctx context.Context) {
	k.mu.Lock()
	waiting, ended := k.waiting, k.ended
	k.waiting, k.ended = nil, nil
	k.mu.Unlock()
	days, err := k.Days(ctx)
	for _, counted := range waiting {
		counted()
	}
	if err != nil {
		return
	}
	for _, d := range days {
		if !d.Warns() || !k.warned.first(d, k.Now()) {
			continue
		}
		k.Logger.Warn(d.Words())
		if id := k.one(ended, d.Project); id != "" {
			k.Tell(ctx, id, d.Words())
		}
	}
	k.warned.save()
}

// one is the newest of some sessions that uses a project's budget; empty if none does.
func (k *Keeper) one(ids []string, project string) string {
	for _, id := range slices.Backward(ids) {
		if md, listed := k.Store.Listed(id); listed {
			if _, at := k.Settings().BudgetFor(FolderOf(md)); at == project {
				return id
			}
		}
	}
	return ""
}
