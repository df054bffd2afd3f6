package session_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(demoRole) != "" {
		os.Exit(playDemo())
	}
	goleak.VerifyTestMain(m)
}
