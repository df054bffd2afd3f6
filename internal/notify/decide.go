package notify

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// apply creates the deliveries for an event.
func (n *Notifier) apply(b subject, what found) {
	if n.quiet() { // what was told is settled none the less
		what.next = nil
		if what.note != nil {
			return
		}
	}
	defer n.kick.Ring()
	n.mu.Lock()
	defer n.mu.Unlock()
	if note := what.note; note != nil && note.Kind == Job {
		n.tellWebhooks(b, *note)
		if what.quiet {
			return
		}
	}
	if what.note != nil {
		n.saved.withdrawQueued(what.note.SessionID)
		n.tell(b, *what.note)
		return
	}
	is, told := n.saved.Told[b.ID()]
	n.settle(b.ID(), what)
	if told && what.next != nil && what.settles(is.Kind, is.PermissionID) {
		n.tell(b, *what.next) // the request that the answered one had replaced
	}
}

// tell creates deliveries of a note. The caller holds the lock.
func (n *Notifier) tell(b subject, note Note) {
	earlier := n.saved.Told[note.SessionID]
	now := told{Kind: note.Kind, Seq: note.Seq, PermissionID: note.PermissionID, Targets: earlier.Targets}
	for _, t := range n.targets() {
		if !wants(t.choice, note) || !n.mayRead(t, note.SessionID) || note.Kind == Job && t.channel.Type == Webhook {
			continue
		}
		due, unless := time.Now(), ""
		if t.device != "" {
			if shown, visible := onScreen(b, t.device, note); shown {
				continue
			} else if visible {
				due, unless = due.Add(n.timing.Ack), t.device
			}
		}
		n.queue(delivery{ID: randomID(), Target: t.id, Note: note, Kind: note.Kind, Due: due, Unless: unless})
	}
	n.saved.Told[note.SessionID] = now
	n.keep()
}

// tellWebhooks creates the deliveries of a job's status, each of which counts. The caller
// holds the lock.
func (n *Notifier) tellWebhooks(b subject, note Note) {
	for _, t := range n.targets() {
		if t.channel.Type == Webhook && wants(t.choice, note) && n.mayRead(t, note.SessionID) {
			n.queue(delivery{ID: randomID(), Target: t.id, Note: note, Kind: Job, Due: time.Now(), Each: true})
		}
	}
	n.keep()
}

// settle withdraws a message if it was sent. The caller holds the lock.
func (n *Notifier) settle(sessionID string, what found) {
	if what.permission != "" {
		n.tokens.drop(func(t answerToken) bool { return t.sessionID == sessionID && t.permissionID == what.permission })
	}
	n.saved.Deliveries = slices.DeleteFunc(n.saved.Deliveries, func(d delivery) bool {
		return d.Note.SessionID == sessionID && d.Kind != Withdrawn && !d.Each && what.settles(d.Kind, d.Note.PermissionID)
	})
	is, ok := n.saved.Told[sessionID]
	if !ok || !what.settles(is.Kind, is.PermissionID) {
		return
	}
	delete(n.saved.Told, sessionID)
	note := Note{SessionID: sessionID, Kind: is.Kind, Seq: is.Seq, PermissionID: is.PermissionID, Body: endedWords(is.Kind, what.by)}
	if what.restarted {
		note.Body = "The hub restarted."
	}
	for _, t := range n.targets() {
		if slices.Contains(is.Targets, t.id) && t.withdraws {
			n.queue(delivery{ID: randomID(), Target: t.id, Note: note, Kind: Withdrawn, Due: time.Now()})
		}
	}
	n.keep()
}

// endedWords is the text of a message that is withdrawn. by is who ended it, if it is known.
func endedWords(kind Kind, by string) string {
	how := "Continued"
	if kind == Permission || kind == Form {
		how = "Answered"
	}
	if by == "" {
		return how + " elsewhere."
	}
	who, _ := fit(legible(by), maxTitle)
	return how + " by " + who + "."
}

