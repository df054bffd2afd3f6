package blackbox_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// leaving puts a shell before the demo agent. Before it becomes that agent, it starts
// processes that no parent, process group, session or environment joins to it: one as it
// is, one that ignores signals and one that is stopped. Each writes its pid into dir.
func leaving(dir string) agent {
	const script = `for state in plain deaf stopped; do
	case $state in
	plain) do="exec sleep 1000" ;;
	deaf) do="trap '' TERM HUP INT; while :; do sleep 1000; done" ;;
	stopped) do='kill -STOP $$; exec sleep 1000' ;;
	esac
	env -i PATH="$PATH" setsid setsid -f sh -c "echo \$\$ >$0/tmp-$state; mv $0/tmp-$state $0/$state; $do" </dev/null >/dev/null 2>&1
done
echo $$ >"$0/tmp-agent"; mv "$0/tmp-agent" "$0/agent"
exec "$@"`
	return agent{Command: append([]string{"sh", "-c", script, dir}, demo().Command...)}
}

// left returns the pids that the shell of leaving and its processes wrote into dir.
func left(t *testing.T, dir string) map[string]int {
	t.Helper()
	pids := map[string]int{}
	require.Eventually(t, func() bool {
		for _, name := range []string{"agent", "plain", "deaf", "stopped"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return false
			}
			pids[name], err = strconv.Atoi(strings.TrimSpace(string(data)))
			require.NoError(t, err)
		}
		return letterOf(pids["stopped"]) == "T"
	}, patience, 10*time.Millisecond)
	for name, pid := range pids {
		require.False(t, zombie(pid), name)
		require.Equal(t, name == "agent", marksItself(t, pid), "%s: only the agent has the marker", name)
	}
	return pids
}

// letterOf returns the letter of a process's state.
func letterOf(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:min(1, len(rest))]
}

// marksItself reports whether a process has the marker of an agent in its environment.
func marksItself(t *testing.T, pid int) bool {
	t.Helper()
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	require.NoError(t, err)
	return strings.Contains(string(environ), "ABIDE_AGENT=")
}

// TestNothingThatAnAgentStartedOutlivesIt ends an agent in each way while another
// lives that is older and has started the same processes. Those of the first are gone once its exit is
// in the log, and those of the other live.
func TestNothingThatAnAgentStartedOutlivesIt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, h *hub, c *screen, session string, pid int){
		"stopped": func(t *testing.T, h *hub, _ *screen, session string, _ int) {
			_, err := h.hub.End(t.Context(), session, wire.EndSession{})
			require.NoError(t, err)
		},
		"crashed": func(_ *testing.T, _ *hub, c *screen, session string, _ int) { c.prompt(session, "p2", "/crash") },
		"killed": func(t *testing.T, _ *hub, _ *screen, _ string, pid int) {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := t.TempDir(), t.TempDir()
			h := newHub(t, settings{agents: map[string]agent{"first": leaving(first), "second": leaving(second)}})
			workedOnce(h, "second")
			c, session := workedOnce(h, "first")
			gone, others := left(t, first), left(t, second)

			end(t, h, c, session, gone["agent"])
			c.until("the agent's exit", func(events []event.Event, _ *wire.State) bool {
				return len(payloads[event.AgentExit](t, events)) == 1
			})
			for name, pid := range gone {
				require.True(t, zombie(pid), "%s outlives its agent", name)
			}
			for name, pid := range others {
				require.False(t, zombie(pid), "%s of the other agent was ended, too", name)
			}
			h.stop()
			for name, pid := range others {
				require.True(t, zombie(pid), "%s outlives the hub", name)
			}
		})
	}
}

// TestTheNextRunEndsWhatAKilledHubLeft kills the hub. Processes of its agent that have
// nothing in common with it live on until the next run.
func TestTheNextRunEndsWhatAKilledHubLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := newHub(t, settings{agents: map[string]agent{"demo": leaving(dir)}})
	workedOnce(h, "demo")
	pids := left(t, dir)
	h.kill()
	require.False(t, zombie(pids["plain"]), "it outlives the hub that was killed")
	h.start()
	for name, pid := range pids {
		require.True(t, zombie(pid), "%s outlives the start of the next run", name)
	}
}

// workedOnce creates a session and takes it through a turn.
func workedOnce(h *hub, agent string) (*screen, string) {
	h.t.Helper()
	session := h.create(agent)
	c := h.screen(agent, session, 0)
	c.prompt(session.SessionID, "p1", "/plan")
	require.Equal(h.t, event.StopEndTurn, c.untilTurnEnds("p1").StopReason)
	return c, session.SessionID
}
