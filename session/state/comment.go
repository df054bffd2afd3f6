package state

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// Comment is a person's comment on the events from FromSeq to ToSeq. It is not an
// event: the log does not change.
type Comment struct {
	CommentID string    `json:"comment_id"`
	FromSeq   event.Seq `json:"from_seq"`
	ToSeq     event.Seq `json:"to_seq"`
	// Path is the file that the comment is about, as the agent or the workspace names it;
	// empty for a comment on events alone.
	Path string `json:"path,omitempty"`
	// Line is the first line of the file, from 1, and EndLine the last if there are
	// several. Zero: the whole file, or not known.
	Line    int `json:"line,omitempty"`
	EndLine int `json:"end_line,omitempty"`
	// Side is "old" for a line that was removed, "new" or empty for one that is there.
	Side string `json:"side,omitempty"`
	// Quote is the code or the words that it is about, at most 4096 bytes.
	Quote string `json:"quote,omitempty"`
	// Text has 1 to 8192 bytes.
	Text string `json:"text"`
	// By and ByID are the name and the id of the author's credential.
	By       string    `json:"by"`
	ByID     string    `json:"by_id,omitempty"`
	At       time.Time `json:"at"`
	Resolved bool      `json:"resolved"`
	// ResolvedBy and ResolvedByID resolved it, or opened it again.
	ResolvedBy   string `json:"resolved_by,omitempty"`
	ResolvedByID string `json:"resolved_by_id,omitempty"`
	// EditedAt is the time of the last change of the text; nil if there was none.
	EditedAt *time.Time `json:"edited_at,omitempty"`
	// Author and AuthorID wrote the comment first, if By changed its text.
	Author   string `json:"author,omitempty"`
	AuthorID string `json:"author_id,omitempty"`
}

// CommentPatch changes the comment's fields that are present.
type CommentPatch struct {
	Text     *string `json:"text,omitempty"`
	Resolved *bool   `json:"resolved,omitempty"`
}
