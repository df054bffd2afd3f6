package blackbox_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// play makes this process an agent and returns its exit code.
func play(role string) int {
	roles := map[string]func() error{"tap": playTap, "replay": playReplay}
	run, ok := roles[role]
	if !ok {
		fmt.Fprintf(os.Stderr, "no role %q\n", role)
		return 2
	}
	err := run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

const (
	recordName  = "ABIDE_BLACKBOX_RECORD"
	commandName = "ABIDE_BLACKBOX_COMMAND"
)

// tapped puts a tap in front of an agent: what it is given is on record, and
// so is whether another agent of its session was alive when it started.
func tapped(t *testing.T, record string, a agent) agent {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command, err := json.Marshal(a.Command)
	require.NoError(t, err)
	env := map[string]string{roleName: "tap", recordName: record, commandName: string(command)}
	for k, v := range a.Env {
		env[k] = v
	}
	return agent{Command: []string{self}, Env: env}
}

// playTap runs the agent named by the environment. It writes each line of its
// stdin to the record before it passes it on.
func playTap() error {
	record, err := os.OpenFile(os.Getenv(recordName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if others := rivals(); len(others) > 0 {
		fmt.Fprintf(record, "rivals %v\n", others)
	}
	var command []string
	if err := json.Unmarshal([]byte(os.Getenv(commandName)), &command); err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ABIDE_BLACKBOX_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	fmt.Fprintf(record, "child %d\n", cmd.Process.Pid)
	go func() {
		defer in.Close()
		for r := bufio.NewReaderSize(os.Stdin, 1<<20); ; {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				record.Write(append([]byte("line "), line...))
				if _, err := in.Write(line); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return cmd.Wait()
}

// rivals lists the other live processes of the session this agent is for.
func rivals() []int {
	hub, rest, _ := strings.Cut(os.Getenv("ABIDE_AGENT"), ".")
	_, session, _ := strings.Cut(rest, ".")
	var others []int
	for _, pid := range marked(hub + ".") {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && pid != os.Getpid() && strings.Contains(string(environ)+"\x00", "."+session+"\x00") {
			others = append(others, pid)
		}
	}
	return others
}

// recording is what a tap wrote.
type recording struct {
	rivals   []string
	children []int
	// prompts counts how often each text was given to the agent.
	prompts map[string]int
}

func readRecord(t *testing.T, path string) recording {
	t.Helper()
	r := recording{prompts: map[string]int{}}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for in := bufio.NewReaderSize(f, 1<<20); ; {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return r // a line cut short by a kill did not reach the agent
		}
		require.NoError(t, err)
		kind, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		switch kind {
		case "rivals":
			r.rivals = append(r.rivals, rest)
		case "child":
			var pid int
			_, err := fmt.Sscan(rest, &pid)
			require.NoError(t, err)
			r.children = append(r.children, pid)
		case "line":
			var m struct {
				Method string
				Params struct {
					Prompt []struct{ Text string }
				}
			}
			require.NoError(t, json.Unmarshal([]byte(rest), &m))
			if m.Method == "session/prompt" {
				blocks := m.Params.Prompt
				r.prompts[blocks[len(blocks)-1].Text]++
			}
		}
	}
}
