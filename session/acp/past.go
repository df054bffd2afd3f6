package acp

import (
	"context"
	"encoding/json"
	"fmt"
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

// List starts an agent without a session, asks for one page of the sessions that it
// stores, and stops it. A folder selects the sessions of that folder. The cursor is that
// of the page before, and the one it returns is empty at the end. ErrNotOffered means
// that the agent does not list its sessions, an *AuthError that a person must log in.
func List(ctx context.Context, cfg Config, folder, cursor string) (page []StoredSession, next string, err error) {
	_, err = visit(ctx, cfg, nobody{}, func(a *Agent, o offers) error {
		if err := a.logIn(ctx, o); err != nil {
			return err
		}
		var err error
		page, next, err = a.list(ctx, folder, cursor)
		return o.explain(err)
	})
	return page, next, err
}

func (a *Agent) list(ctx context.Context, folder, cursor string) (page []StoredSession, next string, err error) {
	if !a.can(func(o offers) bool { return o.list }) {
		return nil, "", fmt.Errorf("%s: %w", methodList, ErrNotOffered)
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
		return nil, "", err
	}
	return storedSessions(result)
}

// storedSessions reads an answer to session/list. Sessions without an id are left out.
func storedSessions(result json.RawMessage) (page []StoredSession, next string, err error) {
	var answer struct {
		Sessions []struct {
			StoredSession
			UpdatedAt any `json:"updatedAt"`
		} `json:"sessions"`
		NextCursor string `json:"nextCursor"`
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		return nil, "", fmt.Errorf("%s: unreadable answer: %w", methodList, err)
	}
	for _, s := range answer.Sessions {
		if s.ID == "" {
			continue
		}
		if text, is := s.UpdatedAt.(string); is {
			s.StoredSession.UpdatedAt, _ = time.Parse(time.RFC3339, text) // of another form it is not known
		}
		page = append(page, s.StoredSession)
	}
	return page, answer.NextCursor, nil
}
