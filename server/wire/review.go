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

// ExportPreview counts what a redaction would leave out of an export, and where.
type ExportPreview = export.Found
