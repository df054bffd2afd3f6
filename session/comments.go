package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	// commentsFile holds a session's review comments: a line with the format and
	// the version, then one line for each comment.
	commentsFile = "comments.jsonl"
	// maxComments limits the comments of a session; those of a guest, and the comments
	// that are there when a guest adds one, have lower limits: the rest is the owners'.
	maxComments, maxGuestComments, maxOneGuest = 1000, 750, 250
	// maxComment limits the bytes of a comment.
	maxComment = 8 << 10
)

// Comment and CommentPatch are package state's.
type (
	Comment      = state.Comment
	CommentPatch = state.CommentPatch
)

// CommentCount is the number of comments. Version rises with every change.
type CommentCount struct {
	Version     int64
	Count, Open int
}

// commentBook stores the comments of a session in its file. A change becomes
// visible once it is on the device. Only the counts are in memory.
type commentBook struct {
	files   journal.Files
	logger  *slog.Logger
	changed bell.Bell

	mu    sync.Mutex // held while the file is read or written
	count CommentCount
}

type commentsHead struct {
	Format  int   `json:"format"`
	Version int64 `json:"version"`
}

// openCommentBook reads the comments among a session's files. An invalid file is set
// aside.
func openCommentBook(files journal.Files, logger *slog.Logger) *commentBook {
	b := &commentBook{files: files, logger: logger}
	if _, err := b.read(); err != nil {
		const aside = commentsFile + ".damaged"
		_, failed := files.SetAside(commentsFile, aside)
		logger.Warn("comments cannot be read and start over", "err", err, "aside", aside, "renamed", failed)
	}
	return b
}

// read returns the comments, oldest first, and updates the counts. The caller holds
// mu or has the only reference.
func (b *commentBook) read() ([]Comment, error) {
	data, err := b.files.Read(commentsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return []Comment{}, nil
	}
	if err != nil {
		return nil, err
	}
	version, list, err := parseComments(data)
	if err != nil {
		return nil, err
	}
	b.counted(version, list)
	return list, nil
}

// parseComments reads a file of comments.
func parseComments(data []byte) (version int64, list []Comment, err error) {
	list = []Comment{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16*maxComment)
	var head commentsHead
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &head) != nil || head.Format != 1 {
		return 0, nil, errors.New("its first line has no known format")
	}
	for lines.Scan() {
		var c Comment
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return 0, nil, fmt.Errorf("comment %d: %w", len(list)+1, err)
		}
		list = append(list, c)
	}
	return head.Version, list, lines.Err()
}

func (b *commentBook) counted(version int64, list []Comment) {
	b.count = CommentCount{Version: version, Count: len(list)}
	for _, c := range list {
		if !c.Resolved {
			b.count.Open++
		}
	}
}

// change replaces the comments by the result of f. If f fails, nothing changes.
func (b *commentBook) change(f func([]Comment) ([]Comment, error)) error {
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
	var data bytes.Buffer
	lines := json.NewEncoder(&data)
	err = lines.Encode(commentsHead{Format: 1, Version: version})
	for _, c := range list {
		err = errors.Join(err, lines.Encode(c))
	}
	if err == nil {
		err = b.files.Replace(commentsFile, data.Bytes())
	}
	if err != nil {
		return fmt.Errorf("%w: the comments could not be saved: %w", state.ErrUnavailable, err)
	}
	b.counted(version, list)
	b.changed.Ring()
	return nil
}

// Comments returns the review comments, oldest first, and their version.
func (b *BackgroundSession) Comments() ([]Comment, int64, error) {
	b.comments.mu.Lock()
	defer b.comments.mu.Unlock()
	list, err := b.comments.read()
	if err != nil {
		return nil, 0, fmt.Errorf("%w: the comments cannot be read: %w", state.ErrUnavailable, err)
	}
	return list, b.comments.count.Version, nil
}

// CommentCount counts the review comments.
func (b *BackgroundSession) CommentCount() CommentCount {
	b.comments.mu.Lock()
	defer b.comments.mu.Unlock()
	return b.comments.count
}

