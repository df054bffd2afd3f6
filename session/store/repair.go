package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/session/journal"
)

// Repair applies the rules of recovery to every session of the data directory dir,
// or to one session, and reports its actions. It locks the directory like a hub, so
// no hub may run: *LockedError. Opening a session does the same; Repair is for a
// person who does not want to wait for that. A session that cannot be repaired is a
// problem in the report and does not stop the others. Files of other packages in a
// session's directory are repaired too.
func Repair(ctx context.Context, dir, id string, o Options, beside ...Beside) (Report, error) {
	report := Report{Problems: []Problem{}}
	if _, err := o.withDefaults().FS.Stat(filepath.Join(dir, sessionsDir)); errors.Is(err, fs.ErrNotExist) {
		return report, fmt.Errorf("repair data directory %s: %w", dir, journal.ErrNotFound) // do not create one
	}
	var before Report
	checkTop(o.withDefaults().FS, dir, &before)
	s, err := Open(dir, o)
	if err != nil {
		return report, err
	}
	for _, p := range before.Problems {
		if p.Repairable { // opening the directory has repaired it
			report.Actions = append(report.Actions, Action{Did: fmt.Sprintf("rebuilt %s: %s", p.File, p.Detail)})
		}
	}
	ids := []string{id}
	if id == "" {
		ids = ids[:0]
		for _, m := range s.List() {
			ids = append(ids, m.SessionID)
		}
	} else if _, err := s.SessionDir(id); err != nil {
		return report, errors.Join(err, s.Close())
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return report, errors.Join(err, s.Close())
		}
		report.Sessions++
		l, did, err := openLog(ctx, filepath.Join(s.root(), id), s.RunID(), s.opts, prior{crashed: s.crashed})
		for _, d := range did {
			report.Actions = append(report.Actions, Action{Session: id, Did: d})
		}
		if err == nil {
			report.Events += l.Metadata().EventCount
			repairBeside(filepath.Join(s.root(), id), id, beside, &report)
			err = l.close()
		}
		if err != nil {
			report.add(Problem{Session: id, Kind: ProblemUnreadable, Detail: err.Error()})
		}
	}
	return report, s.Close()
}
