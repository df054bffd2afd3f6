package wire

import (
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
	"github.com/abidehub/abide/session/playback"
)

// Comment is a review comment on the events from FromSeq to ToSeq.
type Comment struct {
	CommentID string    `json:"comment_id"`
	FromSeq   event.Seq `json:"from_seq"`
	ToSeq     event.Seq `json:"to_seq"`
	// Text has 1 to 8192 bytes.
	Text string `json:"text"`
	// By and ByID are the name and the id of the author's credential.
	By       string     `json:"by"`
	ByID     string     `json:"by_id,omitempty"`
	At       time.Time  `json:"at"`
	Resolved bool       `json:"resolved"`
	EditedAt *time.Time `json:"edited_at,omitempty"`
	// Author and AuthorID wrote the comment first, if By changed its text.
	Author   string `json:"author,omitempty"`
	AuthorID string `json:"author_id,omitempty"`
}

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
	Text    string    `json:"text"`
}

// CommentPatch changes the comment's fields that are present.
type CommentPatch struct {
	Text     *string `json:"text,omitempty"`
	Resolved *bool   `json:"resolved,omitempty"`
}

// Overview is a session at a glance, up to at_seq.
type Overview = playback.Overview

// ExportPreview counts what a redaction would leave out of an export, and where.
type ExportPreview = export.Found
