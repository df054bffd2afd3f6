package store

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/blobs"
)

// checking is the check of one session.
type checking struct {
	inspection
	ctx     context.Context
	report  *Report
	reached bool  // the line of the checkpoint is where the metadata says
	ended   bool  // the end of the log was compared with the metadata, or cannot be
	live    bool  // another process has the log open
	size    int64 // of the active file, if no process has the log open
	blobs   *blobs.Check
}

func (c *checking) add(kind, file string, seq event.Seq, format string, args ...any) {
	c.report.add(Problem{Session: c.id, Kind: kind, File: file, Seq: seq, Detail: fmt.Sprintf(format, args...)})
}

// following returns the file after the i-th; nil after the last.
func following(list []*segment, i int) *segment {
	if i+1 < len(list) {
		return list[i+1]
	}
	return nil
}
