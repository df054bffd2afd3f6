package notify

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// maxTokens limits the valid answer tokens.
const maxTokens = 4096

// answerToken is a token's right to answer one permission request once.
type answerToken struct {
	sessionID, permissionID string
	seq                     event.Seq
	options                 []Option
	target                  string
	device, deviceKind      string
}

// tokens are the answer tokens of this run, by their hash. They are not stored: a
// permission request ends with the hub, and so does its token.
type tokens struct {
	mu   sync.Mutex
	live map[[sha256.Size]byte]answerToken
}

// mint makes the token of a request for a target. It invalidates an earlier one for
// the same.
func (t *tokens) mint(a answerToken) string {
	t.drop(func(o answerToken) bool { return o.target == a.target && o.sessionID == a.sessionID })
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	text := base64.RawURLEncoding.EncodeToString(secret)
	t.put(text, a)
	return text
}

func (t *tokens) put(text string, a answerToken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live == nil {
		t.live = map[[sha256.Size]byte]answerToken{}
	}
	if len(t.live) < maxTokens {
		t.live[sha256.Sum256([]byte(text))] = a
	}
}

// take removes a token and returns its right.
func (t *tokens) take(text string) (answerToken, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := sha256.Sum256([]byte(text))
	a, ok := t.live[key]
	delete(t.live, key)
	return a, ok
}

func (t *tokens) drop(is func(answerToken) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, a := range t.live {
		if is(a) {
			delete(t.live, key)
		}
	}
}

// Answered is the permission request that a token answered.
type Answered struct {
	SessionID string
	Grant     auth.Grant
	Outcome   event.PermissionOutcome
}

// Answer settles the permission request of a token. ErrNotFound means that the
// token is not valid, or no longer.
func (n *Notifier) Answer(ctx context.Context, token, optionID string) (Answered, error) {
	a, ok := n.tokens.take(token)
	if !ok {
		return Answered{}, fmt.Errorf("%w: the answer came too late: the question was answered or is gone", ErrNotFound)
	}
	if !slices.ContainsFunc(a.options, func(o Option) bool { return o.OptionID == optionID }) {
		n.tokens.put(token, a)
		return Answered{}, fmt.Errorf("%w: the notification did not offer option %q", ErrInvalid, optionID)
	}
	grant, err := n.registry.Grant(auth.Kind(a.deviceKind), a.device)
	b := n.manager.Opened(a.sessionID)
	if err != nil || !grant.May(auth.Act, a.sessionID) || b == nil {
		return Answered{}, fmt.Errorf("%w: the device that was asked may not answer any more", ErrNotFound)
	}
	n.closed(a)
	outcome, err := b.AnswerPermission(ctx, session.Answer{
		PermissionID: a.permissionID, OptionID: optionID, Actor: grant.By(), SeenSeq: a.seq,
	})
	switch {
	case err == nil:
		return Answered{a.sessionID, grant, outcome}, nil
	case errors.Is(err, state.ErrUnavailable), ctx.Err() != nil:
		n.tokens.put(token, a) // it was not settled, so the token may be used again
	}
	return Answered{}, err
}

// closed records that the answering device has removed its notification itself.
func (n *Notifier) closed(a answerToken) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.busy[a.target]; r != nil && r.note.SessionID == a.sessionID && r.note.PermissionID == a.permissionID {
		r.answered = true
	}
	if is, ok := n.saved.Told[a.sessionID]; ok && is.PermissionID == a.permissionID {
		is.Targets = slices.DeleteFunc(slices.Clone(is.Targets), func(id string) bool { return id == a.target })
		n.saved.Told[a.sessionID] = is
	}
}

func randomID() string {
	id := make([]byte, 8)
	rand.Read(id) // never fails
	return hex.EncodeToString(id)
}
