package client_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/tools/seed"
)

// TestMain starts a hub with the demo agent for the examples. They find it in ABIDE_HUB and
// ABIDE_TOKEN, as a script of a person would.
func TestMain(m *testing.M) {
	seed.FixRapid()
	stop, err := startHub()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		stop()
		os.Exit(code)
	}))
}

func startHub() (stop func(), err error) {
	root, err := os.MkdirTemp("", "abide-client-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(root)
		}
	}()
	program, data, workspace := filepath.Join(root, "abide"), filepath.Join(root, "data"), filepath.Join(root, "workspace")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/abide").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build abide: %w\n%s", err, out)
	}
	if err := os.Mkdir(workspace, 0o700); err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"open": false, "workspaces": []string{workspace},
		"agents": map[string]any{"demo": map[string]any{"command": []string{program, "demo-agent", "--speed", "0"}}},
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(root, "config.yaml"), config, 0o600); err != nil { // JSON is YAML
		return nil, err
	}
	hub := exec.Command(program, "serve", "--addr", "127.0.0.1:0", "--data", data, "--config", filepath.Join(root, "config.yaml"))
	out, err := hub.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := hub.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = hub.Process.Signal(os.Interrupt)
		_ = hub.Wait()
		os.RemoveAll(root)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		var token []byte
		token, err = exec.Command(program, "token", "--data", data).Output()
		os.Setenv("ABIDE_TOKEN", strings.TrimSpace(string(token)))
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("start a hub: %w", err)
	}
	os.Setenv("ABIDE_HUB", strings.TrimSpace(strings.TrimPrefix(line, "listening on ")))
	os.Setenv("PROJECT", workspace)
	return stop, nil
}
