package store_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// sighting is an event as a reader received it.
type sighting struct {
	event event.Event
	text  string
	epoch string // the epoch at the time of writing; the log may have another now
}

// identity must never belong to two events.
type identity struct {
	session string
	epoch   string
	seq     event.Seq
}

// given is a session's data from people and from the session.
type given struct {
	name             string
	named            bool
	archived, pinned bool
	tags             string
	lastLine         string
}

func givenOf(m journal.Metadata) given {
	return given{m.Name, m.Named, m.Archived, m.Pinned, strings.Join(m.Tags, ","), m.LastLine}
}

// oracle records the promises of a store, outside of the store.
type oracle struct {
	t require.TestingT

	created []string            // sessions whose creation was acknowledged
	acked   map[identity]string // text of the appends that returned without an error
	durable map[identity]bool   // those that were acknowledged as synced
	seen    map[identity]sighting
	synced  map[identity]bool // events that the marks named as synced

	said    map[string][]given           // by session: the last flushed value, and all later ones
	kept    map[string]map[string]string // by session: the stored blobs by hash
	uploads map[string][]event.Attachment
	removes map[string]bool   // sessions whose oldest events may be gone
	deletes map[string]bool   // sessions that may be gone (false) or must be gone (true)
	stays   []string          // kinds of damage that the story leaves
	epochs  map[string]string // by session, as of the last look
	renews  bool              // a kill may change the epoch without a loss: see ADR 33
	// ruined is the first seq of a session whose line the story destroyed. The
	// event may be lost, with its identity.
	ruined map[string]event.Seq
	// taken selects the seqs of a session whose lines the story removed. Only a
	// placeholder may stand for them.
	taken map[string]func(event.Seq) bool
	// repair is what a person does before a session can be opened again.
	repair func(*memFS)
}

func newOracle(t require.TestingT) *oracle {
	return &oracle{
		t: t, acked: map[identity]string{}, durable: map[identity]bool{}, seen: map[identity]sighting{}, synced: map[identity]bool{},
		said: map[string][]given{}, kept: map[string]map[string]string{}, uploads: map[string][]event.Attachment{},
		removes: map[string]bool{}, deletes: map[string]bool{}, ruined: map[string]event.Seq{}, epochs: map[string]string{},
		taken: map[string]func(event.Seq) bool{},
	}
}

// clone returns a copy of the oracle for a branch of the story.
func (o *oracle) clone() *oracle {
	c := *o
	c.seen, c.synced, c.epochs = maps.Clone(o.seen), maps.Clone(o.synced), maps.Clone(o.epochs)
	return &c
}

// look reads a log from the start like an observer and records the events. An event
// that was shown once must be shown again.
func (o *oracle) look(l *store.Log) {
	synced := l.Marks().Synced
	events, _ := o.read(l) // as far as possible
	epochs, _ := epochsOf(events)
	o.epochs[l.ID()] = l.Epoch()
	for _, e := range events {
		id := identity{l.ID(), l.Epoch(), e.Seq}
		now := sighting{e, shown(e), cmp.Or(epochs[e.Seq], l.Epoch())}
		if before, ok := o.seen[id]; ok && !o.isTaken(id, e) && !o.isTaken(id, before.event) {
			require.Equal(o.t, before.text, now.text, "seq %d changed", e.Seq)
		}
		o.seen[id] = now
		o.synced[id] = o.synced[id] || e.Seq <= synced
	}
}

// read reads a log from its first event to its last.
func (o *oracle) read(l *store.Log) (all []event.Event, err error) {
	for cursor := l.Marks().Min - 1; ; {
		b, err := l.ReadAfter(context.Background(), cursor, 64<<10)
		if err != nil || b.Empty() {
			return all, err
		}
		require.Equal(o.t, cursor+1, b.First)
		events, err := b.Events()
		require.NoError(o.t, err)
		for _, e := range events {
			cursor++
			require.Equal(o.t, cursor, e.Seq, "a hole was shown")
		}
		all = append(all, events...)
	}
}

// epochsOf returns the epoch of each event, and the last epoch.
func epochsOf(events []event.Event) (of map[event.Seq]string, last string) {
	of = map[event.Seq]string{}
	for _, e := range events {
		p, err := e.Payload()
		if err != nil {
			continue
		}
		switch p := p.(type) {
		case event.SessionStart:
			last = p.Epoch
		case event.SegmentStart:
			// An epoch event may follow lines of its own file: see Reopen.
			for seq, epoch := range of {
				if epoch == "" {
					of[seq] = p.Epoch
				}
			}
			last = p.Epoch
		case event.Epoch:
			last = p.Epoch
		}
		of[e.Seq] = last
	}
	return of, last
}

