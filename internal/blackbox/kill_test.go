package blackbox_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/tools/seed"
	"github.com/abidehub/abide/internal/tools/soak"
)

// TestNothingAnybodySawIsLostWhenTheHubIsKilled kills the hub at random moments,
// also during its start, while people prompt, answer and watch. It compares the log
// with the events and acknowledgements that the clients received.
func TestNothingAnybodySawIsLostWhenTheHubIsKilled(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
	var people []*person
	for n := range 2 {
		people = append(people, newPerson(h, n, h.hub, h.hub))
		people[n].act(random.Uint64(), 1, 0)
	}
	for n := range soak.Rounds(4, 200) {
		time.Sleep(100*time.Millisecond + time.Duration(random.Int64N(int64(2*time.Second)))) // a random moment
		h.kill()
		for _, p := range people {
			p.requireKept()
		}
		for again := n == 0; again || random.IntN(3) == 0; again = false {
			h.stumble(time.Duration(random.Int64N(int64(400 * time.Millisecond)))) // possibly during recovery
		}
		h.start()
	}
	for _, p := range people {
		p.hush()
	}
	for _, p := range people {
		p.finish()
	}
	requireGivenOnce(t, readRecord(t, record))
	interrupted := 0
	for _, p := range people {
		interrupted += p.requireSettled()
	}
	require.Positive(t, interrupted, "no kill interrupted a turn")
}
