package blackbox_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// network is the fault proxy, a process between clients and a hub. It is safe for
// concurrent use.
type network struct {
	t    *testing.T
	addr string

	mu       sync.Mutex
	commands io.Writer
	answers  *bufio.Reader
}

// newNetwork starts a proxy without an upstream.
func newNetwork(t *testing.T) *network {
	t.Helper()
	program := filepath.Join(t.TempDir(), "faultproxy")
	buildProgram(t, program, "../tools/faultproxy")
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	commands, err := cmd.StdinPipe()
	require.NoError(t, err)
	answers, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		commands.Close()
		require.NoError(t, cmd.Wait(), "the fault proxy")
	})
	n := &network{t: t, commands: commands, answers: bufio.NewReader(answers)}
	addr, err := n.answers.ReadString('\n')
	require.NoError(t, err)
	n.addr = strings.TrimSpace(addr)
	return n
}

// tell sends commands in order and returns the first error.
func (n *network) tell(commands ...string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, command := range commands {
		if _, err := fmt.Fprintln(n.commands, command); err != nil {
			return fmt.Errorf("tell the fault proxy %q: %w", command, err)
		}
		answer, err := n.answers.ReadString('\n')
		if err != nil {
			return fmt.Errorf("hear the fault proxy on %q: %w", command, err)
		}
		if !strings.HasPrefix(answer, "ok") {
			return fmt.Errorf("the fault proxy on %q: %s", command, answer)
		}
	}
	return nil
}
