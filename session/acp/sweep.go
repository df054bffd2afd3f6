package acp

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Sweep ends every process that an earlier run of this hub left: those with its
// marker and another run id, and those of it that cleared their environment. Call it before any
// agent starts, so that two agents never edit one workspace. It returns how many it
// ended, and an error if some are still there after 10 s or when ctx ends. Because
// of the lock on the data directory, every other run is an earlier one.
//
// It works on Linux only. Elsewhere it returns 0: there, agents end when their
// stdin closes, if they do.
func Sweep(ctx context.Context, hubID, runID string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if hubID == "" {
		return 0, nil
	}
	return sweep(ctx, func() []proc { return leftBy(hubID, runID) })
}

func earlierRun(marker, hubID, runID string) bool {
	rest, ok := strings.CutPrefix(marker, hubID+".")
	if !ok {
		return false
	}
	run, _, ok := strings.Cut(rest, ".")
	return ok && run != runID
}

// sweep kills the processes that find returns until it returns none and all killed
// ones are gone. A killed process may have forked just before, and has no readable
// marker while it dies.
func sweep(ctx context.Context, find func() []proc) (ended int, err error) {
	dying := map[processKey]bool{}
	for {
		found := find()
		for _, p := range found {
			if !dying[p.key()] {
				dying[p.key()] = true
				ended++
			}
			p.kill()
		}
		for key := range dying {
			if key.gone() {
				delete(dying, key)
			}
		}
		if len(found)+len(dying) == 0 {
			reapOrphans()
			return ended, nil
		}
		select {
		case <-ctx.Done():
			return ended, fmt.Errorf("sweep: %d processes are still there: %w", max(len(found), len(dying)), ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
