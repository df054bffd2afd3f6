package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store/logfile"
)

// hubFile is hub.json: the facts that one run keeps for the next.
type hubFile struct {
	Format int    `json:"format"`
	HubID  string `json:"hub_id"`
	// LastRun is the newest run; while a hub runs, its own.
	LastRun hubRun `json:"last_run"`
}

// hubRun is one run of a hub.
type hubRun struct {
	RunID     string    `json:"run_id"`
	BootID    string    `json:"boot_id"`
	StartedAt time.Time `json:"started_at"`
	// Clean means that the run closed every log.
	Clean bool `json:"clean"`
}

// beginRun reads hub.json, records a new run and returns it with the previous one.
// An unreadable hub.json is replaced: the logs do not depend on it. An error that
// isFull means only that the run is not recorded yet.
func beginRun(fsys FS, dir, boot string, at time.Time) (now hubFile, before hubRun, err error) {
	now, err = hubFileIn(fsys, dir).Load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before.Clean = true // the first run
	case errors.Is(err, jsonfile.ErrNewer):
		return hubFile{}, hubRun{}, fmt.Errorf("%w: %w", journal.ErrFormat, err)
	case err != nil && !jsonfile.IsDamaged(err):
		return hubFile{}, hubRun{}, fmt.Errorf("read %s: %w", hubName, err)
	default:
		before = now.LastRun
	}
	if now.HubID == "" {
		var id [8]byte
		rand.Read(id[:]) // never fails: the program ends if there is no randomness
		now.HubID = hex.EncodeToString(id[:])
	}
	now.Format = dirFormat
	now.LastRun = hubRun{RunID: nextRun(before.RunID, at), BootID: boot, StartedAt: at.UTC()}
	return now, before, now.write(fsys, dir)
}

func (h hubFile) write(fsys FS, dir string) error {
	return hubFileIn(fsys, dir).Write(h)
}

// hubFileIn is hub.json of a data directory. A damaged one is replaced: the logs do
// not depend on it.
func hubFileIn(fsys FS, dir string) jsonfile.File[hubFile] {
	return jsonfile.File[hubFile]{
		Files: disk.Folder{FS: fsys, Dir: dir}, Name: hubName, Damage: jsonfile.Forget, Indent: true,
		Check: func(h hubFile) error {
			if err := jsonfile.Format(max(h.Format, 1), dirFormat); err != nil || logfile.IsEpoch(h.HubID) {
				return err
			}
			return errors.New("it has no hub id")
		},
	}
}

// nextRun returns the id of a run: its start in microseconds, but above the
// previous run's even if the clock went back. All ids have the same length, so they
// also ascend as text. After an impossible id they start again.
func nextRun(before string, at time.Time) string {
	n := at.UnixMicro()
	if last, ok := parseRun(before); ok && last >= n {
		n = last + 1
	}
	return fmt.Sprintf("%016x", n)
}

// parseRun parses a run id. It refuses ids beyond the year 9999.
func parseRun(id string) (n int64, ok bool) {
	const latest = 253402300800_000_000
	n, err := strconv.ParseInt(id, 16, 64)
	return n, err == nil && n >= 0 && n < latest
}

func isRun(id string) bool {
	_, ok := parseRun(id)
	return ok
}
