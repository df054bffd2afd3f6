package notify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/outgoing"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

const (
	// maxAttempts limits the attempts of a delivery.
	maxAttempts = 5
	// longestRetry limits the wait that a service may ask for.
	longestRetry = time.Hour
	// lifetime is how long after an event a message is still useful.
	lifetime = 24 * time.Hour
)

// request is a delivery on its way to a target.
type request struct {
	note  Note
	place place
	// answered means that the device answered the permission request before its
	// push service responded: the device has removed the message itself.
	answered bool
}

// dispatch starts sending the due messages and returns when the next is due.
func (n *Notifier) dispatch(ctx context.Context, sending *sync.WaitGroup) (next time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	changed := false
	for _, d := range slices.Clone(n.saved.Deliveries) {
		t, known := n.target(d.Target)
		quiet := quietUntil(t.choice.Quiet, now)
		switch {
		case !known || now.Sub(d.Note.At) > lifetime && d.Kind != Withdrawn && d.Kind != Test || n.isShown(d):
			n.saved.drop(d.ID)
			changed = true
		case n.busy[d.Target] != nil || !n.busy.maySend(n.placeOf(t)):
			// The end of that request rings the bell.
		case d.Due.After(now):
			next = sooner(next, d.Due)
		case d.Kind != Test && d.Kind != Withdrawn && !quiet.IsZero():
			next = sooner(next, quiet)
		default:
			n.busy[d.Target] = &request{note: d.Note, place: n.placeOf(t)}
			n.counts.Sent++
			n.saved.noteTold(d)
			changed = true
			sending.Go(func() { n.send(ctx, t, d) })
		}
	}
	if changed {
		n.keep()
	}
	return next
}

func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// isShown reports whether a screen that was waited for has shown the event. The
// caller holds the lock.
func (n *Notifier) isShown(d delivery) bool {
	if d.Unless == "" || time.Now().Before(d.Due) {
		return false
	}
	b := n.subjectOf(d.Note.SessionID)
	if b == nil {
		return false
	}
	shown, _ := onScreen(b, d.Unless, d.Note)
	return shown
}

// send makes one attempt and records its outcome.
func (n *Notifier) send(ctx context.Context, t target, d delivery) {
	answer, err := n.transmit(ctx, t, d)
	defer n.kick.Ring()
	n.mu.Lock()
	defer n.mu.Unlock()
	onWay := n.busy[d.Target]
	delete(n.busy, d.Target)
	if ctx.Err() != nil {
		return // the hub is stopping: the next start retries
	}
	d.Attempt++
	ended := Outcome{
		ID: d.ID, Target: t.name, Kind: d.Kind, SessionID: d.Note.SessionID, At: time.Now().UTC(), Attempts: d.Attempt,
	}
	retry, wait := judge(&ended, answer, err)
	if retry && d.Attempt < maxAttempts {
		if i := slices.IndexFunc(n.saved.Deliveries, func(o delivery) bool { return o.ID == d.ID }); i >= 0 {
			n.saved.Deliveries[i].Attempt = d.Attempt
			n.saved.Deliveries[i].Due = time.Now().Add(max(wait, n.timing.backOff(d.Attempt)))
			n.saved.Deliveries[i].Unless = ""
		}
		n.keep()
		return
	}
	n.saved.drop(d.ID)
	switch {
	case ended.Outcome == "delivered" && d.Kind == Withdrawn:
		n.counts.Withdrawn++
	case ended.Outcome == "delivered":
		n.counts.Delivered++
	default:
		n.counts.Failed++
	}
	if ended.Outcome == "gone" {
		n.removeSubscription(t.id)
	}
	if d.Kind != Withdrawn && d.Kind != Test && !d.Each && n.saved.Told[d.Note.SessionID].Seq != d.Note.Seq && ended.Outcome == "delivered" && t.withdraws && !onWay.answered {
		n.takeBackLate(t, d) // it was settled while it was being sent
	}
	n.saved.Outcomes = append(n.saved.Outcomes, ended)
	if over := len(n.saved.Outcomes) - keptOutcomes; over > 0 {
		n.saved.Outcomes = slices.Delete(n.saved.Outcomes, 0, over)
	}
	n.keep()
}

// takeBackLate withdraws a message that was settled while it was being sent. The
// caller holds the lock.
func (n *Notifier) takeBackLate(t target, d delivery) {
	if is, ok := n.saved.Told[d.Note.SessionID]; ok && is.Seq > d.Note.Seq {
		return // a newer message replaces it
	}
	waits := slices.ContainsFunc(n.saved.Deliveries, func(o delivery) bool {
		return o.Target == t.id && o.Note.SessionID == d.Note.SessionID
	})
	if !waits {
		note := Note{SessionID: d.Note.SessionID, Kind: d.Note.Kind, Seq: d.Note.Seq, Body: endedWords(d.Note.Kind, "")}
		n.queue(delivery{ID: randomID(), Target: t.id, Note: note, Kind: Withdrawn, Due: time.Now()})
	}
}

