package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// identity is what must never name two events.
type identity struct {
	session string
	epoch   string
	seq     event.Seq
}

// oracle remembers, outside the store, what it promised.
type oracle struct {
	created []string            // sessions whose creation was acknowledged
	acked   map[identity]string // appends that returned without an error: the text
	durable map[identity]bool   // those of them that said to be on the device
	seen    map[identity]string // what a reader was shown
}

func newOracle() *oracle {
	return &oracle{acked: map[identity]string{}, durable: map[identity]bool{}, seen: map[identity]string{}}
}

// look reads a log from the start, as an observer would, and remembers it. What
// was shown once must be shown again.
func (o *oracle) look(t *testing.T, l *store.Log) {
	t.Helper()
	for cursor := l.Marks().Min - 1; ; {
		b, err := l.ReadAfter(context.Background(), cursor, 1<<10)
		if err != nil || b.Empty() {
			return
		}
		events, err := b.Events()
		require.NoError(t, err)
		for _, e := range events {
			id := identity{l.ID(), l.Epoch(), e.Seq}
			text := shown(e)
			if before, ok := o.seen[id]; ok {
				require.Equal(t, before, text, "seq %d changed", e.Seq)
			}
			o.seen[id] = text
		}
		cursor = b.Last
	}
}

// shown is an event as text.
func shown(e event.Event) string {
	return fmt.Sprintf("%s %s %s", e.Type, e.Time.UTC().Format(event.TimeLayout), e.Data)
}

// workload does everything a store can do, and tells the oracle what it was
// promised. Errors are answered as a session answers them; it ends when the
// process is gone.
func workload(t *testing.T, s *store.Store, o *oracle) {
	ctx := context.Background()
	for round := range 2 {
		var l *store.Log
		for attempt := 0; l == nil; attempt++ {
			var err error
			l, err = s.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
			if errors.Is(err, errCrashed) || attempt > 20 {
				return
			}
		}
		o.created = append(o.created, l.ID())
		for i := range 12 {
			d := message(fmt.Sprintf("round %d text %d %s", round, i, strings.Repeat("x", 120)))
			if i%4 == 3 {
				d = prompt(fmt.Sprintf("p%d-%d", round, i))
			}
			if i == 6 && round == 0 {
				d = message(strings.Repeat("huge ", 60<<10))
			}
			if !o.append(t, l, d) {
				return
			}
			if i%5 == 2 {
				l.UpdateMetadata(func(m *store.Metadata) { m.LastLine = fmt.Sprint("line ", i) })
				_ = l.FlushMetadata(ctx) // if it fails, the keeper goes on trying
			}
			if i == 9 {
				_, _ = l.Retain(ctx, 1<<10)
			}
		}
	}
}

// append appends one draft, again and again where that is what the error asks
// for. It reports false once the process is gone.
func (o *oracle) append(t *testing.T, l *store.Log, d event.Draft) bool {
	t.Helper()
	for range 60 {
		first, last, err := l.Append(context.Background(), d)
		switch {
		case err == nil:
			require.Equal(t, first, last)
			id := identity{l.ID(), l.Epoch(), first}
			o.acked[id] = string(d.Data)
			o.durable[id] = d.Type.Durable()
			o.look(t, l)
			return true
		case errors.Is(err, errCrashed):
			return false
		case errors.Is(err, store.ErrFrozen):
			o.look(t, l) // what is visible stays visible
			if errors.Is(l.Reopen(context.Background()), errCrashed) {
				return false
			}
		}
	}
	t.Error("the log did not heal")
	return false
}

