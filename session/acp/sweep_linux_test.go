package acp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// carrying returns the live processes whose marker has the prefix.
func carrying(t *testing.T, prefix string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(env, []byte("ABIDE_AGENT="+prefix)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive reports whether the process runs. A zombie does not run.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " Z")
}

func TestFault42GrandchildInItsOwnSessionIsSweptWithItsAgent(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "parent"), s)
	require.NoError(t, a.Prompt(prompt("p", "hello")))
	ended(t, s, "p")
	pid, err := strconv.Atoi(message(s))
	require.NoError(t, err)
	require.True(t, alive(pid))
	require.NoError(t, a.Stop(context.Background()))
	require.NoFileExists(t, fmt.Sprintf("/proc/%d/stat", pid), "Stop returned before every process was gone and reaped")
}

// hidden makes an agent start hidden processes and returns their pids.
func hidden(t *testing.T, a *acp.Agent, s *sink, how string) []int {
	t.Helper()
	turnOf(t, a, s, how)
	var pids []int
	for _, word := range strings.Fields(message(s)) {
		pid, err := strconv.Atoi(word)
		require.NoError(t, err)
		require.True(t, alive(pid))
		require.NotContains(t, carrying(t, ""), pid, "it has no marker")
		pids = append(pids, pid)
	}
	require.Len(t, pids, 2)
	return pids
}

func TestAProcessWithoutMarkerOutsideTheGroupEndsWithItsAgent(t *testing.T) {
	for _, how := range []string{"a child", "an orphan"} {
		t.Run(how, func(t *testing.T) {
			s := newSink()
			a := start(t, config(t, "hider"), s)
			pids := hidden(t, a, s, how)
			require.NoError(t, a.Stop(context.Background()))
			for _, pid := range pids {
				require.False(t, alive(pid))
			}
		})
	}
}

func TestAnOrphanThatHidItsMarkerGoesAlsoWhenItsAgentWasKilled(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "hider"), s)
	pids := hidden(t, a, s, "a child")
	endProcess(t, strconv.Itoa(a.PID()))
	<-a.Done()
	for _, pid := range pids {
		require.False(t, alive(pid))
	}
}

func TestAProcessThatHidItsMarkerGoesWithItsAgentThoughOlderOnesLive(t *testing.T) {
	other := newSink()
	older := start(t, beside(config(t, "hider")), other)
	kept := hidden(t, older, other, "an orphan")
	for _, how := range []string{"a child", "an orphan"} {
		s := newSink()
		a := start(t, config(t, "hider"), s)
		pids := hidden(t, a, s, how)
		require.NoError(t, a.Stop(context.Background()))
		for _, pid := range pids {
			require.False(t, alive(pid), how)
		}
	}
	for _, pid := range kept {
		require.True(t, alive(pid), "a process of the other agent")
	}
	require.NoError(t, older.Stop(context.Background()))
	for _, pid := range kept {
		require.False(t, alive(pid))
	}
}

func TestTheHubsOwnProcessesOutliveTheAgents(t *testing.T) {
	a := start(t, config(t, "demo"), newSink())
	var started []*exec.Cmd
	for _, cmd := range []*exec.Cmd{
		child("sleeper", nil, nil),
		child("sleeper", []string{acp.NotAnAgents()}, &syscall.SysProcAttr{Setsid: true}),
	} {
		require.NoError(t, cmd.Start())
		started = append(started, cmd)
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	}
	require.NoError(t, a.Stop(context.Background()))
	for _, cmd := range started {
		require.True(t, alive(cmd.Process.Pid))
	}
}

func TestFault48StdoutOfAnExitedAgentIsNotWaitedForWhenAnotherProcessHoldsIt(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "demo"), s)
	held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", a.PID()), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer held.Close()
	require.NoError(t, a.Prompt(prompt("p", "/exit-after")))
	ended(t, s, "p")
	select {
	case <-a.Done():
	case <-time.After(waitFor):
		require.Fail(t, "the stream never ended")
	}
}

func TestKilledHubLeavesNoAgentBehindOnceTheNextRunHasSwept(t *testing.T) {
	for _, role := range []string{"parent", "stubborn"} {
		hub := fmt.Sprintf("sweep%s%d", role, os.Getpid())
		cmd := child("hub", append(os.Environ(), "ACP_TEST_HUB="+hub, "ACP_TEST_CHILD="+role), nil)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "working\n", line)
		require.NotEmpty(t, carrying(t, hub+".1."))

		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		if role == "parent" {
			require.NotEmpty(t, carrying(t, hub+".1."), "the grandchild outlives the hub")
		}
		other, err := acp.Sweep(context.Background(), hub, "1")
		require.NoError(t, err)
		require.Zero(t, other, "a process of the current run was swept")
		ended, err := acp.Sweep(context.Background(), hub, "2")
		require.NoError(t, err)
		if role == "parent" {
			require.Positive(t, ended)
		}
		require.Empty(t, carrying(t, hub+"."))
	}
}

func TestSweepLeavesOtherHubsAlone(t *testing.T) {
	s := newSink()
	cfg := config(t, "demo")
	a := start(t, cfg, s)
	for _, hub := range []string{"another", cfg.HubID[:len(cfg.HubID)-1], ""} {
		ended, err := acp.Sweep(context.Background(), hub, "2")
		require.NoError(t, err)
		require.Zero(t, ended)
	}
	require.NoError(t, a.Prompt(prompt("p", "/markdown")))
	require.Equal(t, event.StopEndTurn, ended(t, s, "p").StopReason)
}

func TestAgentDiesWithItsHub(t *testing.T) {
	hub := fmt.Sprintf("dies%d", os.Getpid())
	cmd := child("hub", append(os.Environ(), "ACP_TEST_HUB="+hub, "ACP_TEST_CHILD=stubborn"), nil)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Len(t, carrying(t, hub), 1)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return len(carrying(t, hub)) == 0 }, waitFor, 10*time.Millisecond)
}