// shown returns an event as text.
func shown(e event.Event) string {
	return fmt.Sprintf("%s %s %s", e.Type, e.Time.UTC().Format(event.TimeLayout), e.Data)
}

// verify opens the files that a fault left, and compares them with the promises.
// After a power cut, streamed events may be lost, but then the epoch must have
// changed.
func (o *oracle) verify(fsys *memFS, boot string, powerCut bool) {
	opts := store.Options{FS: fsys, BootID: boot, SegmentBytes: 1500}
	if o.repair != nil {
		o.repair(fsys)
	}
	s, err := store.Open("/data", opts)
	require.NoError(o.t, err)
	defer s.Close() // a second close, unless the test failed
	o.listed(s)
	logs := o.open(s)
	for _, l := range logs {
		o.compare(l, powerCut)
	}
	require.NoError(o.t, s.Close())
	repaired := fsys.files()

	s, err = store.Open("/data", opts)
	require.NoError(o.t, err)
	defer s.Close()
	logs = o.open(s)
	require.Equal(o.t, repaired, fsys.files(), "opening a second time changed something")
	for _, l := range logs {
		first, _, err := l.Append(context.Background(), message("after"))
		require.NoError(o.t, err)
		require.NotContains(o.t, o.seen, identity{l.ID(), l.Epoch(), first})
		require.Equal(o.t, journal.HealthOK, l.Health().State)
		o.look(l)
	}
	require.NoError(o.t, s.Close())
	o.check(fsys, boot, powerCut)
}

// open opens every session that must exist, and those that may.
func (o *oracle) open(s *store.Store) []*store.Log {
	var logs []*store.Log
	for _, id := range o.created {
		l, err := s.Log(context.Background(), id)
		if must, deleted := o.deletes[id]; deleted && (must || err != nil) {
			require.ErrorIs(o.t, err, journal.ErrNotFound)
			continue
		}
		require.NoError(o.t, err)
		logs = append(logs, l)
	}
	return logs
}

// listed requires that the list shows every session that must exist. A label that
// the metadata lost is in the file of labels.
func (o *oracle) listed(s *store.Store) {
	all := map[string]journal.Metadata{}
	for _, m := range s.List() {
		all[m.SessionID] = m
	}
	for _, id := range o.created {
		if _, deleted := o.deletes[id]; !deleted {
			require.Contains(o.t, all, id)
		}
	}
}

// compare compares one session with its promises.
func (o *oracle) compare(l *store.Log, powerCut bool) {
	now, epochs := o.readBack(l)
	minSeq := l.Marks().Min
	require.True(o.t, minSeq == 1 || o.removes[l.ID()], "events were removed without retention")
	for id, text := range o.acked {
		if id.session != l.ID() || id.seq < minSeq {
			continue
		}
		e, ok := now[id.seq]
		same := ok && o.hasEpoch(id, epochs, id.epoch) && o.sameData(l, text, e.Data)
		if ok && o.isTaken(id, e) {
			continue
		}
		if !o.mayLose(id, powerCut && !o.durable[id]) {
			require.True(o.t, same, "seq %d was acknowledged as %.60s and is now %v %.60s", id.seq, text, e.Type, e.Data)
		} else if !same {
			require.NotEqual(o.t, id.epoch, l.Epoch(), "seq %d was lost and the epoch is the same", id.seq)
		}
	}
	for id, was := range o.seen {
		if id.session != l.ID() || id.seq < minSeq {
			continue
		}
		e, ok := now[id.seq]
		switch {
		case ok && (o.isTaken(id, e) || o.isTaken(id, was.event)):
		case ok && o.hasEpoch(id, epochs, was.epoch) && (e.Type != event.TypeCorrupt || was.text == shown(e)):
			require.Equal(o.t, was.text, shown(e), "seq %d belongs to another event now", id.seq)
		case o.mayLose(id, powerCut && !o.synced[id]):
			require.NotEqual(o.t, id.epoch, l.Epoch(), "seq %d was seen and lost, and the epoch is the same", id.seq)
		case powerCut:
			require.Fail(o.t, "a synced event is lost", "seq %d", id.seq)
		default:
			require.Fail(o.t, "a visible event is lost", "seq %d", id.seq)
		}
	}
	if _, ruined := o.ruined[l.ID()]; o.epochs[l.ID()] != "" && !powerCut && !ruined && !o.renews {
		require.Equal(o.t, o.epochs[l.ID()], l.Epoch(), "the epoch changed without a loss")
	}
	if said := o.said[l.ID()]; said != nil {
		require.Contains(o.t, said, givenOf(l.Metadata()), "the metadata is neither the flushed value nor a later one")
	}
	o.compareBlobs(l)
}

