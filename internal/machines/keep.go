package machines

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/session/journal"
)

// KeepCopies says of which sessions home keeps copies.
type KeepCopies string

// What home keeps copies of.
const (
	// KeepAll is all sessions of the machines.
	KeepAll KeepCopies = "all"
	// KeepOpened is the sessions that were opened at home.
	KeepOpened KeepCopies = "opened"
	// KeepNone is those that somebody looks at, as long as somebody does.
	KeepNone KeepCopies = "none"
)

// Keep says what copies home keeps. The zero value keeps those of opened sessions.
type Keep struct {
	Copies KeepCopies
	// Bytes is how much they may take; 0 is any amount. Those that were opened the longest
	// ago go first, and none that somebody looks at.
	Bytes int64
}

// openedName is an empty file in a copy whose time is when the session was opened last.
const openedName = "opened"

// keptCopy is a copy on the disk.
type keptCopy struct {
	machine, id string
	bytes       int64
	// opened is when the session was opened at home last, written when something was read.
	opened, written time.Time
}

// storedCopies measures the copies in a directory, those first that were opened the longest ago.
func storedCopies(dir string) (all []keptCopy, bytes int64) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*", "*")) // the pattern is right
	for _, path := range paths {
		one := keptCopy{machine: filepath.Base(filepath.Dir(path)), id: filepath.Base(path)}
		if !journal.ValidID(one.id) {
			continue
		}
		_ = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil // it goes at this moment
			}
			info, err := entry.Info()
			if err != nil {
				return nil
			}
			one.bytes += info.Size()
			switch name := entry.Name(); {
			case name == openedName:
				one.opened = info.ModTime()
			case strings.HasPrefix(name, "events") && info.ModTime().After(one.written):
				one.written = info.ModTime()
			}
			return nil
		})
		all, bytes = append(all, one), bytes+one.bytes
	}
	slices.SortFunc(all, func(a, b keptCopy) int {
		return cmp.Or(a.opened.Compare(b.opened), a.written.Compare(b.written), strings.Compare(a.id, b.id))
	})
	return all, bytes
}

// noteOpened says that a session was opened now. Without that the copy goes earlier.
func noteOpened(dir string) {
	path, now := filepath.Join(dir, openedName), time.Now()
	if os.Chtimes(path, now, now) != nil {
		_ = os.WriteFile(path, nil, 0o600)
		_ = os.Chtimes(path, now, now) // the disk's own clock is coarse: two copies would have one time
	}
}

// visits are the sessions that nobody looks at and whose copies are to be read on, one after
// the other for each machine.
type visits struct {
	ctx   context.Context
	visit func(machine, id string)

	mu      sync.Mutex
	waiting map[string][]string // by machine, while its goroutine runs
	queued  map[string]bool     // <machine>/<session>
	running sync.WaitGroup
}

func (v *visits) add(machine string, ids []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ctx.Err() != nil || len(ids) == 0 {
		return
	}
	waiting, runs := v.waiting[machine]
	for _, id := range ids {
		if key := machine + "/" + id; !v.queued[key] {
			v.queued[key] = true
			waiting = append(waiting, id)
		}
	}
	v.waiting[machine] = waiting
	if !runs {
		v.running.Go(func() { v.run(machine) })
	}
}

// end waits for the visits. None is added once ctx has ended.
func (v *visits) end() {
	v.mu.Lock()
	clear(v.queued)
	v.mu.Unlock()
	v.running.Wait()
}

func (v *visits) run(machine string) {
	for {
		v.mu.Lock()
		waiting := v.waiting[machine]
		if len(waiting) == 0 || v.ctx.Err() != nil {
			delete(v.waiting, machine)
			v.mu.Unlock()
			return
		}
		id := waiting[0]
		v.waiting[machine] = waiting[1:]
		delete(v.queued, machine+"/"+id)
		v.mu.Unlock()
		v.visit(machine, id)
	}
}
