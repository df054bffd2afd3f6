package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
)

// readLabels applies the labels to the metadata. The labels are written before the
// metadata, so if the two differ the labels are newer.
func (r *recovery) readLabels() error {
	given, err := readLabels(r.fs, r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		r.log.metadataFile.labels = labels{SessionID: r.meta.SessionID}
		return nil
	}
	if withheld(err) || errors.Is(err, disk.ErrNoFile) {
		return fmt.Errorf("read labels: %w", err)
	}
	if err != nil {
		aside := labelsName + ".damaged"
		if err := r.fs.Rename(filepath.Join(r.dir, labelsName), filepath.Join(r.dir, aside)); err != nil {
			aside = "nowhere: " + err.Error()
		}
		r.did("what a person set is taken from the metadata; the file of it is now %s: %v", aside, err)
		return nil
	}
	r.log.metadataFile.labels = given
	before := labelsOf(&r.meta)
	label(&r.meta, given)
	if r.hasMeta && !before.equal(given) {
		r.did("took name, pin, archive flag and tags from %s, which is newer than the metadata", labelsName)
	}
	return nil
}