// CommentsChanged returns a channel that is closed when the comments change. Take
// it before CommentCount, or a change in between is missed.
func (b *BackgroundSession) CommentsChanged() <-chan struct{} { return b.comments.changed.Listen() }

// AddComment adds a comment, which is on the device when AddComment returns. The
// client chooses the id. Repeating the call changes nothing; another comment with
// the same id is ErrConflict. A guest may not manage the session.
func (b *BackgroundSession) AddComment(c Comment, guest bool) (Comment, error) {
	if c.ToSeq == 0 {
		c.ToSeq = c.FromSeq
	}
	if last := b.log.Marks().Visible; c.FromSeq < 1 || c.ToSeq < c.FromSeq || c.ToSeq > last {
		return Comment{}, fmt.Errorf("%w: from_seq %d and to_seq %d are not a range of the events 1 to %d", state.ErrInvalid, c.FromSeq, c.ToSeq, last)
	}
	if c.CommentID == "" || len(c.CommentID) > state.MaxID || !state.Printable(c.CommentID) {
		return Comment{}, fmt.Errorf("%w: the id of a comment has 1 to %d printable bytes", state.ErrInvalid, state.MaxID)
	}
	if err := checkComment(c.Text); err != nil {
		return Comment{}, err
	}
	c.At, c.EditedAt = time.Now().UTC().Truncate(time.Microsecond), nil
	made := c
	var again *Comment
	err := b.comments.change(func(list []Comment) ([]Comment, error) {
		for _, there := range list {
			if there.CommentID != c.CommentID {
				continue
			}
			if there.Text != c.Text || there.FromSeq != c.FromSeq || there.ToSeq != c.ToSeq || !(event.Actor{Name: c.By, ID: c.ByID}).Is(there.By, there.ByID) {
				return nil, fmt.Errorf("%w: another comment has the id %s", state.ErrConflict, c.CommentID)
			}
			again = &there
			return nil, errSame
		}
		if len(list) >= maxComments {
			return nil, fmt.Errorf("%w: the session has %d comments, which is the most: remove some", state.ErrConflict, maxComments)
		}
		if guest {
			own := 0
			for _, there := range list {
				if (event.Actor{Name: c.By, ID: c.ByID}).Is(there.By, there.ByID) || c.ByID != "" && c.ByID == there.AuthorID {
					own++
				}
			}
			if own >= maxOneGuest || len(list) >= maxGuestComments {
				return nil, fmt.Errorf("%w: %d of the session's %d comments are yours, and you may have %d; without access to manage the session you may add some while it has less than %d", state.ErrConflict, own, len(list), maxOneGuest, maxGuestComments)
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

func checkComment(text string) error {
	if text == "" || len(text) > maxComment || !utf8.ValidString(text) {
		return fmt.Errorf("%w: a comment has 1 to %d bytes of text", state.ErrInvalid, maxComment)
	}
	return nil
}

// EditComment changes a comment, which is on the device when EditComment returns. A
// changed text is by's, and its first author is kept. An unknown id is ErrNotFound.
func (b *BackgroundSession) EditComment(id string, p CommentPatch, by event.Actor) (Comment, error) {
	if p.Text != nil {
		if err := checkComment(*p.Text); err != nil {
			return Comment{}, err
		}
	}
	var changed Comment
	err := b.comments.change(func(list []Comment) ([]Comment, error) {
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
		if p.Resolved != nil {
			c.Resolved = *p.Resolved
		}
		changed = *c
		return list, nil
	})
	return changed, err
}

// RemoveComment removes a comment. An unknown id is ErrNotFound.
func (b *BackgroundSession) RemoveComment(id string, by event.Actor) error {
	b.logger.Info("comment removed", "comment", id, "actor", by.ID)
	return b.comments.change(func(list []Comment) ([]Comment, error) {
		at := commentAt(list, id)
		if at < 0 {
			return nil, noComment(id)
		}
		return slices.Delete(list, at, at+1), nil
	})
}

func commentAt(list []Comment, id string) int {
	return slices.IndexFunc(list, func(c Comment) bool { return c.CommentID == id })
}

func noComment(id string) error { return fmt.Errorf("%w: comment %s", state.ErrNotFound, id) }
