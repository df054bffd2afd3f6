package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/playback"
)

// measurePlayback moves a player about in a log that is on the disk.
func measurePlayback(ctx context.Context, b *bench) error {
	s, err := openStore(filepath.Join(b.dir, "playback"))
	if err != nil {
		return err
	}
	defer s.Close()
	log, err := newLog(ctx, s)
	if err != nil {
		return err
	}
	n := b.scaled(1_000_000, 4)
	if err := fill(ctx, log, n); err != nil {
		return err
	}
	before := heap()
	p := playback.NewPlayer(log, 1)
	began := time.Now()
	if err := p.Load(ctx); err != nil {
		return err
	}
	loaded, held := time.Since(began), heap()-before
	var seeks []time.Duration
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 * b.rounds() {
		began := time.Now()
		if err := p.Seek(ctx, event.Seq(1+r.IntN(n))); err != nil {
			return err
		}
		seeks = append(seeks, time.Since(began))
	}
	b.within(fmt.Sprintf("Player.Seek anywhere in %s events, p95", count(n)), 20*time.Millisecond, percentile(seeks, 95))
	b.atMost(fmt.Sprintf("memory a player of %s events holds, against 16 MiB", count(n)), 1, float64(held)/(16<<20))
	b.detail("a player of %s events: loading %s, %d KiB held, seek %s", count(n), loaded, held>>10, median(seeks))
	runtime.KeepAlive(p)
	return nil
}

// heap is the memory in use after a collection, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
