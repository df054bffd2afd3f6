package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Attachment is a file attached to a prompt. Its bytes are a blob of the session.
type Attachment struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256"`
}

// Item is one waiting prompt.
type Item struct {
	PromptID string `json:"prompt_id"`
	Text     string `json:"text"`
	// Title is a short title for lists.
	Title       string       `json:"title,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	Actor       string       `json:"actor,omitempty"`
	ByID        string       `json:"by_id,omitempty"`
	// Author and AuthorID wrote the prompt first, if Actor and ByID changed its text.
	Author   string `json:"author,omitempty"`
	AuthorID string `json:"author_id,omitempty"`
	// Hash is the hash of the first payload: an edit of Text does not change it.
	// Add sets it.
	Hash     string    `json:"hash"`
	QueuedAt time.Time `json:"queued_at"`
	// ScheduledAt, if set, is the earliest time at which the prompt may be taken.
	ScheduledAt *time.Time `json:"scheduled_at,omitempty"`
	// Now puts the prompt before all others, but behind earlier ones of the kind.
	Now bool `json:"now,omitempty"`
}

// editedBy returns the item as somebody changed its text.
func (i Item) editedBy(actor, byID string) Item {
	if actor == i.Actor && byID == i.ByID {
		return i
	}
	if i.Author == "" && i.AuthorID == "" {
		i.Author, i.AuthorID = i.Actor, i.ByID
	}
	i.Actor, i.ByID = actor, byID
	return i
}

// due reports whether the item may be taken at now.
func (i Item) due(now time.Time) bool {
	return i.ScheduledAt == nil || !i.ScheduledAt.After(now)
}

// Hash identifies a prompt's payload in the ledger: 128 bits of SHA-256 over the
// text and the names of the attachments, in hex.
func Hash(text string, attachments []Attachment) string {
	payload, err := json.Marshal(struct {
		Text        string       `json:"text"`
		Attachments []Attachment `json:"attachments,omitempty"`
	}{text, attachments})
	if err != nil { // strings and integers always encode
		panic(err)
	}
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:16])
}
