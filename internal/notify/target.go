package notify

import (
	"errors"
	"fmt"
	"slices"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// Errors of requests about notifications.
var (
	// ErrInvalid names the invalid part of a request.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound means that there is no such subscription, channel or token.
	ErrNotFound = errors.New("not found")
	// ErrBusy means that a credential has used up its places for now.
	ErrBusy = errors.New("busy")
)

const (
	// maxSubscriptions limits the browsers of a hub, and maxDeliveries the waiting
	// messages. Of the browsers, a quarter is for owners of all sessions.
	maxSubscriptions    = 200
	ownersSubscriptions = maxSubscriptions / 4
	maxDeliveries       = 2000
	// subscriptionsOfOne and deliveriesOfOne are a credential's part of them.
	subscriptionsOfOne = 10
	deliveriesOfOne    = 100
	// sendingAtOnce limits concurrent requests; each has a different target. Of these,
	// ownersSending are for owners of all sessions and for channels. A credential has
	// sendingOfOne.
	sendingAtOnce = 8
	ownersSending = 2
	sendingOfOne  = 2
	// testsOfOne is how many test messages a credential may send within testWindow.
	testsOfOne = 6
	testWindow = time.Minute
	// mostMuted limits the sessions that a target mutes, and longestID the length of
	// each.
	mostMuted = 1000
	longestID = 64
)

// target is a destination: a push subscription or a channel.
type target struct {
	id, name           string
	device, deviceKind string // of a push subscription
	choice             Choice
	withdraws          bool // it supports withdrawals
	push               *subscription
	channel            Channel
}

// targets lists all. The lock is held.
func (n *Notifier) targets() []target {
	var list []target
	for _, s := range n.saved.Subscriptions {
		list = append(list, target{
			id: s.ID, name: "push " + s.ID, device: s.Device, deviceKind: s.Kind, choice: s.Choice, withdraws: true, push: &s,
		})
	}
	for _, c := range n.config.list {
		choice, chosen := n.saved.Channels[c.Name]
		if !chosen {
			choice = c.Choice
		}
		list = append(list, target{id: channelID(c.Name), name: c.Name, choice: choice, withdraws: c.Type == Webhook, channel: c})
	}
	return list
}

func channelID(name string) string { return "channel:" + name }

// target finds one. The lock is held.
func (n *Notifier) target(id string) (target, bool) {
	for _, t := range n.targets() {
		if t.id == id {
			return t, true
		}
	}
	return target{}, false
}

// PublicKey returns the hub's VAPID key, which is created at the first call.
func (n *Notifier) PublicKey() (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.saved.PublicKey != "" {
		return n.saved.PublicKey, nil
	}
	private, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return "", fmt.Errorf("make the key of pushes: %w", err)
	}
	n.saved.PrivateKey, n.saved.PublicKey = private, public
	if err := n.save(); err != nil {
		n.saved.PrivateKey, n.saved.PublicKey = "", ""
		return "", err
	}
	return public, nil
}

