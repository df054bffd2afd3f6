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
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

const (
	// maxTokens limits the valid answer tokens.
	maxTokens = 4096
	// channelTokenLife is how long a token of a channel is valid at most.
	channelTokenLife = time.Hour
)

// answerToken is a token's right to answer one permission request once.
type answerToken struct {
	sessionID, permissionID string
	seq                     event.Seq
	options                 []Option
	target                  string
	device, deviceKind      string
	// channel is the name of the channel that was asked; empty for a device. Others may
	// read its messages, so the token ends at a time, too.
	channel string
	ends    time.Time
}

// by is the actor of answers by the notifications of a channel.
func (a answerToken) by() auth.Grant {
	return auth.Grant{ID: a.target, Name: "a notification of channel " + a.channel}
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
	grant, may := n.answerer(a)
	b := n.of.Opened(a.sessionID)
	if !may || b == nil {
		return Answered{}, fmt.Errorf("%w: the device or channel that was asked may not answer any more", ErrNotFound)
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

// answerer returns who answers by a token, and whether that is still allowed.
func (n *Notifier) answerer(a answerToken) (auth.Grant, bool) {
	if a.channel == "" {
		grant, err := n.registry.Grant(auth.Kind(a.deviceKind), a.device)
		return grant, err == nil && grant.May(auth.Act, a.sessionID)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t, known := n.target(a.target)
	return a.by(), known && t.channel.Answers && n.now().Before(a.ends)
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
