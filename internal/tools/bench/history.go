package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/snapshot"
	counting "github.com/abidehub/abide/session/usage"
)

// measureHistory asks about 10,000 sessions, and saves and loads the snapshot of a long one.
func measureHistory(ctx context.Context, b *bench) error {
	if err := b.overMany(ctx); err != nil {
		return err
	}
	return b.snapshots(ctx)
}

func (b *bench) overMany(ctx context.Context) (err error) {
	dir, events, err := b.many(ctx)
	if err != nil {
		return err
	}
	s, err := openStore(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := plain(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close(context.WithoutCancel(ctx))) }()
	all := counting.Question{By: counting.ByDay, Zone: time.UTC, Most: 1000}
	began := time.Now()
	for behind := 1; behind > 0; { // the first time reads all logs
		answer, err := m.Usage(ctx, all)
		if err != nil {
			return err
		}
		behind = answer.Behind
	}
	b.detail("usage of %s events, for the first time: %s", count(events), time.Since(began))
	began = time.Now()
	for unmeasured := 1; unmeasured > 0; {
		report, err := m.Storage(ctx)
		if err != nil {
			return err
		}
		unmeasured = report.Unmeasured
	}
	of := count(b.scaled(10_000, 10)) + " sessions"
	b.detail("the storage report of %s, for the first time: %s", of, time.Since(began))
	page := func(o list.Options) func() error {
		return func() error { _, err := m.List(o); return err }
	}
	for _, one := range []struct {
		figure string
		goal   time.Duration
		ask    func() error
	}{
		{"the first page of " + of, 50 * time.Millisecond, page(list.Options{})},
		{"the same with two words", 50 * time.Millisecond, page(list.Options{Query: "store the"})},
		{"the same of a status and a lifecycle", 50 * time.Millisecond, page(list.Options{Status: "idle", Lifecycle: "active"})},
		{"the same by name", 50 * time.Millisecond, page(list.Options{Sort: list.ByName})},
		{"the same by size", 50 * time.Millisecond, page(list.Options{Sort: list.BySize})},
		{"usage of all time of " + of + " by day", time.Second, func() error { _, err := m.Usage(ctx, all); return err }},
		{"the storage report of " + of, 100 * time.Millisecond, func() error { _, err := m.Storage(ctx); return err }},
	} {
		var took []time.Duration
		for range 5 * b.rounds() {
			began := time.Now()
			if err := one.ask(); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		b.within(one.figure+", p95", one.goal, percentile(took, 95))
	}
	return nil
}

// snapshots saves the snapshot of a session of 10,000 events from its log, and loads it.
func (b *bench) snapshots(ctx context.Context) (err error) {
	dir := filepath.Join(b.dir, "snapshots")
	if err := writeSessions(ctx, dir, "--sessions", "1", "--events", "10000"); err != nil {
		return err
	}
	s, err := openStore(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var id string
	for md := range s.Journal().Newest(journal.Place{}) {
		id = md.SessionID
	}
	var saved, loaded []time.Duration
	for range 5 * b.rounds() {
		if err := os.RemoveAll(filepath.Join(dir, "sessions", id, "derived")); err != nil {
			return err
		}
		book := snapshot.NewBook(s.Journal(), slog.New(slog.DiscardHandler))
		began := time.Now()
		if _, err := book.Save(ctx, id); err != nil {
			return err
		}
		saved = append(saved, time.Since(began))
		began = time.Now()
		if _, _, err := book.Kept(id); err != nil {
			return err
		}
		loaded = append(loaded, time.Since(began))
	}
	b.within("the snapshot of 10,000 events is made and saved, p95", 100*time.Millisecond, percentile(saved, 95))
	b.within("it is loaded, p95", 200*time.Millisecond, percentile(loaded, 95))
	return nil
}

// beside compares a hub that derives snapshots, usage, sizes and the search index beside its logs
// with one that derives nothing, both fed by the same agent through a pipe.
type beside struct {
	kind           string // of the agent's lines
	clients, lines int
	rounds         int
}

func (p beside) measure(ctx context.Context, b *bench) (err error) {
	roles := []string{"deriving", "plain"}
	all := map[string]*feeding{}
	defer func() {
		for _, f := range all {
			err = errors.Join(err, f.close())
		}
	}()
	for _, role := range roles {
		if all[role], err = b.newFeeding(ctx, role, p.kind, p.clients); err != nil {
			delete(all, role)
			return fmt.Errorf("%s: %w", role, err)
		}
	}
	for round := range b.scaled(p.rounds, 2) {
		for i := range roles {
			role := roles[(round+i)%len(roles)]
			if err := all[role].round(p.lines); err != nil {
				return fmt.Errorf("%s: %w", role, err)
			}
		}
	}
	what := p.kind + ", pipe to disk"
	if p.clients > 0 {
		what = fmt.Sprintf("%s, pipe to %s clients", p.kind, count(p.clients))
	}
	rates := func(role string) []float64 { return each(all[role].rounds, func(f fed) float64 { return f.perSecond }) }
	costs := func(role string) []time.Duration {
		return each(all[role].rounds, func(f fed) time.Duration { return f.cpu })
	}
	b.atLeast(what+", events/s with all that is derived against without", 0.97, ratio(rates("deriving"), rates("plain")))
	b.told(what+", server CPU with all that is derived against without", ratio(costs("deriving"), costs("plain")))
	return nil
}
