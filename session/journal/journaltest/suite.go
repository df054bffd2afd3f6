// Package journaltest has the promises of package journal as a suite. An implementation
// keeps the contract if it passes.
package journaltest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// T is what a promise needs of a *testing.T.
type T interface {
	require.TestingT
	Helper()
}

// Hub is one running hub with its journal.
type Hub struct {
	journal.Store
	// Close ends the hub cleanly.
	Close func() error
	// Kill ends the hub as kill -9 does.
	Kill func()
}

// Kind names bytes that a device can be too full for.
type Kind string

const (
	// Lines are events.
	Lines Kind = "lines"
	// Blobs are large values.
	Blobs Kind = "blobs"
	// Labels are names, pins and archive flags.
	Labels Kind = "labels"
)

// Subject is an empty journal under test.
type Subject struct {
	// Open starts a hub. No other is open, except after Second.
	Open func(T) Hub
	// Second starts a hub beside the one that is open. Nil if the implementation has one
	// hub at a time.
	Second func(T) Hub
	// Fill makes the device too full for the given kinds, and not for others.
	Fill func(...Kind)
}

// Promise is one promise of the contract.
type Promise struct {
	// Name is a sentence.
	Name string
	// Keep fails t if the subject breaks the promise.
	Keep func(T, Subject)
}

// Run runs every promise on a subject of its own.
func Run(t *testing.T, subject func(*testing.T) Subject) {
	for _, p := range Promises() {
		t.Run(p.Name, func(t *testing.T) { p.Keep(t, subject(t)) })
	}
}

// Promises lists the promises.
func Promises() []Promise {
	return []Promise{
		{"an append takes the next seqs, all or none", appends},
		{"an append at another next seq writes nothing", expects},
		{"of appends at the same next seq one is written", races},
		{"a newer lease fences the older", fences},
		{"a lease that another hub holds is refused", refusesLease},
		{"an event is written before it is seen", writesFirst},
		{"an acknowledged event outlives a kill", outlives},
		{"a blob is stored before the event that names it", blobFirst},
		{"a label is stored when Label returns", labelsFirst},
		{"flushed metadata outlives a kill", flushes},
		{"the numbers of the metadata belong to the journal", numbers},
		{"readers get every event once, in order", reads},
		{"a stored line is the event with its checksum", storedLines},
		{"a change closes the channel", rings},
		{"derived files may go at any time", derives},
		{"small files are replaced whole and fenced", keepsFiles},
		{"the list has the newest first and opens no log", lists},
		{"the stored lines are there without opening a log", lines},
		{"the sizes grow with what is stored", sizes},
		{"a deleted session stays deleted", deletes},
		{"a session in the trash is restored whole, or purged", trashes},
		{"an import keeps seqs, epoch and blobs", imports},
		{"equal bytes are one blob", blobsOnce},
		{"an upload is stale until the log names it", uploads},
		{"an id that is none finds nothing", ids},
		{"a log is what was appended to it", walks},
	}
}

func message(text string) event.Draft { return draft(event.TypeAgentMessage, "text", text) }

func prompt(text string) event.Draft { return draft(event.TypeUserPrompt, "prompt_id", text) }

func draft(kind event.Type, field, text string) event.Draft {
	return event.Draft{Type: kind, Turn: 1, Data: fmt.Appendf(nil, `{%q:%q}`, field, text)}
}

// large is a draft whose text becomes a blob.
func large(char string) event.Draft { return message(strings.Repeat(char, 300<<10)) }

// create makes a session.
func create(t T, h Hub) string {
	t.Helper()
	id, err := h.Create(context.Background(), event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	return id
}

// open takes the lease of a session and opens its log.
func open(t T, h Hub, id string) journal.Log {
	t.Helper()
	lease, err := h.Lease(context.Background(), id)
	require.NoError(t, err)
	l, err := lease.Log(context.Background())
	require.NoError(t, err)
	require.Equal(t, id, l.ID())
	return l
}

// fresh opens a new session of a new hub.
func fresh(t T, s Subject) (Hub, journal.Log) {
	t.Helper()
	h := s.Open(t)
	return h, open(t, h, create(t, h))
}

// killed kills the hub and opens the session in the next one.
func killed(t T, s Subject, h Hub, id string) (Hub, journal.Log) {
	t.Helper()
	h.Kill()
	h = s.Open(t)
	return h, open(t, h, id)
}

func put(t T, l journal.Log, drafts ...event.Draft) (first, last event.Seq) {
	t.Helper()
	first, last, err := l.Append(context.Background(), 0, drafts...)
	require.NoError(t, err)
	return first, last
}

// all reads a log from its beginning.
func all(t T, l journal.Log) []event.Event {
	t.Helper()
	var events []event.Event
	for after := l.Marks().Min - 1; ; {
		b, err := l.ReadAfter(context.Background(), after, 1<<10)
		require.NoError(t, err)
		if b.Empty() {
			return events
		}
		require.Equal(t, after+1, b.First, "a batch does not go on where the one before ended")
		part, err := b.Events()
		require.NoError(t, err)
		require.Len(t, part, b.Count)
		for _, e := range part {
			after++
			require.Equal(t, after, e.Seq, "a seq is missing, or twice there")
		}
		require.Equal(t, after, b.Last)
		events = append(events, part...)
	}
}

// texts are the data of a log's events that are not its own.
func texts(t T, l journal.Log) []string {
	t.Helper()
	var list []string
	for _, e := range all(t, l) {
		if e.Type == event.TypeAgentMessage || e.Type == event.TypeUserPrompt {
			list = append(list, string(e.Data))
		}
	}
	return list
}

func dataOf(drafts ...event.Draft) []string {
	list := []string{}
	for _, d := range drafts {
		list = append(list, string(d.Data))
	}
	return list
}
