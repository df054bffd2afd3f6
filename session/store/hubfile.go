package store

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"github.com/abidehub/abide/internal/disk"
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
	path := filepath.Join(dir, hubName)
	data, err := fsys.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before.Clean = true // the first run
	case err != nil:
		return hubFile{}, hubRun{}, fmt.Errorf("read %s: %w", hubName, err)
	default:
		if json.Unmarshal(data, &now) != nil || now.Format <= dirFormat && !logfile.IsEpoch(now.HubID) {
			now = hubFile{}
		}
		before = now.LastRun
	}
	if now.Format > dirFormat {
		return hubFile{}, hubRun{}, fmt.Errorf("%w: %s has format %d, this program knows %d", journal.ErrFormat, hubName, now.Format, dirFormat)
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
	data, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", hubName, err)
	}
	if err := disk.Replace(fsys, filepath.Join(dir, hubName), append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", hubName, err)
	}
	return nil
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
