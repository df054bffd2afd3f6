package list

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/abidehub/abide/internal/disk"
)

// readFile keeps the read marks, in the data directory:
// {"format":1,"people":{"owner":{"<session>":{"epoch":…,"seq":…,"at":…}}},"since":{"owner":…}}.
const readFile = "read.json"

type readMarksFile struct {
	Format int                            `json:"format"`
	People map[string]map[string]readMark `json:"people"`
	// Since is each person's first visit; files of older hubs have none.
	Since map[string]int64 `json:"since,omitempty"`
}

// readReadFile returns the marks in the file. An invalid file is renamed.
func readReadFile(path string, logger *slog.Logger) (f readMarksFile) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && f.Format != 1 {
		err = fmt.Errorf("format %d is not known", f.Format)
	}
	if err != nil {
		aside := path + ".damaged"
		logger.Warn("read marks cannot be read and start over", "err", err, "aside", aside, "renamed", os.Rename(path, aside))
		return readMarksFile{}
	}
	return f
}

// Run saves marks shortly after they moved, and the rest when ctx ends. A failed
// save is retried and logged once.
func (r *ReadMarks) Run(ctx context.Context) {
	failed := false
	for ended := false; !ended; {
		select {
		case <-r.moved.C():
			wait(ctx, readPause)
		case <-ctx.Done():
		}
		ended = ctx.Err() != nil
		err := r.Save()
		if err != nil && !failed {
			r.logger.Warn("read marks could not be saved", "err", err)
		}
		failed = err != nil
	}
}

// Save writes the file if there are unsaved marks. It must not run concurrently
// with Run.
func (r *ReadMarks) Save() error {
	marks, unsaved := r.unsavedMarks()
	if !unsaved {
		return nil
	}
	err := saveReadFile(r.path, marks)
	if err != nil {
		r.mu.Lock()
		r.changed()
		r.mu.Unlock()
	}
	return err
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func saveReadFile(path string, marks readMarksFile) error {
	data, err := json.Marshal(marks)
	if err != nil {
		return err
	}
	return disk.Replace(disk.OS(), path, append(data, '\n'))
}
