package space

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

const (
	// weeks is for how many weeks Report has the growth.
	weeks = 12
	// rateDays is over how many days the present rate of growth is taken.
	rateDays = 28
	// most is how many sessions and projects Report lists.
	most = 20

	day  = 24 * time.Hour
	week = 7 * day
)

// Report is what all sessions take.
type Report struct {
	// Sessions counts all, Active those of that lifecycle, Resumable those that wait to be
	// resumed, Unmeasured those whose bytes are not known yet.
	Sessions, Active, Resumable, Unmeasured int
	// Bytes are those of all sessions, States those of files kept for undo, Copies those of
	// the working copies.
	Bytes          journal.Sizes
	States, Copies int64
	// Trash counts the sessions in the trash, and TrashBytes what they take.
	Trash      int
	TrashBytes int64
	// Average is what a session takes.
	Average int64
	// Weeks are the last twelve, oldest first.
	Weeks []Week
	// Largest are the sessions that take most, and Projects the folders, at most 20 of each.
	Largest  []Large
	Projects []Project
	// Limit is the quota, and Full the day on which it is reached at the rate of the last four
	// weeks; zero if it is not in sight.
	Limit Limit
	Full  time.Time
}

// Used is what counts against the quota.
func (r Report) Used() int64 { return r.Bytes.Total() + r.States + r.Copies + r.TrashBytes }

// Warning says that the quota is nearly reached; empty if it is not, or there is none.
func (r Report) Warning() string {
	l := r.Limit
	if l.Quota <= 0 || float64(r.Used()) < l.WarnAt*float64(l.Quota) {
		return ""
	}
	return fmt.Sprintf("sessions take %s of %s (storage.quota_mib): “abide storage clean --dry-run” lists what can go", mib(r.Used()), mib(l.Quota))
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// Limit is a quota in bytes, 0 for none, and the part of it from which Warning warns.
type Limit struct {
	Quota  int64
	WarnAt float64
}

// Week is what was written in a week. The bytes of a session are spread evenly over its life.
type Week struct {
	// Start is its Monday, in UTC.
	Start time.Time
	// Sessions counts those that were made in it.
	Sessions int
	Bytes    int64
}

// Large is a session and what it takes.
type Large struct {
	list.Info
	Taken
}

// Project is what the sessions of a project root, or of a workspace without one, take.
type Project struct {
	Folder   string
	Sessions int
	Bytes    int64
}

// Report adds up what was measured. all are all sessions, and trash what lies there.
func (b *Book) Report(all iter.Seq[list.Info], trash []journal.Trashed, limit Limit, now time.Time) Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := Report{Weeks: lastWeeks(now), Limit: limit, Trash: len(trash)}
	for _, one := range trash {
		r.TrashBytes += one.Bytes
	}
	projects := map[string]*Project{}
	var recent float64
	for info := range all {
		_, known := b.kept.Sessions[info.SessionID]
		t := b.of(info)
		r.Sessions++
		if !known {
			r.Unmeasured++
		}
		if info.Lifecycle == state.LifecycleActive {
			r.Active++
		}
		if info.Resumable {
			r.Resumable++
		}
		r.Bytes.Add(t.Sizes)
		r.States += t.States
		folder := cmp.Or(info.ProjectRoot, info.Workspace)
		p := projects[folder]
		if p == nil {
			p = &Project{Folder: folder}
			projects[folder] = p
		}
		p.Sessions, p.Bytes = p.Sessions+1, p.Bytes+t.Total()
		r.Largest = append(r.Largest, Large{info, t})
		for i := range r.Weeks {
			w := &r.Weeks[i]
			w.Bytes += int64(within(info, t.Total(), w.Start, w.Start.Add(week)))
			if !info.CreatedAt.Before(w.Start) && info.CreatedAt.Before(w.Start.Add(week)) {
				w.Sessions++
			}
		}
		recent += within(info, t.Total(), now.Add(-rateDays*day), now.Add(time.Nanosecond))
	}
	for _, bytes := range b.kept.Copies {
		r.Copies += bytes
	}
	if r.Sessions > 0 {
		r.Average = (r.Bytes.Total() + r.States) / int64(r.Sessions)
	}
	slices.SortFunc(r.Largest, func(a, b Large) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), cmp.Compare(a.SessionID, b.SessionID))
	})
	r.Largest = slices.Clone(r.Largest[:min(most, len(r.Largest))])
	for _, p := range projects {
		r.Projects = append(r.Projects, *p)
	}
	slices.SortFunc(r.Projects, func(a, b Project) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Folder, b.Folder)) })
	r.Projects = r.Projects[:min(most, len(r.Projects))]
	r.Full = r.fullOn(recent/rateDays, now)
	return r
}

// fullOn is the day on which the quota is reached at a rate of bytes per day; zero if that
// is not within ten years.
func (r Report) fullOn(rate float64, now time.Time) time.Time {
	left := float64(r.Limit.Quota - r.Used())
	switch {
	case r.Limit.Quota <= 0:
		return time.Time{}
	case left <= 0:
		return now
	case rate <= 0 || left/rate > 3650:
		return time.Time{}
	}
	return now.Add(time.Duration(left / rate * float64(day)))
}

// lastWeeks are the last weeks, which begin on Mondays.
func lastWeeks(now time.Time) []Week {
	today := now.UTC().Truncate(day)
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	all := make([]Week, weeks)
	for i := range all {
		all[i].Start = monday.AddDate(0, 0, 7*(i-weeks+1))
	}
	return all
}

// within is the part of a session's bytes that was written from a time to another, where they
// are spread evenly over its life.
func within(info list.Info, bytes int64, from, to time.Time) float64 {
	begin, end := info.CreatedAt, info.UpdatedAt
	if !end.After(begin) {
		if begin.Before(from) || !begin.Before(to) {
			return 0
		}
		return float64(bytes)
	}
	if begin.After(from) {
		from = begin
	}
	if end.Before(to) {
		to = end
	}
	if !to.After(from) {
		return 0
	}
	return float64(bytes) * float64(to.Sub(from)) / float64(end.Sub(begin))
}