// Subscribe adds a browser of a device, or changes its choice if its endpoint is
// known.
func (n *Notifier) Subscribe(grant auth.Grant, in wire.NewSubscription) (id string, err error) {
	if err := errors.Join(checkChoice(in.NotifyChoice), checkPush(in)); err != nil {
		return "", err
	}
	if _, err := n.PublicKey(); err != nil {
		return "", err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	guard := n.guard
	if !ownsAll(grant) {
		guard = guard.Public()
	}
	if err := guard.Check(in.Endpoint); err != nil {
		return "", fmt.Errorf("%w: nothing would be sent to this endpoint: %w", ErrInvalid, err)
	}
	before := slices.Clone(n.saved.Subscriptions)
	made := subscription{
		ID: randomID(), Device: grant.ID, Kind: string(grant.Kind), Endpoint: in.Endpoint, P256dh: in.Keys.P256dh, Auth: in.Keys.Auth,
		CreatedAt: time.Now().UTC(), Choice: in.NotifyChoice,
	}
	if i := slices.IndexFunc(before, func(s subscription) bool { return s.Endpoint == in.Endpoint }); i >= 0 {
		// An endpoint is its maker's. A browser that was paired again has another credential.
		if !before[i].of(grant) && !ownsAll(grant) {
			return "", fmt.Errorf("%w: this endpoint belongs to another device or token", ErrInvalid)
		}
		made.ID, made.CreatedAt = before[i].ID, before[i].CreatedAt
		n.saved.Subscriptions[i] = made
	} else if err := n.room(grant); err != nil {
		return "", err
	} else {
		n.saved.Subscriptions = append(n.saved.Subscriptions, made)
	}
	if err := n.save(); err != nil {
		n.saved.Subscriptions = before
		return "", err
	}
	return made.ID, nil
}

// Subscriptions lists those of a credential.
func (n *Notifier) Subscriptions(grant auth.Grant) []wire.Subscription {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []wire.Subscription{}
	for _, s := range n.saved.Subscriptions {
		if s.of(grant) {
			list = append(list, wire.Subscription{ID: s.ID, CreatedAt: s.CreatedAt, NotifyChoice: shown(s.Choice), Outcomes: n.saved.outcomesOf("push " + s.ID)})
		}
	}
	return list
}

func (s subscription) of(grant auth.Grant) bool {
	return s.Device == grant.ID && s.Kind == string(grant.Kind)
}

// Unsubscribe removes a subscription of a credential.
func (n *Notifier) Unsubscribe(grant auth.Grant, id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.saved.owns(grant, id) {
		return fmt.Errorf("%w: subscription %q", ErrNotFound, id)
	}
	n.removeSubscription(id)
	return n.save()
}

// removeSubscription removes a subscription and its waiting messages. The caller
// holds the lock.
func (n *Notifier) removeSubscription(id string) {
	n.saved.Subscriptions = slices.DeleteFunc(n.saved.Subscriptions, func(s subscription) bool { return s.ID == id })
	n.saved.Deliveries = slices.DeleteFunc(n.saved.Deliveries, func(d delivery) bool { return d.Target == id })
	n.tokens.drop(func(t answerToken) bool { return t.target == id })
}

// TestPush sends a message to a subscription of a credential, also in quiet hours.
func (n *Notifier) TestPush(grant auth.Grant, id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.saved.owns(grant, id) {
		return fmt.Errorf("%w: subscription %q", ErrNotFound, id)
	}
	if err := n.tests.take(grant); err != nil {
		return err
	}
	n.test(id)
	return nil
}

// test queues a test message. The lock is held.
func (n *Notifier) test(id string) {
	n.queue(delivery{ID: randomID(), Target: id, Kind: Test, Due: time.Now(), Note: Note{
		Kind: Test, Title: "abide", Body: "Notifications reach this device.", At: time.Now(),
	}})
	n.keep()
	n.kick.Ring()
}

// place says whose a target is, by which its places are counted.
type place struct {
	device string // empty for a channel
	owner  bool
}

// placeOf asks the registry for a target's credential.
func (n *Notifier) placeOf(t target) place {
	if t.device == "" {
		return place{owner: true}
	}
	grant, err := n.registry.Grant(auth.Kind(t.deviceKind), t.device)
	return place{device: t.device, owner: err == nil && ownsAll(grant)}
}

func ownsAll(g auth.Grant) bool { return g.May(auth.Manage, "") }

// requests are those on their way, by target.
type requests map[string]*request

// maySend reports whether a request to a target may begin now.
func (r requests) maySend(p place) bool {
	others, own := 0, 0
	for _, request := range r {
		if !request.place.owner {
			others++
		}
		if p.device != "" && request.place.device == p.device {
			own++
		}
	}
	return len(r) < sendingAtOnce && own < sendingOfOne && (p.owner || others < sendingAtOnce-ownersSending)
}

// room refuses a new subscription of a credential that has no place for it. The lock is
// held.
func (n *Notifier) room(grant auth.Grant) error {
	own, others := 0, 0
	for _, s := range n.saved.Subscriptions {
		if s.of(grant) {
			own++
		}
		if g, err := n.registry.Grant(auth.Kind(s.Kind), s.Device); err != nil || !ownsAll(g) {
			others++
		}
	}
	switch {
	case own >= subscriptionsOfOne:
		return fmt.Errorf("%w: %d browsers of this device or token take notifications, which is the most; turn them off on one", ErrInvalid, own)
	case len(n.saved.Subscriptions) >= maxSubscriptions, !ownsAll(grant) && others >= maxSubscriptions-ownersSubscriptions:
		return fmt.Errorf("%w: %d browsers take notifications, which is the most; turn them off on one", ErrInvalid, len(n.saved.Subscriptions))
	}
	return nil
}

// prune removes the subscriptions of credentials that have ended, and those that an
// earlier version let be too large.
func (n *Notifier) prune() {
	n.mu.Lock()
	defer n.mu.Unlock()
	var gone []string
	for _, s := range n.saved.Subscriptions {
		if _, err := n.registry.Grant(auth.Kind(s.Kind), s.Device); err != nil || checkChoice(s.Choice) != nil {
			gone = append(gone, s.ID)
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, id := range gone {
		n.removeSubscription(id)
	}
	n.keep()
}

// testTimes are the times of test messages of the last minute, by credential.
type testTimes map[string][]time.Time

// take counts a test message of a credential.
func (t testTimes) take(grant auth.Grant) error {
	now := time.Now()
	recent := slices.DeleteFunc(t[grant.ID], func(at time.Time) bool { return now.Sub(at) >= testWindow })
	if len(recent) >= testsOfOne {
		return fmt.Errorf("%w: %d test messages in a minute are the most", ErrBusy, testsOfOne)
	}
	for id, times := range t { // of others, whose minute is over
		if now.Sub(times[len(times)-1]) >= testWindow {
			delete(t, id)
		}
	}
	t[grant.ID] = append(recent, now)
	return nil
}

// makeRoom drops the oldest waiting message of a credential that has its part, or of all
// if there are too many. The lock is held.
func (n *Notifier) makeRoom(d delivery) {
	t, _ := n.target(d.Target)
	own, first := 0, -1
	for i, o := range n.saved.Deliveries {
		if other, ok := n.target(o.Target); t.device != "" && ok && other.device == t.device {
			if own++; first < 0 {
				first = i
			}
		}
	}
	if own >= deliveriesOfOne {
		n.saved.Deliveries = slices.Delete(n.saved.Deliveries, first, first+1)
	}
	if len(n.saved.Deliveries) >= maxDeliveries {
		n.saved.Deliveries = n.saved.Deliveries[1:]
	}
}
