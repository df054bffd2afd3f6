package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// StoredSession is a session that an agent stores.
type StoredSession struct {
	ID        string `json:"sessionId"`
	Workspace string `json:"cwd"`
	Title     string `json:"title"`
	// UpdatedAt is zero if the agent does not tell it.
	UpdatedAt time.Time `json:"-"`
}

// StoredPage is one page of the sessions that an agent stores.
type StoredPage struct {
	Sessions []StoredSession
	// Next is the cursor of the following page; empty at the end.
	Next string
	// LeftOut counts the entries of the agent's page that are not in this one.
	LeftOut int
}

// Bounds of a page that an agent tells: its entries, and bytes of their texts. An entry with
// a longer id or folder is left out, a longer title is cut.
const (
	maxStored       = 500
	maxStoredID     = 500
	maxStoredFolder = 4 << 10
	maxStoredTitle  = 1 << 10
	maxStoredCursor = 4 << 10
)

// List starts an agent without a session, asks for one page of the sessions that it
// stores, and stops it. A folder selects the sessions of that folder. The cursor is that
// of the page before. ErrNotOffered means that the agent does not list its sessions, an
// *AuthError that a person must log in.
func List(ctx context.Context, cfg Config, folder, cursor string) (page StoredPage, err error) {
	_, err = visit(ctx, cfg, nobody{}, func(a *Agent, o offers) error {
		if err := a.logIn(ctx, o); err != nil {
			return err
		}
		var err error
		page, err = a.list(ctx, folder, cursor)
		return o.explain(err)
	})
	return page, err
}

func (a *Agent) list(ctx context.Context, folder, cursor string) (StoredPage, error) {
	if !a.can(func(o offers) bool { return o.list }) {
		return StoredPage{}, fmt.Errorf("%s: %w", methodList, ErrNotOffered)
	}
	params := map[string]any{}
	if folder != "" {
		params["cwd"] = folder
	}
	if cursor != "" {
		params["cursor"] = cursor
	}
	result, err := a.bounded(ctx, methodList, params)
	if err != nil {
		return StoredPage{}, err
	}
	page, err := storedSessions(result)
	if err != nil {
		return StoredPage{}, fmt.Errorf("%s: unreadable answer: %w", methodList, err)
	}
	return page, nil
}

// storedSessions reads an answer to session/list, an entry at a time. Entries without an id
// are no sessions.
func storedSessions(result json.RawMessage) (page StoredPage, err error) {
	var answer struct {
		Sessions   json.RawMessage `json:"sessions"`
		NextCursor string          `json:"nextCursor"`
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return page, err
	}
	if page.Next = answer.NextCursor; len(page.Next) > maxStoredCursor {
		return page, fmt.Errorf("the cursor of the next page has more than %d bytes", maxStoredCursor)
	}
	if len(answer.Sessions) == 0 || isNull(answer.Sessions) {
		return page, nil
	}
	entries := json.NewDecoder(bytes.NewReader(answer.Sessions))
	if start, err := entries.Token(); err != nil || start != json.Delim('[') {
		return page, errors.New("sessions is no array")
	}
	for entries.More() {
		var s struct {
			StoredSession
			UpdatedAt any `json:"updatedAt"`
		}
		if err := entries.Decode(&s); err != nil {
			return page, err
		}
		switch {
		case s.ID == "":
			continue
		case len(page.Sessions) == maxStored, len(s.ID) > maxStoredID, len(s.Workspace) > maxStoredFolder:
			page.LeftOut++
			continue
		}
		if len(s.Title) > maxStoredTitle {
			s.Title = strings.ToValidUTF8(s.Title[:maxStoredTitle], "")
		}
		if text, is := s.UpdatedAt.(string); is {
			s.StoredSession.UpdatedAt, _ = time.Parse(time.RFC3339, text) // of another form it is not known
		}
		page.Sessions = append(page.Sessions, s.StoredSession)
	}
	return page, nil
}