// judge returns the outcome of a response, and whether and when to retry.
func judge(o *Outcome, a outgoing.Answer, err error) (retry bool, wait time.Duration) {
	o.Outcome = "failed"
	switch {
	case errors.Is(err, outgoing.ErrRefused), errors.Is(err, errUnusable):
		o.Detail, _ = fit(legible(err.Error()), maxBody)
		return false, 0
	case err != nil:
		o.Detail, _ = fit(legible(err.Error()), maxBody)
		return true, 0
	case a.Status >= 200 && a.Status < 300:
		o.Outcome = "delivered"
		return false, 0
	case a.Status == http.StatusNotFound, a.Status == http.StatusGone:
		o.Outcome, o.Detail = "gone", fmt.Sprintf("the service answered %d: the subscription is gone", a.Status)
		return false, 0
	}
	o.Detail = fmt.Sprintf("the service answered %d", a.Status)
	if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && seconds > 0 {
		wait = min(time.Duration(min(seconds, int(longestRetry/time.Second)))*time.Second, longestRetry)
	}
	return a.Status == http.StatusTooManyRequests || a.Status == http.StatusRequestTimeout || a.Status >= 500, wait
}

// transmit sends the request of one attempt.
func (n *Notifier) transmit(ctx context.Context, t target, d delivery) (outgoing.Answer, error) {
	n.mu.Lock()
	guard, public, private, base := n.guard, n.saved.PublicKey, n.saved.PrivateKey, n.config.base
	n.mu.Unlock()
	if !n.placeOf(t).owner {
		guard = guard.Public()
	}
	p := n.payload(t, d, base)
	switch {
	case t.push != nil:
		return sendPush(ctx, guard, *t.push, public, private, p, waits(d.Kind))
	case t.channel.Type == Webhook:
		return sendWebhook(ctx, guard, t.channel, p)
	}
	return sendNtfy(ctx, guard, t.channel, base, n.link(d.Note), p)
}

// payload returns the message, with a new answer token if it is a permission
// request. base is the hub's address; empty if it has none.
func (n *Notifier) payload(t target, d delivery, base string) Payload {
	p := Payload{
		ID: d.ID, Kind: d.Kind, SessionID: d.Note.SessionID, Seq: d.Note.Seq, Tag: "abide-" + d.Note.SessionID,
		Title: d.Note.Title, Body: d.Note.Body, Badge: n.needing(t), JobStatus: d.Note.JobStatus,
	}
	if d.Kind != Permission || len(d.Note.Options) == 0 {
		return p
	}
	token := answerToken{
		sessionID: d.Note.SessionID, permissionID: d.Note.PermissionID, seq: d.Note.Seq, options: d.Note.Options,
		target: t.id, device: t.device, deviceKind: t.deviceKind,
	}
	switch {
	case t.push != nil && n.mayAct(t, d.Note.SessionID):
	case t.push == nil && t.channel.Type == Ntfy && t.channel.Answers && base != "":
		token.channel, token.ends = t.channel.Name, n.now().Add(channelTokenLife)
	default:
		return p
	}
	p.Answer = &Answer{Options: d.Note.Options, Token: n.tokens.mint(token)}
	return p
}

func (n *Notifier) mayAct(t target, sessionID string) bool {
	grant, err := n.registry.Grant(auth.Kind(t.deviceKind), t.device)
	return err == nil && grant.May(auth.Act, sessionID)
}

// needing counts the sessions that need a person and that the target may read.
func (n *Notifier) needing(t target) int {
	page, err := n.of.List(list.Options{Status: string(state.StatusNeedsYou), Limit: 100})
	if err != nil {
		return 0
	}
	count := 0
	n.mu.Lock()
	lines := slices.Collect(maps.Keys(n.needs))
	n.mu.Unlock()
	for _, s := range lines {
		if n.mayRead(t, s) {
			count++
		}
	}
	for _, s := range page.Sessions {
		if n.mayRead(t, s.SessionID) {
			count++
		}
	}
	return count
}

// link returns the address of a note's session; empty if the hub has no address
// that others can reach.
func (n *Notifier) link(note Note) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.config.base == "" || note.SessionID == "" {
		return ""
	}
	return fmt.Sprintf("%s/s/%s?seq=%d", n.config.base, note.SessionID, note.Seq)
}
