package acp_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/demoagent"
)

// roleName is the variable that makes the test binary an agent, or another
// process a test needs.
const roleName = "ACP_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleName); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m)
}

// play is what the test binary does as that role.
func play(role string) int {
	if role == "demo" {
		if err := demoagent.Run(context.Background(), os.Stdin, os.Stdout, demoagent.Options{StateDir: os.Getenv("ACP_TEST_STATE")}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	run, ok := roles()[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such role:", role)
		return 2
	}
	return run(newFake())
}
