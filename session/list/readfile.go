package list

import (
	"context"
	"time"

	"github.com/abidehub/abide/internal/jsonfile"
)

// readFile keeps the read marks, among the hub's small files:
// {"format":1,"people":{"owner":{"<session>":{"epoch":…,"seq":…,"at":…}}},"since":{"owner":…}}.
const readFile = "read.json"

type readMarksFile struct {
	Format int                            `json:"format"`
	People map[string]map[string]readMark `json:"people"`
	// Since is each person's first visit; files of older hubs have none.
	Since map[string]int64 `json:"since,omitempty"`
}

// file is where the marks are kept. They are not worth stopping the hub.
func (r *ReadMarks) file() jsonfile.File[readMarksFile] {
	return jsonfile.File[readMarksFile]{
		Files: r.files, Name: readFile, Damage: jsonfile.Aside, Logger: r.logger,
		Check: func(f readMarksFile) error { return jsonfile.Format(f.Format, 1) },
	}
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
	err := r.file().Write(marks)
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
