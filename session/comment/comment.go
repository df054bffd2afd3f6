// Package comment holds the review comments of a session, in a file beside its log.
package comment

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/abidehub/abide/internal/bell"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

const (
	// FileName is the name of the file: a line with the format and the version, then
	// one line for each comment.
	FileName = "comments.jsonl"
	// Max limits the comments of a session; those of a guest, and the comments that
	// are there when a guest adds one, have lower limits: the rest is the owners'.
	Max, maxOfGuests, maxOneGuest = 1000, 750, 250
	// maxText limits the bytes of a comment, maxPath and maxQuote those of its place.
	maxText, maxPath, maxQuote = 8 << 10, 4 << 10, 4 << 10
	// maxLine is the last line that a place can name.
	maxLine = 10_000_000
)

// Count is the number of comments. Version rises with every change.
type Count struct {
	Version     int64
	Count, Open int
}

// Book stores the comments of a session in its file. A change becomes visible once it
// is on the device. Only the counts are in memory. It is safe for concurrent use.
type Book struct {
	files   journal.Files
	last    func() event.Seq
	logger  *slog.Logger
	changed bell.Bell

	mu    sync.Mutex // held while the file is read or written
	count Count
}

type head struct {
	Format  int   `json:"format"`
	Version int64 `json:"version"`
}

// Open reads the comments among a session's files. An invalid file is set aside. last
// returns the last event that can be commented on.
func Open(files journal.Files, last func() event.Seq, logger *slog.Logger) *Book {
	b := &Book{files: files, last: last, logger: logger}
	if _, err := b.read(); err != nil {
		const aside = FileName + ".damaged"
		_, failed := files.SetAside(FileName, aside)
		logger.Warn("comments cannot be read and start over", "err", err, "aside", aside, "renamed", failed)
	}
	return b
}

// read returns the comments, oldest first, and updates the counts. The caller holds
// mu or has the only reference.
func (b *Book) read() ([]state.Comment, error) {
	data, err := b.files.Read(FileName)
	if errors.Is(err, fs.ErrNotExist) {
		return []state.Comment{}, nil
	}
	if err != nil {
		return nil, err
	}
	version, list, err := Parse(data)
	if err != nil {
		return nil, err
	}
	b.counted(version, list)
	return list, nil
}

// Parse reads a file of comments.
func Parse(data []byte) (version int64, list []state.Comment, err error) {
	list = []state.Comment{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16*maxText)
	var first head
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &first) != nil || first.Format != 1 {
		return 0, nil, errors.New("its first line has no known format")
	}
	for lines.Scan() {
		var c state.Comment
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return 0, nil, fmt.Errorf("comment %d: %w", len(list)+1, err)
		}
		list = append(list, c)
	}
	return first.Version, list, lines.Err()
}

// Encode writes the file of comments that Parse reads.
func Encode(w io.Writer, version int64, list []state.Comment) error {
	lines := json.NewEncoder(w)
	err := lines.Encode(head{Format: 1, Version: version})
	for _, c := range list {
		err = errors.Join(err, lines.Encode(c))
	}
	return err
}

func (b *Book) counted(version int64, list []state.Comment) {
	b.count = Count{Version: version, Count: len(list)}
	for _, c := range list {
		if !c.Resolved {
			b.count.Open++
		}
	}
}

