package jobs

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
)

// waiting is a job that has not ended.
type waiting struct {
	id, agent, project string
	folder             string // whose settings count
	priority           int
	made               time.Time
	queued             bool // it has not started
	// place is where it works, if that is no working copy of its own (see placeIn).
	place string
}

// line holds the jobs that have not ended.
type line struct {
	jobs map[string]waiting // by their ids
	// turn is when a job of each project was begun last, in steps.
	turn map[string]int
	step int
}

func newLine() line { return line{jobs: map[string]waiting{}, turn: map[string]int{}} }

// put notes what the list of sessions says of a job. place is used for one that is new.
func (l *line) put(info list.Info, place string) {
	if info.Job.Status.Ended() || info.Imported {
		delete(l.jobs, info.SessionID)
		return
	}
	if was, known := l.jobs[info.SessionID]; known {
		place = was.place
	}
	l.jobs[info.SessionID] = waiting{
		place: place, folder: folderOf(info),
		id: info.SessionID, agent: info.Agent, project: cmp.Or(projectOf(info), info.Workspace),
		priority: info.Job.Priority, made: info.CreatedAt, queued: info.Job.Status == event.JobQueued,
	}
}

// projectOf is the folder that the job's workspace is, or is a copy of.
func projectOf(info list.Info) string {
	if info.Worktree != nil {
		return info.Worktree.Of
	}
	return info.ProjectRoot
}

// folderOf is the folder whose settings count for a job.
func folderOf(info list.Info) string {
	if info.Worktree != nil {
		return info.Worktree.Of
	}
	return info.Workspace
}

// next returns the jobs to bring forward now. going are those that already are: they take
// the places of the settings. Jobs that started earlier come at once. Of those that wait,
// the ones with the highest priority come first; among them those of the project with the
// fewest running jobs, or else of the one whose turn was longest ago, so that no project
// waits for all of another's; then the oldest. Those in a folder that is stopped wait.
func (l *line) next(s Settings, going map[string]bool, stopped func(folder string) bool) (ids []string) {
	agents, projects, places, running := map[string]int{}, map[string]int{}, []string(nil), 0
	count := func(w waiting) {
		agents[w.agent]++
		projects[w.project]++
		places = append(places, w.place)
		running++
	}
	var queue []waiting
	for _, w := range slices.SortedFunc(maps.Values(l.jobs), older) {
		switch {
		case going[w.id]:
			count(w)
		case !w.queued:
			count(w)
			ids = append(ids, w.id)
		case !stopped(w.folder):
			queue = append(queue, w)
		}
	}
	for running < cmp.Or(s.AtOnce, atOnce) {
		best := -1
		for i, w := range queue {
			if w.place != "" && slices.ContainsFunc(places, w.overlaps) || s.PerAgent > 0 && agents[w.agent] >= s.PerAgent || s.PerProject > 0 && projects[w.project] >= s.PerProject {
				continue
			}
			if best < 0 || cmp.Or(
				cmp.Compare(queue[best].priority, w.priority),
				cmp.Compare(projects[w.project], projects[queue[best].project]),
				cmp.Compare(l.turn[w.project], l.turn[queue[best].project]),
			) < 0 {
				best = i // queue is ordered by age
			}
		}
		if best < 0 {
			break
		}
		count(queue[best])
		l.step++
		l.turn[queue[best].project] = l.step
		ids = append(ids, queue[best].id)
		queue = slices.Delete(queue, best, best+1)
	}
	return ids
}

// overlaps reports whether a place is the job's, or one of the two lies in the other.
func (w waiting) overlaps(place string) bool {
	return place != "" && (below(place, w.place) || below(w.place, place))
}

// below reports whether folder is in, or is, another one.
func below(folder, in string) bool {
	rel, err := filepath.Rel(in, folder)
	return err == nil && filepath.IsLocal(rel)
}

func older(a, b waiting) int {
	return cmp.Or(a.made.Compare(b.made), cmp.Compare(a.id, b.id))
}
