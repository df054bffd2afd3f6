package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/settings"
)

// measureJobs queues jobs on the disk, which nothing starts, and lists all of them.
func measureJobs(ctx context.Context, b *bench) error {
	s, err := openStore(filepath.Join(b.dir, "jobs"))
	if err != nil {
		return err
	}
	defer s.Close()
	folder := filepath.Join(b.dir, "jobs-workspace")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	manager, err := session.NewManager(session.Options{
		Store: s.Journal(), Agents: []settings.Agent{{Name: "bench"}}, Workspaces: []string{folder}, DefaultWorkspace: folder, StartAgent: startAgent,
	})
	if err != nil {
		return err
	}
	defer manager.Close(context.WithoutCancel(ctx))
	runner := jobs.New(jobs.Options{Manager: manager})
	const n = 500
	before := heap()
	var made []time.Duration
	for i := range n {
		order := jobs.Order{
			Session: session.CreateRequest{Agent: "bench", Workspace: folder, Actor: event.Actor{Name: "bench"}}, Here: true,
			Job: event.Job{Task: fmt.Sprintf("Look through the files, and say what number %d of them is for.", i)},
		}
		began := time.Now()
		if _, _, err := runner.Create(ctx, order); err != nil {
			return err
		}
		made = append(made, time.Since(began))
	}
	held := (heap() - before) / n
	var listed []time.Duration
	for range 10 * b.rounds() {
		began, seen, from := time.Now(), 0, ""
		for more := true; more; more = from != "" {
			page, err := runner.List(event.JobQueued, list.Options{Limit: n, Cursor: from})
			if err != nil {
				return err
			}
			seen, from = seen+len(page.Sessions), page.NextCursor
		}
		if seen != n {
			return fmt.Errorf("%d of %d jobs are listed", seen, n)
		}
		listed = append(listed, time.Since(began))
	}
	b.within("a job is queued, the median of 500", 20*time.Millisecond, median(made))
	b.within("500 queued jobs are listed, p95", 50*time.Millisecond, percentile(listed, 95))
	b.weighed("memory of one of 500 queued jobs", 16<<10, held)
	runtime.KeepAlive(runner)
	return nil
}