// verify opens what is left and compares. After a power cut, what was streamed
// may be gone, but then its identity is gone with it.
func (o *oracle) verify(t *testing.T, fsys store.FS, boot string, powerCut bool) {
	t.Helper()
	ctx := context.Background()
	s, err := store.Open("/data", store.Options{FS: fsys, BootID: boot, SegmentBytes: 1500})
	require.NoError(t, err)
	for _, id := range o.created {
		l, err := s.Log(ctx, id)
		require.NoError(t, err)
		now := map[event.Seq]event.Event{}
		epochs := map[event.Seq]string{}
		epoch := ""
		minSeq := l.Marks().Min
		for cursor := minSeq - 1; ; {
			b, err := l.ReadAfter(ctx, cursor, 1<<20)
			require.NoError(t, err)
			if b.Empty() {
				break
			}
			events, err := b.Events()
			require.NoError(t, err)
			for _, e := range events {
				p, err := e.Payload()
				require.NoError(t, err)
				switch p := p.(type) {
				case event.SessionStart:
					epoch = p.Epoch
				case event.SegmentStart:
					// It may stand behind lines of its own file: see Reopen.
					for seq := range epochs {
						if epoch == "" {
							epochs[seq] = p.Epoch
						}
					}
					epoch = p.Epoch
				case event.Epoch:
					epoch = p.Epoch
				}
				now[e.Seq], epochs[e.Seq] = e, epoch
			}
			cursor = b.Last
		}
		require.Equal(t, epoch, l.Epoch())
		for id, text := range o.acked {
			if id.session != l.ID() || id.seq < minSeq {
				continue
			}
			e, ok := now[id.seq]
			same := ok && epochs[id.seq] == id.epoch && sameData(text, e.Data)
			if !powerCut || o.durable[id] {
				require.True(t, same, "seq %d was acknowledged as %.60s and is now %v %.60s", id.seq, text, e.Type, e.Data)
			} else if !same {
				require.NotEqual(t, id.epoch, l.Epoch(), "seq %d was lost and the epoch is the same", id.seq)
			}
		}
		for id, text := range o.seen {
			if id.session != l.ID() || id.seq < minSeq {
				continue
			}
			e, ok := now[id.seq]
			switch {
			case ok && epochs[id.seq] == id.epoch && e.Type != event.TypeCorrupt:
				require.Equal(t, text, shown(e), "seq %d names another event now", id.seq)
			case powerCut:
				require.NotEqual(t, id.epoch, l.Epoch(), "seq %d was seen and lost, and the epoch is the same", id.seq)
			default:
				t.Errorf("seq %d was seen and is lost", id.seq)
			}
		}
		first, _, err := l.Append(ctx, message("after"))
		require.NoError(t, err)
		require.NotContains(t, o.seen, identity{l.ID(), l.Epoch(), first})
	}
	require.NoError(t, s.Close())
	again, err := store.Open("/data", store.Options{FS: fsys, BootID: boot})
	require.NoError(t, err)
	report, err := again.Check(ctx, "")
	require.NoError(t, err)
	for _, p := range report.Problems {
		if !powerCut || p.Kind != store.ProblemHole && p.Kind != store.ProblemDamaged {
			t.Error(p)
		}
	}
	require.NoError(t, again.Close())
}

// sameData compares a draft with an event, whose large values are blobs by now.
func sameData(draft string, data json.RawMessage) bool {
	return draft == string(data) || len(draft) > 256<<10 && strings.Contains(string(data), `"sha256":"`)
}

// run opens a store on a fresh file system, does the workload under a fault, and
// returns what is left.
func underFault(t *testing.T, o *oracle, fault func(int, string, string) error) (*memFS, *faultFS) {
	t.Helper()
	disk := newMemFS()
	f := &faultFS{FS: disk, fault: fault}
	s, err := store.Open("/data", store.Options{FS: f, BootID: "boot-1", SegmentBytes: 1500})
	if err != nil {
		return disk, f
	}
	workload(t, s, o)
	_ = s.Close() // what a fault left behind is looked at from outside
	return disk, f
}

// everyCall runs test with a fault at the first call, the second, and so on,
// until the workload is over before it is reached. Only in a soak is it every
// one; else every seventh, from a start that differs from run to run.
func everyCall(t *testing.T, test func(t *testing.T, n int) (reached bool)) {
	t.Helper()
	first, step := 1+rand.IntN(7), 7
	if soak() {
		first, step = 1, 1
	}
	for n := first; ; n += step {
		reached := false
		ok := t.Run(fmt.Sprint(n), func(t *testing.T) { reached = test(t, n) })
		if !ok || !reached {
			require.Greater(t, n, 100, "the workload makes hundreds of calls")
			return
		}
	}
}

// soak reports whether the slow tests should take their time.
func soak() bool { return os.Getenv("ABIDE_SOAK") != "" }

func TestAKillAtTheNthCallLosesNothingThatWasShown(t *testing.T) {
	everyCall(t, func(t *testing.T, n int) bool {
		o := newOracle()
		disk, f := underFault(t, o, nth(n, errCrashed))
		defer dumpOnFailure(t, f)
		o.verify(t, disk.restart(), "boot-1", false)
		return f.count() >= n
	})
}

func TestAPowerCutAtTheNthCallLosesNothingThatWasAcknowledged(t *testing.T) {
	everyCall(t, func(t *testing.T, n int) bool {
		o := newOracle()
		disk, f := underFault(t, o, nth(n, errCrashed))
		defer dumpOnFailure(t, f)
		for seed := range uint64(4) {
			o.verify(t, disk.powerCut(rand.New(rand.NewPCG(uint64(n), seed))), "boot-2", true)
		}
		return f.count() >= n
	})
}

func TestAnErrorAtTheNthCallLosesNothing(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		t.Run(cause.Error(), func(t *testing.T) {
			everyCall(t, func(t *testing.T, n int) bool {
				o := newOracle()
				disk, f := underFault(t, o, nth(n, cause))
				defer dumpOnFailure(t, f)
				o.verify(t, disk.restart(), "boot-1", false)
				return f.count() >= n
			})
		})
	}
}

func TestFault14AFullDeviceFromTheNthCallHealsByItself(t *testing.T) {
	everyCall(t, func(t *testing.T, n int) bool {
		o := newOracle()
		disk, f := underFault(t, o, fullFrom(n, 15))
		defer dumpOnFailure(t, f)
		o.verify(t, disk.restart(), "boot-1", false)
		return f.count() >= n
	})
}

// dumpOnFailure prints the calls that led to a failure.
func dumpOnFailure(t *testing.T, f *faultFS) {
	if !t.Failed() {
		return
	}
	for _, line := range f.trace() {
		t.Log(line)
	}
}
