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
	before := slices.Clone(n.saved.Subscriptions)
	made := subscription{
		ID: randomID(), Device: grant.ID, Kind: string(grant.Kind), Endpoint: in.Endpoint, P256dh: in.Keys.P256dh, Auth: in.Keys.Auth,
		CreatedAt: time.Now().UTC(), Choice: in.NotifyChoice,
	}
	if i := slices.IndexFunc(before, func(s subscription) bool { return s.Endpoint == in.Endpoint }); i >= 0 {
		made.ID, made.CreatedAt = before[i].ID, before[i].CreatedAt
		n.saved.Subscriptions[i] = made
	} else if len(before) >= maxSubscriptions {
		return "", fmt.Errorf("%w: %d browsers take notifications, which is the most; turn them off on one", ErrInvalid, len(before))
	} else {
		n.saved.Subscriptions = append(before, made)
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
			list = append(list, wire.Subscription{ID: s.ID, CreatedAt: s.CreatedAt, NotifyChoice: shown(s.Choice), Outcomes: n.outcomesOf("push " + s.ID)})
		}
	}
	return list
}

func (s subscription) of(grant auth.Grant) bool {
	return s.Device == grant.ID && s.Kind == string(grant.Kind)
}

// outcomesOf lists the latest outcomes of a target, newest first. The caller holds
// the lock.
func (n *Notifier) outcomesOf(name string) []Outcome {
	list := []Outcome{}
	for _, o := range slices.Backward(n.saved.Outcomes) {
		if o.Target == name && len(list) < 10 {
			list = append(list, o)
		}
	}
	return list
}

// Unsubscribe removes a subscription of a credential.
func (n *Notifier) Unsubscribe(grant auth.Grant, id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.owns(grant, id) {
		return fmt.Errorf("%w: subscription %q", ErrNotFound, id)
	}
	n.removeSubscription(id)
	return n.save()
}

// owns reports whether a subscription is one of the credential's. The lock is held.
func (n *Notifier) owns(grant auth.Grant, id string) bool {
	return slices.ContainsFunc(n.saved.Subscriptions, func(s subscription) bool { return s.ID == id && s.of(grant) })
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
	if !n.owns(grant, id) {
		return fmt.Errorf("%w: subscription %q", ErrNotFound, id)
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