// mayLose reports whether an event may be lost if the epoch changes: an unsynced
// event after a power cut, and an event whose line the story destroyed.
func (o *oracle) mayLose(id identity, unsynced bool) bool {
	first, ruined := o.ruined[id.session]
	return unsynced || ruined && id.seq >= first
}

// isTaken reports whether an event is a placeholder for a line that the story
// removed.
func (o *oracle) isTaken(id identity, e event.Event) bool {
	taken := o.taken[id.session]
	return taken != nil && taken(id.seq) && e.Type == event.TypeCorrupt
}

// hasEpoch reports whether the log shows that an event was written in the epoch. If
// the first line is lost, the epoch of the following events is unknown until the
// next line that names one.
func (o *oracle) hasEpoch(id identity, epochs map[event.Seq]string, epoch string) bool {
	return epochs[id.seq] == epoch || epochs[id.seq] == unsaid
}

// unsaid is the epoch of events whose epoch the log no longer shows.
const unsaid = "unsaid"

// forget sets the epoch of the events of a log to unsaid, after the story removed
// its first line.
func (o *oracle) forget(session string, events []event.Event, epochs map[event.Seq]string) {
	if taken := o.taken[session]; taken == nil || !taken(1) {
		return
	}
	for _, e := range events {
		switch e.Type {
		case event.TypeSessionStart, event.TypeSegmentStart, event.TypeEpoch:
			return
		}
		epochs[e.Seq] = unsaid
	}
}

// readBack reads the whole log. It returns each event and its epoch by seq.
func (o *oracle) readBack(l *store.Log) (now map[event.Seq]event.Event, epochs map[event.Seq]string) {
	events, err := o.read(l)
	require.NoError(o.t, err)
	epochs, last := epochsOf(events)
	require.Equal(o.t, last, l.Epoch())
	o.forget(l.ID(), events, epochs)
	now = map[event.Seq]event.Event{}
	for _, e := range events {
		_, err := e.Payload()
		require.NoError(o.t, err)
		now[e.Seq] = e
	}
	return now, epochs
}

func (o *oracle) compareBlobs(l *store.Log) {
	for sha, want := range o.kept[l.ID()] {
		blob, err := l.OpenBlob(sha)
		require.NoError(o.t, err)
		data, err := io.ReadAll(blob)
		require.NoError(o.t, err)
		require.NoError(o.t, blob.Close())
		require.Equal(o.t, want, string(data))
	}
	for _, want := range o.uploads[l.ID()] {
		got, err := l.Upload(want)
		require.NoError(o.t, err)
		require.Equal(o.t, want, got)
	}
}

// check requires that a check finds only the effects of a power cut.
func (o *oracle) check(fsys *memFS, boot string, powerCut bool) {
	s, err := store.Open("/data", store.Options{FS: fsys, BootID: boot})
	require.NoError(o.t, err)
	defer s.Close()
	report, err := s.Check(context.Background(), "")
	require.NoError(o.t, err)
	for _, p := range report.Problems {
		lost := p.Kind == store.ProblemHole || p.Kind == store.ProblemDamaged
		require.True(o.t, powerCut && lost || slices.Contains(o.stays, p.Kind), p)
	}
	require.NoError(o.t, s.Close())
}

// sameData compares a draft with an event, whose large values are stored as blobs.
func (o *oracle) sameData(l *store.Log, draft string, data json.RawMessage) bool {
	if draft == string(data) {
		return true
	}
	_, sha, moved := strings.Cut(string(data), `"sha256":"`)
	if !moved || len(draft) <= 256<<10 {
		return false
	}
	blob, err := l.OpenBlob(sha[:64])
	require.NoError(o.t, err)
	defer blob.Close()
	text, err := io.ReadAll(blob)
	require.NoError(o.t, err)
	return strings.Contains(draft, string(text))
}
