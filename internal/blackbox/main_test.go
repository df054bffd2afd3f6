package blackbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// roleName is the environment variable that makes this test binary run as an agent.
// Its values are the keys of roles.
const roleName = "ABIDE_BLACKBOX_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleName); role != "" {
		os.Exit(play(role))
	}
	dir, err := os.MkdirTemp("", "abide-blackbox-")
	if err == nil {
		err = build(filepath.Join(dir, "abide"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv(binaryName, filepath.Join(dir, "abide"))
	// For the started programs: report races at once, without the default sleep of
	// a second at exit.
	os.Setenv("GORACE", "halt_on_error=0 atexit_sleep_ms=0")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// binaryName is the variable that names the program under test.
const binaryName = "ABIDE_BLACKBOX_BINARY"

// binary is the program under test, built with the race detector.
func binary() string { return os.Getenv(binaryName) }

func build(path string) error {
	cmd := exec.Command("go", "build", "-race", "-o", path, "../../cmd/abide")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program under test: %w\n%s", err, out)
	}
	return nil
}
