package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/session/index"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/search"
)

// many returns a data directory with 10,000 sessions, which is written once a run, and the events
// that they have. ABIDE_SEARCH_EVENTS replaces the million events.
func (b *bench) many(ctx context.Context) (dir string, events int, err error) {
	events = b.scaled(1_000_000, 10)
	if given := os.Getenv("ABIDE_SEARCH_EVENTS"); given != "" {
		if _, err := fmt.Sscan(given, &events); err != nil {
			return "", 0, fmt.Errorf("ABIDE_SEARCH_EVENTS: %w", err)
		}
	}
	dir = filepath.Join(b.dir, "many")
	if _, err := os.Stat(dir); err == nil {
		return dir, events, nil
	}
	return dir, events, writeSessions(ctx, dir, "--sessions", fmt.Sprint(b.scaled(10_000, 10)), "--events", fmt.Sprint(events))
}

// writeSessions writes sessions into a data directory.
func writeSessions(ctx context.Context, dir string, flags ...string) error {
	write := exec.CommandContext(ctx, "go", append([]string{"run", "github.com/abidehub/abide/internal/tools/longsession", "--data", dir}, flags...)...)
	if out, err := write.CombinedOutput(); err != nil {
		return fmt.Errorf("write sessions: %w: %s", err, out)
	}
	return nil
}

// measureSearch searches many sessions, by the index and in the files.
func measureSearch(ctx context.Context, b *bench) error {
	dir, events, err := b.many(ctx)
	if err != nil {
		return err
	}
	s, err := openStore(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	size := int64(0)
	var sources []search.Source
	var words []string
	for md := range s.Journal().Newest(journal.Place{}) {
		sizes, err := s.Journal().Sizes(md.SessionID)
		if err != nil {
			return err
		}
		size += sizes.Log
		sources = append(sources, search.SourceOf(s.Journal(), md))
		words = append(words, strings.Fields(strings.NewReplacer("`", "", ".", "").Replace(md.Name))...)
	}
	x := index.New(index.Options{Store: s.Journal(), Dir: filepath.Join(dir, "derived")})
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { x.Run(running, list.NewChangeFeed()); close(ended) }()
	defer func() { stop(); <-ended }()
	began := time.Now()
	for p := x.Progress(); p.Behind > 0 || p.Sessions < len(sources); p = x.Progress() {
		if p.Problem != "" || ctx.Err() != nil {
			return fmt.Errorf("the index was not made: %s: %w", p.Problem, ctx.Err())
		}
		bounded, cancel := context.WithTimeout(ctx, time.Second)
		x.CatchUp(bounded, sources)
		cancel()
	}
	built := time.Since(began)
	info, err := os.Stat(filepath.Join(dir, "derived", "search.db"))
	if err != nil {
		return err
	}
	b.atMost(fmt.Sprintf("the search index of %s events : their files", count(events)), 1.5, float64(info.Size())/float64(size))
	b.detail("the index was made at %.0f events a second", float64(events)/built.Seconds())
	r := rand.New(rand.NewPCG(1, 1))
	word := func() string {
		for {
			if w := words[r.IntN(len(words))]; len(w) >= 4 {
				return w
			}
		}
	}
	shapes := []struct {
		name string
		text func() string
	}{
		{"a word", word},
		{"two words", func() string { return word() + " " + word() }},
		{"a phrase", func() string { return `"` + word() + " " + word() + `"` }},
		{"a beginning", func() string { return word()[:3] }},
		{"a word that is nowhere", func() string { return word() + "zzqx" }},
	}
	by := search.NewSessions(search.Options{Store: s.Journal(), Index: x})
	for _, shape := range shapes {
		var took []time.Duration
		for range 40 * b.rounds() {
			began := time.Now()
			if _, err := by.Find(ctx, search.Request{Text: shape.text(), Limit: 20}); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		b.within(fmt.Sprintf("a search in %s events, %s, p95", count(events), shape.name), 100*time.Millisecond, percentile(took, 95))
		b.detail("the same, median: %s", median(took))
	}
	files := search.NewSessions(search.Options{Store: s.Journal()})
	began = time.Now()
	for request := (search.Request{Text: "zzqxzzqx", Limit: 20}); ; {
		page, err := files.Find(ctx, request)
		if err != nil {
			return err
		}
		if request.Cursor = page.NextCursor; request.Cursor == "" {
			break
		}
	}
	b.told("a word that is nowhere, in the files : 100 ms", float64(time.Since(began))/float64(100*time.Millisecond))
	return nil
}
