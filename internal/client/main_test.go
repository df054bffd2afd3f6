package client_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/tools/seed"
)

func TestMain(m *testing.M) {
	seed.FixRapid()
	goleak.VerifyTestMain(m)
}
