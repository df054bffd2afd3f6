package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/tools/seed"
	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Fprintln(os.Stderr, writerMain(dir))
		os.Exit(1)
	}
	seed.FixRapid()
	goleak.VerifyTestMain(m)
}

var _ observer.Source = (*store.Log)(nil)

// patience is the time limit for something that should happen at once.
const patience = time.Minute

// open opens a store that is closed at the end of the test.
func open(t testing.TB, dir string, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// create makes a session in s.
func create(t testing.TB, s *store.Store) *store.Log {
	t.Helper()
	l, err := s.Create(context.Background(), event.SessionStart{Agent: "demo", Workspace: "/w"})
	require.NoError(t, err)
	return l
}

// message returns one streamed draft.
func message(text string) event.Draft {
	data, err := json.Marshal(event.AgentMessage{MessageID: "m1", Text: event.Text(text)})
	if err != nil {
		panic(err)
	}
	return event.Draft{Type: event.TypeAgentMessage, Turn: 1, Data: data}
}

func prompt(id string) event.Draft {
	d, err := event.NewDraft(event.UserPrompt{PromptID: id, Text: "do"}, 1, time.Time{})
	if err != nil {
		panic(err)
	}
	return d
}

// appendN appends n messages one by one.
func appendN(t testing.TB, l *store.Log, n int) {
	t.Helper()
	for i := range n {
		_, _, err := l.Append(context.Background(), message(fmt.Sprintf("text %d", i)))
		require.NoError(t, err)
	}
}

// readAll reads the whole log through ReadAfter.
func readAll(t testing.TB, l *store.Log) []event.Event {
	t.Helper()
	var all []event.Event
	for cursor := event.Seq(0); ; {
		b, err := l.ReadAfter(context.Background(), cursor, 64<<10)
		require.NoError(t, err)
		if b.Empty() {
			return all
		}
		require.Equal(t, cursor+1, b.First)
		events, err := b.Events()
		require.NoError(t, err)
		require.Len(t, events, b.Count)
		require.Equal(t, b.Last, events[len(events)-1].Seq)
		all = append(all, events...)
		cursor = b.Last
	}
}

// requireGapless checks that events are numbered from 1 without gaps.
func requireGapless(t testing.TB, events []event.Event) {
	t.Helper()
	for i, e := range events {
		require.Equal(t, event.Seq(i+1), e.Seq)
	}
}

func TestASessionSurvivesACleanRestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	l := create(t, s)
	appendN(t, l, 100)
	before := readAll(t, l)
	require.NoError(t, s.Close())

	s = open(t, dir, store.Options{})
	again, err := s.Log(context.Background(), l.ID())
	require.NoError(t, err)
	require.Equal(t, before, readAll(t, again))
	requireGapless(t, before)
	require.Equal(t, l.Epoch(), again.Epoch())
	require.Equal(t, journal.Marks{Min: 1, Visible: 101, Written: 101, Synced: 101}, again.Marks())
	first, last, err := again.Append(context.Background(), message("a"), message("b"))
	require.NoError(t, err)
	require.Equal(t, []event.Seq{102, 103}, []event.Seq{first, last})
}

func TestLinesLookAsDocumented(t *testing.T) {
	s := open(t, t.TempDir(), store.Options{Now: func() time.Time { return time.Date(2026, 2, 21, 14, 3, 7, 123456789, time.UTC) }})
	l := create(t, s)
	_, _, err := l.Append(context.Background(), message("hi"))
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(s.Dir(), "sessions", l.ID(), "events.jsonl"))
	require.NoError(t, err)
	lines := strings.Split(string(data), "\n")
	require.Regexp(t, `^\{"seq":2,"time":"2026-02-21T14:03:07\.123456Z","type":"agent_message","turn":1,"data":\{"message_id":"m1","text":"hi"\},"crc":"[0-9a-f]{8}"\}$`, lines[1])
}
