package playback_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/playback"
)

// tape is a log in memory that returns a few events at a time.
type tape struct {
	events []event.Event
	most   int
}

func (t *tape) Changed() <-chan struct{} { return nil }

func (t *tape) ReadAfter(_ context.Context, after event.Seq, _ int) (event.Batch, error) {
	list := t.events[min(int(after), len(t.events)):]
	list = list[:min(t.most, len(list))]
	if len(list) == 0 {
		return event.Batch{}, nil
	}
	data, err := json.Marshal(list)
	return event.Batch{First: after + 1, Last: after + event.Seq(len(list)), Count: len(list), JSON: data[1 : len(data)-1]}, err
}

// random returns a session of n events of all kinds. Its clock goes back at times.
func random(t *testing.T, r *rand.Rand, n int) *tape {
	t.Helper()
	data, err := os.ReadFile("../event/testdata/events.jsonl")
	require.NoError(t, err)
	var golden []event.Event
	for line := range strings.Lines(string(data)) {
		var e event.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		golden = append(golden, e)
	}
	at, turn := time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC), 0
	list := make([]event.Event, 0, n)
	for i := range n {
		e := golden[r.IntN(len(golden))]
		at = at.Add(time.Duration(r.IntN(4000)-500) * time.Millisecond)
		if e.Type == event.TypeUserPrompt {
			turn++
		}
		text := strings.NewReplacer(`"call_1"`, fmt.Sprintf(`"call_%d"`, r.IntN(8)), `"perm1"`, fmt.Sprintf(`"perm%d"`, r.IntN(4)),
			`"failed"`, []string{`"failed"`, `"in_progress"`}[r.IntN(2)]).Replace(string(e.Data))
		e.Seq, e.Time, e.Turn, e.Data = event.Seq(i+1), at, turn, json.RawMessage(text)
		list = append(list, e)
	}
	return &tape{list, 1 + r.IntN(200)}
}

// A player plays each event once and in order, from whatever position it came.
// frontend/test/player.test.ts checks the app's player with the same sessions.
func TestAPlayerGoesAnywhereAndPlaysOnFromThere(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		requirePlays(t, r, random(t, r, 600+r.IntN(900)), 20)
	}
	traces, err := filepath.Glob("../acp/testdata/traces/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, traces)
	for i, name := range traces {
		t.Run(filepath.Base(name), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 2))
			requirePlays(t, r, recorded(t, r, name, 520), 4)
		})
	}
}

func requirePlays(t *testing.T, r *rand.Rand, log *tape, steps int) {
	t.Helper()
	p := playback.NewPlayer(log, 1)
	require.NoError(t, p.Load(t.Context()))
	require.Equal(t, event.Seq(len(log.events)), p.Last())
	for range steps {
		walk(t, r, p, log)
		at, first, enough := p.Seq(), true, errors.New("enough")
		var latest time.Time
		for _, e := range log.events[:at] {
			if e.Time.After(latest) {
				latest = e.Time
			}
		}
		var waited time.Duration
		err := p.Play(t.Context(), playback.Pace{Wait: func(_ context.Context, _, gap time.Duration) error {
			waited = gap
			return nil
		}}, func(e event.Event) error {
			require.True(t, first, "played on after an error")
			first = false
			require.Equal(t, at+1, e.Seq)
			require.JSONEq(t, string(log.events[at].Data), string(e.Data))
			if !latest.IsZero() {
				require.Equal(t, max(0, e.Time.Sub(latest)), waited, "seq %d", e.Seq)
			}
			return enough
		})
		if at < p.Last() {
			require.ErrorIs(t, err, enough)
		} else {
			require.NoError(t, err)
		}
	}
}

