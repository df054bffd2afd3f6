package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/store"
	"golang.org/x/sys/unix"
)

// forget brings everything under dir to the device and asks the system to drop
// it from memory, so that the next read is a cold one. Names and attributes of
// files stay in memory: dropping those too would take root and hit every
// program on the machine.
func forget(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return err
		}
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
}

// measureCold opens a session of 300 MB that nothing of is in memory, and reads
// its newest page.
func measureCold(ctx context.Context, b *bench) error {
	dir := filepath.Join(b.dir, "cold")
	s, err := openStore(dir)
	if err != nil {
		return err
	}
	l, err := newLog(ctx, s)
	if err == nil {
		err = fill(ctx, l, b.scaled(300<<20, 4)/lineBytes)
	}
	if err != nil {
		return err
	}
	id := l.ID()
	if err := s.Close(); err != nil {
		return err
	}
	var took []time.Duration
	for range b.rounds() {
		if err := forget(dir); err != nil {
			return err
		}
		s, err := openStore(dir)
		if err != nil {
			return err
		}
		began := time.Now()
		l, err := s.Log(ctx, id)
		var page event.Batch
		if err == nil {
			page, err = l.ReadBefore(ctx, 0, 50)
		}
		took = append(took, time.Since(began))
		if err != nil {
			return err
		}
		if page.Count != 50 {
			return fmt.Errorf("the newest page has %d events", page.Count)
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	b.within(fmt.Sprintf("first tail of a cold session of %d MB", b.scaled(300, 4)), 5*time.Millisecond, median(took))
	return nil
}

// measureStart starts on a directory of many sessions and lists the newest.
func measureStart(ctx context.Context, b *bench) error {
	sessions := b.scaled(10_000, 10)
	dir := filepath.Join(b.dir, "start")
	if err := makeSessions(ctx, dir, sessions); err != nil {
		return err
	}
	var cold, warm []time.Duration
	for range b.rounds() {
		if err := forget(dir); err != nil {
			return err
		}
		for _, into := range []*[]time.Duration{&cold, &warm} {
			took, err := startAndList(ctx, dir)
			if err != nil {
				return err
			}
			*into = append(*into, took)
		}
	}
	b.within(fmt.Sprintf("start with %s sessions and list 30, cold", count(sessions)), time.Second, median(cold))
	b.detail("the same again with everything in memory: %s", median(warm))
	return listAgain(ctx, b, dir, sessions)
}

// startAndList is the time from nothing to the first page of the list.
func startAndList(ctx context.Context, dir string) (time.Duration, error) {
	began := time.Now()
	s, err := openStore(dir)
	if err != nil {
		return 0, err
	}
	m, err := newManager(s)
	if err != nil {
		return 0, errors.Join(err, s.Close())
	}
	page, err := m.List(list.Options{Limit: 30})
	took := time.Since(began)
	if err == nil && len(page.Sessions) != 30 {
		err = fmt.Errorf("the page has %d sessions", len(page.Sessions))
	}
	return took, errors.Join(err, m.Close(ctx), s.Close())
}

// listAgain measures the list of a hub that has been running.
func listAgain(ctx context.Context, b *bench, dir string, sessions int) error {
	s, err := openStore(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := newManager(s)
	if err != nil {
		return err
	}
	defer m.Close(ctx)
	var took []time.Duration
	for range 4 * b.rounds() {
		began := time.Now()
		if _, err := m.List(list.Options{Limit: 30}); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	b.within(fmt.Sprintf("list 30 of %s sessions, running", count(sessions)), 50*time.Millisecond, median(took))
	return nil
}

// makeSessions makes n sessions of a few events. Many at a time, because each
// waits for the device.
func makeSessions(ctx context.Context, dir string, n int) error {
	s, err := openStore(dir)
	if err != nil {
		return err
	}
	const makers = 16
	var wait sync.WaitGroup
	errs := make([]error, makers)
	for maker := range makers {
		wait.Go(func() {
			for i := maker; i < n && errs[maker] == nil; i += makers {
				var l *store.Log
				if l, errs[maker] = newLog(ctx, s); errs[maker] == nil {
					_, _, errs[maker] = l.Append(ctx, chunk(), chunk())
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(append(errs, s.Close())...)
}
