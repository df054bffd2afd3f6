package notify

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/internal/jsonfile"
	"github.com/abidehub/abide/session/event"
)

const (
	fileName = "push.json"
	// keptOutcomes is how many past outcomes are kept for the settings.
	keptOutcomes = 100
)

// wants reports whether the choice includes a note.
func wants(c Choice, note Note) bool {
	return (c.Events == nil || slices.Contains(c.Events, note.Kind)) && !slices.Contains(c.Muted, note.SessionID)
}

// shown returns the choice for display: all events by name if none are selected.
func shown(c Choice) Choice {
	if c.Events == nil {
		c.Events = Kinds()
	}
	return c
}

// checkChoice reports the invalid parts of a choice.
func checkChoice(c Choice) error {
	if len(c.Events) > len(Kinds()) {
		return fmt.Errorf("%w: events names some of them twice", ErrInvalid)
	}
	for _, k := range c.Events {
		if !slices.Contains(Kinds(), k) {
			return fmt.Errorf("%w: %q is not one of the events %v", ErrInvalid, k, Kinds())
		}
	}
	if len(c.Muted) > mostMuted || slices.ContainsFunc(c.Muted, func(id string) bool { return len(id) > longestID }) {
		return fmt.Errorf("%w: at most %d sessions can be muted, each by its id", ErrInvalid, mostMuted)
	}
	if c.Quiet != nil {
		return checkQuiet(*c.Quiet)
	}
	return nil
}

func checkQuiet(q Quiet) error {
	_, from := time.Parse("15:04", q.From)
	_, to := time.Parse("15:04", q.To)
	_, zone := time.LoadLocation(q.Zone)
	if len(q.Zone) > longestID {
		zone = ErrInvalid
	}
	if from != nil || to != nil || zone != nil {
		return fmt.Errorf("%w: quiet hours are two times such as 22:00 and 07:00, and a time zone such as Europe/Vienna", ErrInvalid)
	}
	return nil
}

// quietUntil returns when the quiet hours around now end; zero if now is outside of
// them.
func quietUntil(q *Quiet, now time.Time) time.Time {
	if q == nil || q.From == q.To || checkQuiet(*q) != nil {
		return time.Time{}
	}
	zone := time.Local
	if q.Zone != "" {
		zone, _ = time.LoadLocation(q.Zone)
	}
	now = now.In(zone)
	at := func(clock string, day int) time.Time {
		t, _ := time.Parse("15:04", clock)
		return time.Date(now.Year(), now.Month(), now.Day()+day, t.Hour(), t.Minute(), 0, 0, zone)
	}
	for _, day := range []int{-1, 0} {
		from, to := at(q.From, day), at(q.To, day)
		if !to.After(from) {
			to = at(q.To, day+1)
		}
		if !now.Before(from) && now.Before(to) {
			return to
		}
	}
	return time.Time{}
}

// subscription is a browser's push subscription.
type subscription struct {
	ID        string    `json:"id"`
	Device    string    `json:"device"`      // of the credential that made it
	Kind      string    `json:"device_kind"` // device or token
	Endpoint  string    `json:"endpoint"`
	P256dh    string    `json:"p256dh"`
	Auth      string    `json:"auth"`
	CreatedAt time.Time `json:"created_at"`
	Choice    Choice    `json:"choice"`
}

// delivery is a message on its way to one target.
type delivery struct {
	ID      string    `json:"id"`
	Target  string    `json:"target"`
	Note    Note      `json:"note"`
	Kind    Kind      `json:"kind"` // the note's, Withdrawn or Test
	Attempt int       `json:"attempt"`
	Due     time.Time `json:"due"`
	// Unless is a device: if one of its screens has shown the event by Due, the
	// message is not sent.
	Unless string `json:"unless,omitempty"`
	// Each is one of several messages of a session: none replaces it.
	Each bool `json:"each,omitempty"`
}

// told is the message that a session has at its targets.
type told struct {
	Kind         Kind      `json:"kind"`
	Seq          event.Seq `json:"seq"`
	PermissionID string    `json:"permission_id,omitempty"`
	Targets      []string  `json:"targets"`
}

// record is push.json.
type record struct {
	Format        int               `json:"format"`
	PublicKey     string            `json:"public_key,omitempty"`
	PrivateKey    string            `json:"private_key,omitempty"`
	Subscriptions []subscription    `json:"subscriptions"`
	Channels      map[string]Choice `json:"channels,omitempty"` // chosen in the app, by name
	Deliveries    []delivery        `json:"deliveries"`
	Told          map[string]told   `json:"told"` // by session
	Outcomes      []Outcome         `json:"outcomes"`
}

// recordFile is push.json. Without it the hub would lose each device's keys, so a
// person decides.
func recordFile(dir string) jsonfile.File[record] {
	path := filepath.Join(dir, fileName)
	return jsonfile.File[record]{
		Files: disk.Folder{Dir: dir}, Name: fileName, Damage: jsonfile.Refuse,
		Check:  func(r record) error { return jsonfile.Format(r.Format, 1) },
		Remedy: "remove " + path + " to start over; then each device has to turn notifications on again",
	}
}

func readRecord(dir string) (record, error) {
	r, _, err := recordFile(dir).Read()
	r.Format = 1
	if r.Told == nil {
		r.Told = map[string]told{}
	}
	if r.Channels == nil {
		r.Channels = map[string]Choice{}
	}
	return r, err
}

// outcomesOf lists the latest outcomes of a target, newest first.
func (r *record) outcomesOf(name string) []Outcome {
	list := []Outcome{}
	for _, o := range slices.Backward(r.Outcomes) {
		if o.Target == name && len(list) < 10 {
			list = append(list, o)
		}
	}
	return list
}

// owns reports whether a subscription is one of the credential's.
func (r *record) owns(grant auth.Grant, id string) bool {
	return slices.ContainsFunc(r.Subscriptions, func(s subscription) bool { return s.ID == id && s.of(grant) })
}

// withdrawQueued removes the waiting messages about a session, which a newer one
// replaces.
func (r *record) withdrawQueued(sessionID string) {
	r.Deliveries = slices.DeleteFunc(r.Deliveries, func(d delivery) bool { return d.Note.SessionID == sessionID && !d.Each })
}

// noteTold records that a target may have a message about a session.
func (r *record) noteTold(d delivery) {
	is, ok := r.Told[d.Note.SessionID]
	if ok && d.Kind != Test && d.Kind != Withdrawn && !d.Each && !slices.Contains(is.Targets, d.Target) {
		is.Targets = append(slices.Clone(is.Targets), d.Target)
		r.Told[d.Note.SessionID] = is
	}
}

// drop removes a delivery.
func (r *record) drop(id string) {
	r.Deliveries = slices.DeleteFunc(r.Deliveries, func(d delivery) bool { return d.ID == id })
}

// save replaces push.json atomically. The caller holds the lock.
func (n *Notifier) save() error { return recordFile(n.dir).Write(n.saved) }

// keep saves and logs a failure: the change still takes effect, but a crash may
// lose it. The caller holds the lock.
func (n *Notifier) keep() {
	if err := n.save(); err != nil {
		n.logger.Warn("notifications could not be saved", "err", err)
	}
}
