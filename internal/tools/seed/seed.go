// Package seed gives tests the seed of what they draw: always the same in make
// test, so that a red run is red again, and another each time in a soak.
package seed

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// Of is the seed of a test: what ABIDE_SOAK_SEED says, else 1, or with ABIDE_SOAK
// set a random one. The test's log has it.
func Of(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1)
	if given := os.Getenv("ABIDE_SOAK_SEED"); given != "" {
		if _, err := fmt.Sscan(given, &seed); err != nil {
			t.Fatalf("ABIDE_SOAK_SEED: %v", err)
		}
	} else if os.Getenv("ABIDE_SOAK") != "" {
		seed = rand.Uint64()
	}
	t.Logf("ABIDE_SOAK_SEED=%d", seed)
	return seed
}

// FixRapid has rapid draw from seed 1, without ABIDE_SOAK and RAPID_SEED. A
// TestMain calls it; rapid itself prints its seed where a test fails.
func FixRapid() {
	flag.Parse()
	if os.Getenv("ABIDE_SOAK") == "" && os.Getenv("RAPID_SEED") == "" {
		_ = flag.Set("rapid.seed", "1")
	}
}
