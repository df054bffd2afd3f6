package wire

import (
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
	"github.com/abidehub/abide/session/playback"
	"github.com/abidehub/abide/session/state"
)

// Comment is a review comment on a range of events.
type Comment = state.Comment

// CommentList is a session's review comments, oldest first.
type CommentList struct {
	// Version grows with each change.
	Version  int64     `json:"version"`
	Comments []Comment `json:"comments"`
}

// NewComment is a comment on the events from FromSeq to ToSeq; without ToSeq on one
// event. The request's Idempotency-Key is its id.
type NewComment struct {
	FromSeq event.Seq `json:"from_seq"`
	ToSeq   event.Seq `json:"to_seq,omitempty"`
	// Path, Line, EndLine and Side ("old" or "new") are the lines of a file that it is
	// about, Quote the code or the words.
	Path    string `json:"path,omitempty"`
	Line    int    `json:"line,omitempty"`
	EndLine int    `json:"end_line,omitempty"`
	Side    string `json:"side,omitempty"`
	Quote   string `json:"quote,omitempty"`
	Text    string `json:"text"`
}

// CommentPatch changes the comment's fields that are present.
type CommentPatch = state.CommentPatch

// Overview is a session at a glance, up to at_seq.
type Overview = playback.Overview

// Snapshot is what a session is as of at_seq, in one piece.
type Snapshot struct {
	state.Snapshot
	// StateSizeBytes is its size as JSON, StoredBytes that of its file, which is compressed
	// above 10 KiB, and CompressionRatio the second as a part of the first.
	StateSizeBytes   int     `json:"state_size_bytes"`
	StoredBytes      int     `json:"stored_bytes"`
	CompressionRatio float64 `json:"compression_ratio"`
}

// Preview is what a list says of a session's snapshot.
type Preview struct {
	// LastTask is the entry of the agent's plan that it works on, else the last one that it
	// completed.
	LastTask string `json:"last_task,omitempty"`
	// FilesCount counts the files that were written, OutputsCount the latest commands, 150 at
	// most. StateSizeBytes is the size of the snapshot as JSON.
	FilesCount     int `json:"files_count"`
	OutputsCount   int `json:"outputs_count"`
	StateSizeBytes int `json:"state_size_bytes"`
}

// ExportPreview counts what a redaction would leave out of an export, and where.
type ExportPreview = export.Found
