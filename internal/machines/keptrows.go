package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

const (
	keptRowsName   = "rows.json"
	keptRowsFormat = 1
	// mostKeptRows limits the bytes of a file: the sessions with the oldest activity are left out.
	mostKeptRows = 64 << 20
	// keepRowsEvery is the shortest pause between two writes. It is keepRowsShare times what
	// the writes took, if that is longer.
	keepRowsEvery = time.Second
	keepRowsShare = 50
)

// keptRows writes the rows of machines to files, copies/<machine>/rows.json, so that they are
// listed after a restart of home while the machine is away. A lost file costs the rows until
// the machine is back.
type keptRows struct {
	// Set at construction.
	dir    string
	logger *slog.Logger
	rows   func(machine string) []state.Info // newest activity first
	stop   context.CancelFunc
	ctx    context.Context
	wake   chan struct{} // holds a value while there is something to write
	done   sync.WaitGroup

	writing sync.Mutex // held while files are written

	mu      sync.Mutex
	changed map[string]bool // by machine
	begun   bool            // the writer runs
	failed  map[string]bool // the last write failed, by machine
}

// keptRowsContent is the content of a file.
type keptRowsContent struct {
	Format int          `json:"format"`
	Rows   []state.Info `json:"rows"`
}

func newKeptRows(dir string, logger *slog.Logger, rows func(string) []state.Info) *keptRows {
	k := &keptRows{dir: filepath.Join(dir, "copies"), logger: logger, rows: rows, wake: make(chan struct{}, 1), changed: map[string]bool{}, failed: map[string]bool{}}
	k.ctx, k.stop = context.WithCancel(context.Background())
	return k
}

func (k *keptRows) file(machine string) jsonfile.File[keptRowsContent] {
	return jsonfile.File[keptRowsContent]{
		Files: disk.Folder{Dir: filepath.Join(k.dir, machine)}, Name: keptRowsName, Damage: jsonfile.Forget, Encode: encodeRows,
		Check: func(c keptRowsContent) error { return jsonfile.Format(c.Format, keptRowsFormat) },
	}
}

// encodeRows writes rows one at a time, up to the limit.
func encodeRows(c keptRowsContent, w io.Writer) error {
	if _, err := fmt.Fprintf(w, `{"format":%d,"rows":[`, c.Format); err != nil {
		return err
	}
	size := 0
	for i, info := range c.Rows {
		line, err := json.Marshal(info)
		if err != nil {
			return err
		}
		if size += len(line); size > mostKeptRows {
			break
		}
		if i > 0 {
			line = append([]byte(",\n"), line...)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "]}\n")
	return err
}

// read returns the rows that were written last; none if they cannot be read.
func (k *keptRows) read(machine string) []state.Info {
	content, _, err := k.file(machine).Read()
	if err != nil {
		k.logger.Warn("the rows of a machine cannot be read: they come when it is back", "machine", machine, "err", err)
	}
	kept := content.Rows[:0]
	for _, info := range content.Rows {
		if journal.ValidID(info.SessionID) && info.Machine == nil {
			kept = append(kept, info)
		}
	}
	return kept
}

// change has the rows of a machine written soon.
func (k *keptRows) change(machine string) {
	k.mu.Lock()
	k.changed[machine] = true
	if !k.begun && k.ctx.Err() == nil {
		k.begun = true
		k.done.Go(k.run)
	}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run writes what changed, and once more at the end.
func (k *keptRows) run() {
	for k.ctx.Err() == nil {
		select {
		case <-k.wake:
		case <-k.ctx.Done():
			continue
		}
		began := time.Now()
		k.write()
		select {
		case <-time.After(max(keepRowsEvery, keepRowsShare*time.Since(began))):
		case <-k.ctx.Done():
		}
	}
	k.write()
}

// write writes the files of the machines whose rows changed.
func (k *keptRows) write() {
	k.writing.Lock()
	defer k.writing.Unlock()
	for {
		machine, any := k.next()
		if !any {
			return
		}
		_, err := disk.MakeFolder(disk.OS(), filepath.Dir(k.dir), filepath.Base(k.dir))
		if err == nil {
			_, err = disk.MakeFolder(disk.OS(), k.dir, machine)
		}
		if err == nil {
			err = k.file(machine).Write(keptRowsContent{keptRowsFormat, k.rows(machine)})
		}
		k.mu.Lock()
		again := k.failed[machine]
		k.failed[machine] = err != nil
		k.mu.Unlock()
		if err != nil && !again { // said once; the next change tries again
			k.logger.Warn("the rows of a machine cannot be written: after a restart they come when it is back", "machine", machine, "err", err)
		}
	}
}

func (k *keptRows) next() (machine string, any bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for machine := range k.changed {
		delete(k.changed, machine)
		return machine, true
	}
	return "", false
}

// forget removes the file of a machine, whose rows change no more.
func (k *keptRows) forget(machine string) {
	k.writing.Lock()
	defer k.writing.Unlock()
	k.mu.Lock()
	delete(k.changed, machine)
	delete(k.failed, machine)
	k.mu.Unlock()
	if err := os.Remove(filepath.Join(k.dir, machine, keptRowsName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.logger.Warn("the rows of a machine could not be removed", "machine", machine, "err", err)
	}
}

// close writes what changed, and ends.
func (k *keptRows) close() {
	k.mu.Lock()
	k.stop() // with mu held: the writer is not begun afterwards
	k.mu.Unlock()
	k.done.Wait()
}
