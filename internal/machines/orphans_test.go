package machines

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/state"
)

// A copy whose session or machine is gone, which home did not learn, is removed: the session's
// once the machine's whole list came, the machine's at the start.
func TestCopiesOfWhatIsGoneAreRemoved(t *testing.T) {
	p := newPair(t)
	id, log := p.newLog(t.TempDir())
	stored := func(machine, name string) string { return filepath.Join(p.dir, "copies", machine, name) }
	const ghost, stranger = "20261129-000000-000000fe", "ffffffffffffffff"
	left := []string{stored(machineID, ghost), stored(stranger, ghost), stored("not-a-machine", ghost), stored(machineID, "NOT-A-SESSION")}
	gone := func(dir string) {
		require.Eventually(t, func() bool {
			_, err := os.Stat(dir)
			return os.IsNotExist(err)
		}, patience, time.Millisecond)
	}
	p.hub.set([]state.Info{lineOf(id)})
	p.join(AllowRead)
	p.linesUntil(id)
	p.home.mu.Lock()
	l := p.home.links[machineID]
	p.home.mu.Unlock()
	l.listing.Lock() // until its list is done with
	anew := l.anew
	l.listing.Unlock()
	require.False(t, anew)
	for _, dir := range left {
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte("x"), 0o600))
	}
	p.home.Configure(Keep{})
	gone(stored(stranger, ""))
	p.upTo(id, p.write(log, "one"))
	require.DirExists(t, left[0])
	l.end() // it sends its whole list again
	gone(left[0])
	require.DirExists(t, stored(machineID, id))
	require.DirExists(t, left[2])
	require.DirExists(t, left[3])
}
