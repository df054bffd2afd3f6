// Package soak divides the tests between make test, which has a proof of each
// promise, and make soak, which repeats them more often and in more ways.
package soak

import (
	"os"
	"testing"
)

// On reports whether make soak runs the test: whether ABIDE_SOAK is set.
func On() bool { return os.Getenv("ABIDE_SOAK") != "" }

// Only leaves the test to make soak. why names the proof that make test has
// instead, or what the test needs. make test prints how many tests call it.
func Only(t testing.TB, why string) {
	t.Helper()
	if !On() {
		t.Skip("left to make soak: " + why)
	}
}

// Rounds is how often a test repeats: few in make test, many in make soak.
func Rounds(few, many int) int {
	if On() {
		return many
	}
	return few
}