// recorded repeats a recorded agent's output until it has at least n events.
func recorded(t *testing.T, r *rand.Rand, name string, n int) *tape {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	at, log := time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC), &tape{most: 1 + r.IntN(200)}
	turn, asked := 1, json.RawMessage(`{"prompt_id":"p","text":"Go on."}`)
	add := func(e event.Event) {
		at = at.Add(time.Duration(r.IntN(4000)-500) * time.Millisecond)
		e.Seq, e.Time, e.Turn = event.Seq(len(log.events)+1), at, turn
		log.events = append(log.events, e)
	}
	for len(log.events) < n {
		add(event.Event{Type: event.TypeUserPrompt, Data: asked})
		for line := range strings.Lines(string(data)) {
			var e event.Event
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			if len(log.events) > 50 && len(line) > 8<<10 {
				continue // the start events are long, and one copy is enough
			}
			if add(e); e.Type == event.TypeTurnEnd {
				turn++
				add(event.Event{Type: event.TypeUserPrompt, Data: asked})
			}
		}
	}
	return log
}

// walk takes a random step, seek or period of playing.
func walk(t *testing.T, r *rand.Rand, p *playback.Player, log *tape) {
	t.Helper()
	ctx := t.Context()
	switch r.IntN(6) {
	case 0:
		to := p.Seq() + 1
		if err := p.Seek(ctx, to); err != nil {
			require.ErrorIs(t, err, playback.ErrEnd)
		} else {
			require.Equal(t, to, p.Seq())
		}
	case 1:
		if err := p.Seek(ctx, p.Seq()-1); err != nil {
			require.ErrorIs(t, err, playback.ErrEnd)
		}
	case 2:
		require.NoError(t, p.Reset(ctx))
	case 3:
		want := log.events[r.IntN(len(log.events))]
		seq, err := p.SeqAt(ctx, want.Time)
		require.NoError(t, err)
		require.LessOrEqual(t, seq, want.Seq)
		require.False(t, log.events[seq-1].Time.Before(want.Time))
		for _, e := range log.events[:seq-1] {
			require.True(t, e.Time.Before(want.Time))
		}
		require.NoError(t, p.Seek(ctx, seq))
		require.Equal(t, seq, p.Seq())
	case 4:
		left := 1 + r.IntN(50)
		stop := fmt.Errorf("enough")
		before := p.Seq()
		err := p.Play(ctx, playback.Pace{Speed: 4, Wait: func(_ context.Context, pause, gap time.Duration) error {
			require.LessOrEqual(t, pause, 500*time.Millisecond)
			return nil
		}}, func(e event.Event) error {
			require.Equal(t, before+1, e.Seq)
			before = e.Seq
			if left--; left == 0 {
				return stop
			}
			return nil
		})
		if err != nil {
			require.ErrorIs(t, err, stop)
		}
		require.Equal(t, before, p.Seq())
	default:
		require.NoError(t, p.Seek(ctx, event.Seq(r.IntN(len(log.events)+1))))
	}
}

func TestAPlayerFollowsALiveSession(t *testing.T) {
	log := random(t, rand.New(rand.NewPCG(3, 3)), 500)
	all := log.events
	log.events = all[:100]
	p := playback.NewPlayer(log, 1)
	require.NoError(t, p.Load(t.Context()))
	require.ErrorIs(t, p.Seek(t.Context(), 101), playback.ErrEnd)
	log.events = all
	require.NoError(t, p.Load(t.Context()))
	require.NoError(t, p.Seek(t.Context(), 250))
}

// A player of a million events stays small and seeks to any event quickly.
func BenchmarkSeekInAMillionEvents(b *testing.B) {
	line := `{"seq":%d,"time":"2026-02-21T14:03:07.123456Z","type":"agent_message","turn":1,"data":{"message_id":"m%d","text":"a word or two"}}`
	p := playback.NewPlayer(generated(line), 1)
	if err := p.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		if err := p.Seek(b.Context(), event.Seq(1+r.IntN(1_000_000))); err != nil {
			b.Fatal(err)
		}
	}
}

type generated string

func (g generated) Changed() <-chan struct{} { return nil }

func (g generated) ReadAfter(_ context.Context, after event.Seq, maxBytes int) (event.Batch, error) {
	b := event.Batch{First: after + 1, Last: after}
	for len(b.JSON) < maxBytes && b.Last < 1_000_000 {
		if b.Count > 0 {
			b.JSON = append(b.JSON, ',')
		}
		b.Last++
		b.Count++
		b.JSON = fmt.Appendf(b.JSON, string(g), b.Last, b.Last/100)
	}
	return b, nil
}
