package wire

import "time"

// NotifyKind is the kind of a message.
type NotifyKind string

// Values lists the set. The last two cannot be chosen: withdrawn takes an earlier
// message back, and test is asked for in the settings.
func (NotifyKind) Values() []string {
	return []string{"permission", "form", "turn_over", "failed", "interrupted", "job", "withdrawn", "test"}
}

// NotifyChoice has the events that a browser or a channel is notified of.
type NotifyChoice struct {
	// Events are the selected kinds; null means all.
	Events []NotifyKind `json:"events"`
	// Muted are sessions without notifications, at most 1,000.
	Muted []string    `json:"muted,omitempty"`
	Quiet *QuietHours `json:"quiet,omitempty"`
}

// QuietHours are hours in which no message is sent. Messages that still apply are
// sent afterwards.
type QuietHours struct {
	// From and To are times of the day as HH:MM. The day may change between them.
	From string `json:"from"`
	To   string `json:"to"`
	// Zone is an IANA time zone; empty is the hub's.
	Zone string `json:"zone,omitempty"`
}

// Delivery is the outcome of a message to one browser or channel.
type Delivery struct {
	ID string `json:"id"`
	// Target is the subscription or the channel.
	Target    string     `json:"target"`
	Kind      NotifyKind `json:"kind"`
	SessionID string     `json:"session_id,omitempty"`
	At        time.Time  `json:"at"`
	Attempts  int        `json:"attempts"`
	// Outcome is delivered, failed or gone.
	Outcome string `json:"outcome"`
	// Detail is the reason if it was not delivered.
	Detail string `json:"detail,omitempty"`
}

// PushState has the data that a device needs to turn its notifications on, and its
// subscriptions.
type PushState struct {
	// PublicKey is the hub's VAPID key, the applicationServerKey of a subscription.
	PublicKey     string         `json:"public_key"`
	Subscriptions []Subscription `json:"subscriptions"`
}

// NewSubscription is a browser's push subscription and its choice.
type NewSubscription struct {
	Endpoint string   `json:"endpoint"`
	Keys     PushKeys `json:"keys"`
	NotifyChoice
}

// PushKeys are the keys of a browser's PushSubscription, in base64url.
type PushKeys struct {
	P256dh string `json:"p256dh"`
	Auth   string `json:"auth"`
}

// Subscription is a push subscription as its device sees it.
type Subscription struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	NotifyChoice
	// Outcomes are its latest deliveries, newest first.
	Outcomes []Delivery `json:"outcomes"`
}

// Made is the id of a new object.
type Made struct {
	ID string `json:"id"`
}

// Channel is a configured channel.
type Channel struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Host is the destination. The rest of its address may be a secret.
	Host string `json:"host"`
	NotifyChoice
	// Outcomes are its latest deliveries, newest first.
	Outcomes []Delivery `json:"outcomes"`
}

// Channels lists the configured channels.
type Channels struct {
	Channels []Channel `json:"channels"`
}

// NotifyCounts are the numbers of messages since the hub started.
type NotifyCounts struct {
	// Sent counts attempts; the others count by their outcomes.
	Sent      int64 `json:"sent"`
	Delivered int64 `json:"delivered"`
	Failed    int64 `json:"failed"`
	// Withdrawn counts messages that were withdrawn because they were settled
	// elsewhere.
	Withdrawn int64 `json:"withdrawn"`
}
