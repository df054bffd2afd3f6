package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// attempts compares the attempts at the task of a job, in the order in which they were made.
func (v jobVerbs) attempts(ctx context.Context, hub *client.Hub, id string) error {
	job, err := hub.Job(ctx, id)
	if err != nil {
		return err
	}
	page, err := hub.Jobs(ctx, client.JobFilter{Attempts: cmp.Or(job.AttemptOf, id)}, "")
	if err != nil {
		return err
	}
	slices.SortFunc(page.Jobs, func(a, b wire.JobInfo) int { return a.CreatedAt.Compare(b.CreatedAt) })
	all := wire.Jobs{Jobs: []wire.JobInfo{}}
	var rows [][]string
	for _, j := range page.Jobs {
		j, err := hub.Job(ctx, j.JobID)
		if err != nil {
			return err
		}
		all.Jobs = append(all.Jobs, j)
		model := ""
		if j.Input != nil {
			model = j.Input.Model
		}
		rows = append(rows, []string{j.JobID, string(j.Status), plain.Line(j.Agent), plain.Line(model), changes(j), plain.Line(cmp.Or(j.Error, j.Last))})
	}
	if v.asJSON() {
		return v.print(all)
	}
	return v.table(rows)
}

// waitForAll waits for each attempt of a first job. Its error is that of the first that was
// not completed.
func (v jobVerbs) waitForAll(ctx context.Context, hub *client.Hub, first string, limit time.Duration) error {
	page, err := hub.Jobs(ctx, client.JobFilter{Attempts: first}, "")
	if err != nil {
		return err
	}
	slices.SortFunc(page.Jobs, func(a, b wire.JobInfo) int { return a.CreatedAt.Compare(b.CreatedAt) })
	began := time.Now()
	var failed error
	for _, j := range page.Jobs {
		left := limit
		if limit > 0 {
			left = max(limit-time.Since(began), 1)
		}
		if err := v.wait(ctx, hub, j.JobID, left); failed == nil {
			failed = err
		}
	}
	return failed
}

// changes says how much a job changed; empty before its end.
func changes(j wire.JobInfo) string {
	switch {
	case j.NoDiff != "":
		return "changes unknown"
	case j.FinishedAt == nil:
		return ""
	}
	added, removed := 0, 0
	for line := range strings.Lines(j.Diff) {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	more := ""
	if j.DiffCut {
		more = " and more"
	}
	files := " files"
	if j.Changed == 1 {
		files = " file"
	}
	return strconv.Itoa(j.Changed) + files + fmt.Sprintf(" +%d −%d%s", added, removed, more)
}

// discardOthers returns when the other attempts have ended and their working copies are gone.
func (v jobVerbs) discardOthers(ctx context.Context, hub *client.Hub, id string) error {
	clock := time.NewTicker(jobLook)
	defer clock.Stop()
	for {
		ending, err := hub.DiscardOthers(ctx, id)
		if err != nil {
			return err
		}
		if len(ending.Jobs) == 0 {
			break
		}
		select {
		case <-clock.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return v.attempts(ctx, hub, id)
}