// settles reports whether the finding settles a message of this kind.
func (f found) settles(kind Kind, permission string) bool {
	return slices.Contains(f.settled, kind) || f.permission != "" && f.permission == permission
}

// queue adds a delivery and removes those of the same session and target. The
// caller holds the lock.
func (n *Notifier) queue(d delivery) {
	n.saved.Deliveries = slices.DeleteFunc(n.saved.Deliveries, func(o delivery) bool {
		return o.Target == d.Target && o.Note.SessionID == d.Note.SessionID && d.Kind != Test && !o.Each && !d.Each
	})
	n.makeRoom(d)
	n.saved.Deliveries = append(n.saved.Deliveries, d)
}

// forget removes everything about a deleted session.
func (n *Notifier) forget(sessionID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if is, ok := n.saved.Told[sessionID]; ok {
		n.settle(sessionID, found{settled: []Kind{is.Kind}})
	}
}

// onScreen returns whether a screen of the device shows the session now (visible),
// and whether it has acknowledged the note's event (seen).
func onScreen(b subject, device string, note Note) (seen, visible bool) {
	for _, o := range b.Presences() {
		if o.Device == device && o.Activity != state.Away {
			visible = true
			seen = seen || o.Seq >= note.Seq
		}
	}
	return seen, visible
}

// mayRead reports whether the credential of a target may still read a session. The
// caller holds the lock.
func (n *Notifier) mayRead(t target, sessionID string) bool {
	if t.device == "" {
		return true
	}
	grant, err := n.registry.Grant(auth.Kind(t.deviceKind), t.device)
	return err == nil && grant.May(auth.Read, sessionID)
}

// revive checks the unsent messages of an earlier run: permission requests ended
// with the hub; other messages are sent if they still apply.
func (n *Notifier) revive(ctx context.Context) {
	n.mu.Lock()
	waiting, was := slices.Clone(n.saved.Deliveries), maps.Clone(n.saved.Told)
	n.mu.Unlock()
	stands := map[string]bool{}
	for _, d := range waiting {
		stands[d.ID] = d.Kind == Withdrawn || n.stands(ctx, d.Note)
	}
	for id, is := range was {
		stands[id] = !waits(is.Kind) || n.stands(ctx, Note{SessionID: id, Kind: is.Kind})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.saved.Deliveries = slices.DeleteFunc(n.saved.Deliveries, func(d delivery) bool {
		alive, known := stands[d.ID]
		return known && !alive
	})
	for id, is := range n.saved.Told {
		if !stands[id] {
			n.settle(id, found{permission: is.PermissionID, settled: []Kind{is.Kind}, restarted: true})
		}
	}
}

// stands reports whether a note about a session still applies.
func (n *Notifier) stands(ctx context.Context, note Note) bool {
	info, err := n.of.Info(ctx, note.SessionID)
	if err != nil {
		var known bool
		if info, known = n.line(note.SessionID); !known {
			return false
		}
	}
	switch note.Kind {
	case Permission, Form: // of a machine: one of this hub ended with it
		return err != nil && info.Status == state.StatusNeedsYou
	case Interrupted:
		return info.Status == state.StatusInterrupted || info.Status == state.StatusNeedsYou // for a choice
	case Job:
		return true
	case Failed, TurnOver:
		return info.Status != state.StatusRunning && info.Status != state.StatusNeedsYou
	}
	return false
}

// line is the line of a machine's session, if a machine has it.
func (n *Notifier) line(id string) (info list.Info, known bool) {
	if n.lines == nil {
		return info, false
	}
	return n.lines.Line(id)
}

// subjectOf is a session that is open here, or one of a machine. It is nil if there is none.
func (n *Notifier) subjectOf(id string) subject {
	if b := n.of.Opened(id); b != nil {
		return b
	}
	if _, known := n.line(id); known {
		return ofMachine{id, n.lines}
	}
	return nil
}
