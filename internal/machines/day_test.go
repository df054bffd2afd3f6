package machines

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// A laptop is away for a day. Home says since when, and reads what it has; what the laptop wrote
// meanwhile comes when it is back, and no try was too late for that.
func TestALaptopThatWasAwayForADayIsBackAtOnce(t *testing.T) {
	var day atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(day.Load())) }
	p := newPairWith(t, HomeOptions{Logger: discard(), Now: now}, MemberOptions{Now: now})
	dir := t.TempDir()
	id, log := p.newLog(dir)
	p.hub.set([]state.Info{lineOf(id)})
	p.join(AllowRead)
	p.linesUntil(id)
	had := p.upTo(id, p.write(log, "before")).Log().Marks().Visible
	p.answerBy(unreached)
	left := p.until(func(m Machine) bool { return !m.Connected }).Since
	require.WithinDuration(t, now(), left, patience)

	day.Store(int64(24 * time.Hour))
	last := event.Seq(0)
	for i := range 500 {
		last = p.write(log, fmt.Sprint("while it is away ", i))
	}
	_, line, _ := p.home.Of(id)
	require.Equal(t, state.MachineAway, line.Machine.State)
	require.Equal(t, left, line.Machine.Since)
	c, err := p.home.Watch(id)
	require.NoError(t, err)
	require.NoError(t, c.Begun(t.Context()))
	lines, err := c.Log().ReadLines(t.Context(), 0, 1<<20)
	require.NoError(t, err)
	require.Equal(t, had, lines.Last)

	began := time.Now()
	p.answerBy(nil)
	back := p.until(func(m Machine) bool { return m.Connected })
	t.Logf("back after %s", time.Since(began))
	require.WithinDuration(t, left.Add(24*time.Hour), back.Since, patience)
	require.Empty(t, back.Problem)
	p.upTo(id, last)
	require.Equal(t, filesOf(t, filepath.Join(dir, "sessions", id)), filesOf(t, filepath.Join(p.dir, "copies", machineID, id)))
}
