package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
)

const (
	fileName      = "queue.json"
	quarantineDir = "quarantine"
	format        = 1
)

// Files are a session's small files, as journal.Files has them.
type Files interface {
	jsonfile.Files
	Append(name string, data []byte) error
}

// contents are the contents of the file.
type contents struct {
	Format int    `json:"format"`
	LogSeq int64  `json:"log_seq"`
	Items  []Item `json:"items"`
	Ledger ledger `json:"ledger"`
}

// jsonFile is queue.json. Open and Repair move a damaged one into the quarantine.
func jsonFile(files jsonfile.Files) jsonfile.File[contents] {
	return jsonfile.File[contents]{Files: files, Name: fileName, Check: contents.validate, Encode: contents.encode}
}

// encode writes the contents entry by entry. Each is on a line of its own.
func (c contents) encode(w io.Writer) error {
	_, head := fmt.Fprintf(w, `{"format":%d,"log_seq":%d,"items":[`, c.Format, c.LogSeq)
	items := encodeList(w, c.Items)
	_, middle := io.WriteString(w, `],"ledger":[`)
	entries := encodeList(w, c.Ledger)
	_, foot := io.WriteString(w, "]}\n")
	return errors.Join(head, items, middle, entries, foot)
}

func encodeList[T any](w io.Writer, list []T) error {
	to := json.NewEncoder(w)
	for n, entry := range list {
		if n > 0 {
			if _, err := io.WriteString(w, ","); err != nil {
				return err
			}
		}
		if err := to.Encode(entry); err != nil {
			return err
		}
	}
	return nil
}

func (c contents) validate() error {
	if err := jsonfile.Format(c.Format, format); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, item := range c.Items {
		if item.PromptID == "" {
			return errors.New("an item without a prompt_id")
		}
		if seen[item.PromptID] {
			return fmt.Errorf("item %q is there twice", item.PromptID)
		}
		seen[item.PromptID] = true
	}
	for _, e := range c.Ledger {
		if e.PromptID == "" {
			return errors.New("a ledger entry without a prompt_id")
		}
		if e.Outcome != Received && e.Outcome != Removed && e.Outcome != Interrupted {
			return fmt.Errorf("prompt %q has the unknown outcome %q", e.PromptID, e.Outcome)
		}
	}
	return nil
}

// setAside moves a damaged file into the quarantine and returns its new name. It
// removes a pipe or similar, which has no bytes to keep, and returns an empty name.
func setAside(files jsonfile.Files, now time.Time) (string, error) {
	aside := quarantineDir + "/queue-" + now.UTC().Format("20060102T150405.000000000") + ".json"
	if kept, err := files.SetAside(fileName, aside); err != nil || !kept {
		return "", err
	}
	return aside, nil
}

// save replaces the file. When it returns nil the new contents are on the device.
// After an error, landed says whether a reader now finds the new contents (which a
// power cut may still lose) or the old ones.
func save(files jsonfile.Files, c contents) (landed bool, err error) {
	c.Format = format
	if err := jsonFile(files).Write(c); err != nil {
		return errors.Is(err, disk.ErrNotDurable), err
	}
	return true, nil
}
