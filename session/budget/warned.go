package budget

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/abidehub/abide/session/journal"
)

// warnedFile is derived: without it a warning of today is given again.
const warnedFile = "budgets.json"

// warned remembers the warnings of a day. One goroutine uses it.
type warned struct {
	files   journal.Derived
	logger  *slog.Logger
	kept    warnedDay
	unsaved bool
}

// warnedDay is what the file has.
type warnedDay struct {
	Day      string          `json:"day"`
	Projects map[string]bool `json:"projects"`
}

func readWarned(files journal.Derived, logger *slog.Logger) warned {
	w := warned{files: files, logger: logger}
	if data, err := files.Read(warnedFile); err != nil || json.Unmarshal(data, &w.kept) != nil {
		w.kept = warnedDay{}
	}
	return w
}

// first reports whether a warning is the first of its project today, and remembers it.
func (w *warned) first(d Day, now time.Time) bool {
	if day := now.Format(time.DateOnly); w.kept.Day != day || w.kept.Projects == nil {
		w.kept = warnedDay{Day: day, Projects: map[string]bool{}}
	}
	if w.kept.Projects[d.Project] {
		return false
	}
	w.kept.Projects[d.Project], w.unsaved = true, true
	return true
}

func (w *warned) save() {
	if !w.unsaved {
		return
	}
	w.unsaved = false
	data, err := json.Marshal(w.kept)
	if err == nil {
		err = w.files.Write(warnedFile, data)
	}
	if err != nil {
		w.logger.Warn("the warnings about budgets may be given again after a restart", "err", err)
	}
}