// change replaces the comments by the result of f. If f fails, nothing changes.
func (b *Book) change(f func([]state.Comment) ([]state.Comment, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	list, err := b.read()
	if err != nil {
		return fmt.Errorf("%w: the comments cannot be read: %w", state.ErrUnavailable, err)
	}
	list, err = f(list)
	if err != nil {
		return err
	}
	version := b.count.Version + 1
	err = b.files.Replace(FileName, func(w io.Writer) error { return Encode(w, version, list) })
	if err != nil {
		return fmt.Errorf("%w: the comments could not be saved: %w", state.ErrUnavailable, err)
	}
	b.counted(version, list)
	b.changed.Ring()
	return nil
}

// List returns the comments, oldest first, and their version.
func (b *Book) List() ([]state.Comment, int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list, err := b.read()
	if err != nil {
		return nil, 0, fmt.Errorf("%w: the comments cannot be read: %w", state.ErrUnavailable, err)
	}
	return list, b.count.Version, nil
}

// Count counts the comments.
func (b *Book) Count() Count {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// Changed returns a channel that is closed when the comments change. Take it before
// Count, or a change in between is missed.
func (b *Book) Changed() <-chan struct{} { return b.changed.Listen() }

// Add adds a comment, which is on the device when Add returns. The client chooses the
// id. Repeating the call changes nothing; another comment with the same id is
// ErrConflict. A guest may not manage the session.
func (b *Book) Add(c state.Comment, guest bool) (state.Comment, error) {
	if c.ToSeq == 0 {
		c.ToSeq = c.FromSeq
	}
	if last := b.last(); c.FromSeq < 1 || c.ToSeq < c.FromSeq || c.ToSeq > last {
		return state.Comment{}, fmt.Errorf("%w: from_seq %d and to_seq %d are not a range of the events 1 to %d", state.ErrInvalid, c.FromSeq, c.ToSeq, last)
	}
	if err := errors.Join(state.CheckID("a comment", c.CommentID), checkText(c.Text), checkPlace(c)); err != nil {
		return state.Comment{}, err
	}
	c.At, c.EditedAt = time.Now().UTC().Truncate(time.Microsecond), nil
	made := c
	var again *state.Comment
	err := b.change(func(list []state.Comment) ([]state.Comment, error) {
		for _, there := range list {
			if there.CommentID != c.CommentID {
				continue
			}
			if there.Text != c.Text || !samePlace(there, c) || !(event.Actor{Name: c.By, ID: c.ByID}).Is(there.By, there.ByID) {
				return nil, fmt.Errorf("%w: another comment has the id %s", state.ErrConflict, c.CommentID)
			}
			again = &there
			return nil, errSame
		}
		if len(list) >= Max {
			return nil, fmt.Errorf("%w: the session has %d comments, which is the most: remove some", state.ErrConflict, Max)
		}
		if guest {
			own := 0
			for _, there := range list {
				if (event.Actor{Name: c.By, ID: c.ByID}).Is(there.By, there.ByID) || c.ByID != "" && c.ByID == there.AuthorID {
					own++
				}
			}
			if own >= maxOneGuest || len(list) >= maxOfGuests {
				return nil, fmt.Errorf("%w: %d of the session's %d comments are yours, and you may have %d; without access to manage the session you may add some while it has less than %d", state.ErrConflict, own, len(list), maxOneGuest, maxOfGuests)
			}
		}
		return append(list, c), nil
	})
	if again != nil {
		return *again, nil
	}
	return made, err
}

// errSame is the error of a change that has no effect.
var errSame = errors.New("nothing to change")

// samePlace reports whether two comments are about the same.
func samePlace(a, b state.Comment) bool {
	return a.FromSeq == b.FromSeq && a.ToSeq == b.ToSeq && a.Path == b.Path && a.Line == b.Line && a.EndLine == b.EndLine && a.Side == b.Side && a.Quote == b.Quote
}

func checkPlace(c state.Comment) error {
	switch {
	case len(c.Path) > maxPath || !state.Printable(c.Path):
		return fmt.Errorf("%w: path is at most %d printable bytes", state.ErrInvalid, maxPath)
	case len(c.Quote) > maxQuote || !utf8.ValidString(c.Quote):
		return fmt.Errorf("%w: quote is at most %d bytes of text", state.ErrInvalid, maxQuote)
	case c.Line < 0 || c.Line > 0 && c.Path == "":
		return fmt.Errorf("%w: line is from 1, and needs a path", state.ErrInvalid)
	case max(c.Line, c.EndLine) > maxLine:
		return fmt.Errorf("%w: line and end_line are at most %d", state.ErrInvalid, maxLine)
	case c.EndLine != 0 && (c.Line == 0 || c.EndLine < c.Line):
		return fmt.Errorf("%w: end_line is at or after line", state.ErrInvalid)
	case c.Side != "" && c.Side != "old" && c.Side != "new":
		return fmt.Errorf("%w: side is old or new", state.ErrInvalid)
	}
	return nil
}

func checkText(text string) error {
	if text == "" || len(text) > maxText || !utf8.ValidString(text) {
		return fmt.Errorf("%w: a comment has 1 to %d bytes of text", state.ErrInvalid, maxText)
	}
	return nil
}

// Edit changes a comment, which is on the device when Edit returns. A
// changed text is by's, and its first author is kept. An unknown id is ErrNotFound.
func (b *Book) Edit(id string, p state.CommentPatch, by event.Actor) (state.Comment, error) {
	if p.Text == nil && p.Resolved == nil {
		return state.Comment{}, fmt.Errorf("%w: text and resolved of a comment can be changed: send one of them", state.ErrInvalid)
	}
	if p.Text != nil {
		if err := checkText(*p.Text); err != nil {
			return state.Comment{}, err
		}
	}
	var changed state.Comment
	err := b.change(func(list []state.Comment) ([]state.Comment, error) {
		at := commentAt(list, id)
		if at < 0 {
			return nil, noComment(id)
		}
		c := &list[at]
		if p.Text != nil && *p.Text != c.Text {
			now := time.Now().UTC().Truncate(time.Microsecond)
			c.Text, c.EditedAt = *p.Text, &now
			if !by.Is(c.By, c.ByID) {
				if c.Author == "" && c.AuthorID == "" {
					c.Author, c.AuthorID = c.By, c.ByID
				}
				c.By, c.ByID = by.Name, by.ID
			}
		}
		if p.Resolved != nil && *p.Resolved != c.Resolved {
			c.Resolved, c.ResolvedBy, c.ResolvedByID = *p.Resolved, by.Name, by.ID
		}
		changed = *c
		return list, nil
	})
	return changed, err
}

// Remove removes a comment. An unknown id is ErrNotFound.
func (b *Book) Remove(id string, by event.Actor) error {
	b.logger.Info("comment removed", "comment", id, "actor", by.ID)
	return b.change(func(list []state.Comment) ([]state.Comment, error) {
		at := commentAt(list, id)
		if at < 0 {
			return nil, noComment(id)
		}
		return slices.Delete(list, at, at+1), nil
	})
}

func commentAt(list []state.Comment, id string) int {
	return slices.IndexFunc(list, func(c state.Comment) bool { return c.CommentID == id })
}

func noComment(id string) error { return fmt.Errorf("%w: comment %s", state.ErrNotFound, id) }
