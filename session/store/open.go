package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// createLog creates a session under a temporary name and renames it: a session that
// can be found is complete.
func createLog(dir, runID string, opts Options, start event.SessionStart) (*Log, error) {
	parent := filepath.Dir(dir)
	aside := filepath.Join(parent, newPrefix+start.SessionID)
	fsys := opts.FS
	if err := fsys.Mkdir(aside); err != nil {
		return nil, err
	}
	l, err := fillNew(aside, dir, runID, opts, start)
	if err == nil {
		if err = fsys.Rename(aside, dir); err == nil {
			err = fsys.SyncDir(parent)
		}
	}
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.writer.out.file.Close())
		}
		return nil, errors.Join(err, fsys.RemoveAll(aside))
	}
	l.flusher.start()
	return l, nil
}

// fillNew writes a new session's files into the temporary directory. The Log it
// returns already uses dir.
func fillNew(aside, dir, runID string, opts Options, start event.SessionStart) (*Log, error) {
	now := opts.Now().UTC().Truncate(time.Microsecond) // as the line has it
	data, err := json.Marshal(start)
	if err != nil {
		return nil, err
	}
	line, sum, err := logfile.Encode(nil, 1, event.Draft{Type: event.TypeSessionStart, Time: now, Data: data})
	if err != nil {
		return nil, err
	}
	file, err := newLogFile(opts.FS, filepath.Join(aside, activeName), writing(line))
	if err != nil {
		return nil, err
	}
	end := position{seq: 1, first: 1, offset: int64(len(line)), sum: sum}
	l := newLog(start.SessionID, dir, runID, opts)
	l.writer.out.seg = &segment{fs: opts.FS, first: 1, path: filepath.Join(dir, activeName), file: file}
	l.writer.out.seg.index.Add(1, 0)
	l.writer.out.file, l.writer.out.next, l.writer.out.offset, l.writer.out.marked = file, 2, end.offset, true
	l.segs.list = []*segment{l.writer.out.seg}
	l.tail.Add(1, logfile.Body(line))
	l.marks.reset(1, end)
	l.touched.Store(now.UnixMicro())
	l.metadataFile.labels = labels{SessionID: start.SessionID}
	l.metadataFile.meta = journal.Metadata{
		Format: metadataFormat, SessionID: start.SessionID, Agent: start.Agent,
		Workspace: start.Workspace, ProjectRoot: start.ProjectRoot, CreatedBy: start.CreatedBy, CreatedByID: start.CreatedByID,
		RequestKey: start.RequestKey, RequestHash: start.RequestHash, Policy: start.Policy, ForkedFrom: start.ForkedFrom, Adopted: start.Adopted, Worktree: start.Worktree, Job: start.Job,
		CreatedAt: now, UpdatedAt: now, Epoch: start.Epoch, MinSeq: 1, MaxSeq: 1, EventCount: 1,
		Checkpoint: journal.Checkpoint{SyncedSeq: 1, LogFirst: 1, LogBytes: end.offset, TailCRC: logfile.Hex(sum), LogBorn: bornOf(opts.FS, filepath.Join(aside, activeName))},
		Writer:     &journal.Writer{BootID: opts.BootID, RunID: runID},
	}
	// Also syncs the names in the directory.
	return l, writeMetadata(opts.FS, aside, l.metadataFile.meta)
}

// openLog opens an existing session for writing, recovering it as needed.
func openLog(ctx context.Context, dir, runID string, opts Options, before prior) (*Log, []string, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	file, err := lockActive(ctx, opts.FS, dir)
	if err != nil {
		return nil, nil, err
	}
	r := newRecovery(newLog(filepath.Base(dir), dir, runID, opts), before)
	err = r.run(file)
	if disk.IsFull(err) {
		l, err := r.readable(file, err)
		if err != nil {
			err = errors.Join(err, file.Close())
		}
		return l, r.actions, err
	}
	if err != nil {
		return nil, r.actions, errors.Join(whatToDo(r.log.id, err), file.Close())
	}
	r.log.flusher.start()
	return r.log, r.actions, nil
}

// lockActive opens and locks the active file of a session. It creates the file if a
// crash or a person removed it.
func lockActive(ctx context.Context, fsys FS, dir string) (File, error) {
	path := filepath.Join(dir, activeName)
	file, err := fsys.OpenRW(path)
	if errors.Is(err, fs.ErrNotExist) {
		if file, err = remakeActive(fsys, dir, path); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	ok, err := lockPatiently(ctx, file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock log: %w", err), file.Close())
	}
	if !ok {
		return nil, errors.Join(errLocked, file.Close())
	}
	// Another process may have sealed the file between the two calls.
	same, err := fsys.Means(path, file)
	if info, statErr := fsys.Stat(path); statErr == nil && info.Mode().Type() == fs.ModeSymlink {
		return nil, errors.Join(errSymlink, file.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("open log: %w", err), file.Close())
	}
	if !same {
		return nil, errors.Join(err, errLocked, file.Close())
	}
	return file, nil
}

// lockPatiently takes the lock of a log. It retries, because a concurrent check
// holds the lock for a moment.
func lockPatiently(ctx context.Context, file File) (bool, error) {
	const attempts, between = 10, 5 * time.Millisecond
	for i := range attempts {
		ok, err := file.TryLock()
		if ok || err != nil || i == attempts-1 {
			return ok, err
		}
		if !pause(ctx, between) {
			return false, ctx.Err()
		}
	}
	return false, nil
}

// remakeActive creates an empty active file for a session that has lost it.
func remakeActive(fsys FS, dir, path string) (File, error) {
	sealed, err := sealedSegments(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, journal.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	if len(sealed) == 0 {
		if _, err := fsys.Stat(filepath.Join(dir, metadataName)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: the directory holds no log", journal.ErrNotFound)
		}
	}
	file, err := promoteNext(fsys, dir, path, sealed)
	if err == nil && file == nil {
		file, err = fsys.Create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("sync session directory: %w", err), file.Close())
	}
	return file, nil
}

// promoteNext renames the prepared next file, which follows the last sealed one, to
// the active name. It was synced before the sealed one was renamed, and may have
// events that a client saw. It returns nil if there is none.
func promoteNext(fsys FS, dir, path string, sealed []*segment) (File, error) {
	aside := filepath.Join(dir, nextName)
	f, err := fsys.OpenRW(aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	size, err := disk.Size(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	lines := logfile.NewReader(f, 0, size)
	defer lines.Close()
	l, err := lines.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	first := logfile.Parse(l.Text)
	if first.Quality != logfile.Verified || !beginsLog(first.Seq, sealed) {
		return nil, f.Close() // incomplete; recovery removes it
	}
	if err := fsys.Rename(aside, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
