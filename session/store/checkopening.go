package store

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/store/blobs"
)

// opening notes the changes that the next opening makes to a sound session, so that
// a check lists everything that a repair would report.
func (c *checking) opening(list []*segment) {
	if c.live {
		return
	}
	c.halfMade()
	if !c.hasMeta {
		return // already reported
	}
	m := &c.meta
	if c.scan != nil {
		if why := c.epochReason(); why == reasonCopy || why == reasonStopped { // other reasons are problems
			c.note(metadataName, "the log gets a new epoch when it is opened: %s", why)
		}
	}
	if m.Frozen {
		c.note(metadataName, "the device failed while the log was written: what lies behind seq %d is copied to a fresh file when it is opened", m.SyncedSeq)
	}
	for i, seg := range list {
		if end := seg.lastSeq(); end != 0 && end < m.MinSeq && !c.stray(seg, following(list, i)) {
			c.note(filepath.Base(seg.currentPath()), "retention was about to remove it; it goes when the log is opened")
		}
	}
}

// halfMade notes incomplete files that a crash left.
func (c *checking) halfMade() {
	for _, folder := range []string{".", blobs.Dir} {
		names, err := c.fs.ReadDir(filepath.Join(c.dir, folder))
		if err != nil || folder != "." && disk.IsLink(c.fs, filepath.Join(c.dir, folder)) {
			continue // already reported
		}
		for _, n := range names {
			if name := n.Name(); isHalfMade(name) || folder == blobs.Dir && strings.HasSuffix(name, disk.TempSuffix) {
				c.note(filepath.Join(folder, name), "a crash left it half made; opening the session puts it in its place or removes it")
			}
		}
	}
}

// note adds a finding that is harmless, or that the next opening of the session
// repairs.
func (c *checking) note(file, format string, args ...any) {
	c.report.Notes = append(c.report.Notes, Problem{
		Session: c.id, Kind: ProblemMetadata, File: file, Repairable: true, Detail: fmt.Sprintf(format, args...),
	})
}
