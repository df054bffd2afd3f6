package blackbox_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// play runs this process as an agent and returns its exit code.
func play(role string) int {
	roles := map[string]func() error{"tap": playTap, "replay": playReplay, "crowd": playCrowd, "siege": playSiege, "telltale": playTelltale, "refuses": playRefuses}
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
	// hiddenName lists the capabilities, resume and load, that the tap removes from
	// the agent's initialize response.
	hiddenName = "ABIDE_BLACKBOX_HIDDEN"
)

// tapped puts a tap in front of an agent. The tap records the agent's input, and
// whether another agent of the session was alive at its start.
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
	return agent{Command: []string{self}, Env: env, Resume: a.Resume}
}

// playTap runs the agent named by the environment. It writes each line of stdin to
// the record before it passes the line on.
func playTap() error {
	record, err := os.OpenFile(os.Getenv(recordName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if others := append(rivals(), survivors(os.Getenv(recordName))...); len(others) > 0 {
		fmt.Fprintf(record, "rivals %v\n", others)
	}
	var command []string
	if err := json.Unmarshal([]byte(os.Getenv(commandName)), &command); err != nil {
		return err
	}
	command = append(command, os.Args[1:]...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if hidden := os.Getenv(hiddenName); hidden != "" {
		cmd.Stdout = &concealer{hidden: strings.Fields(hidden)}
	}
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

// concealer writes an agent's output to stdout. It removes some capabilities from
// the first line, the response to initialize.
type concealer struct {
	hidden []string
	first  []byte
	past   bool
}

func (c *concealer) Write(p []byte) (int, error) {
	if c.past {
		return os.Stdout.Write(p)
	}
	c.first = append(c.first, p...)
	line, rest, whole := bytes.Cut(c.first, []byte("\n"))
	if !whole {
		return len(p), nil
	}
	c.past = true
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		return 0, err
	}
	capabilities := m["result"].(map[string]any)["agentCapabilities"].(map[string]any)
	for _, name := range c.hidden {
		if name == "load" {
			delete(capabilities, "loadSession")
		} else {
			delete(capabilities["sessionCapabilities"].(map[string]any), name)
		}
	}
	line, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	if _, err := os.Stdout.Write(append(append(line, '\n'), rest...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// rivals lists the other live processes of the tap's session.
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

// family returns the process and all its descendants with their start times. Pid
// and start time together identify a process.
func family(pid int) map[int]string {
	type parentage struct {
		parent int
		born   string
	}
	all := map[int]parentage{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			if parent, born, ok := parentOf(n); ok {
				all[n] = parentage{parent, born}
			}
		}
	}
	found := map[int]string{}
	for n, p := range all {
		for at := n; at > 1; at = all[at].parent {
			if at == pid {
				found[n] = p.born
				break
			}
		}
	}
	return found
}

// parentOf returns a live process's parent and start time.
func parentOf(pid int) (parent int, born string, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, "", false
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(f) < 20 || f[0] == "Z" {
		return 0, "", false
	}
	parent, err = strconv.Atoi(f[1])
	return parent, f[19], err == nil
}

// remember stores the processes of the recorded agent for the next tap to look for.
func remember(t *testing.T, record string) {
	t.Helper()
	children := readRecord(t, record).children
	require.NotEmpty(t, children)
	tap, _, ok := parentOf(children[len(children)-1])
	require.True(t, ok)
	data, err := json.Marshal(family(tap))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(record+".family", data, 0o600))
}

// survivors returns the remembered processes that are alive.
func survivors(record string) []int {
	data, err := os.ReadFile(record + ".family")
	if err != nil {
		return nil // remember was not called
	}
	var members map[int]string
	if err := json.Unmarshal(data, &members); err != nil {
		panic(err)
	}
	var alive []int
	for pid, born := range members {
		if _, now, ok := parentOf(pid); ok && now == born {
			alive = append(alive, pid)
		}
	}
	return alive
}

// recording is the content of a tap's record.
type recording struct {
	rivals   []string
	children []int
	// prompts counts how often each text was given to the agent.
	prompts map[string]int
	// accounts holds the text before each prompt's text, by that text.
	accounts map[string]string
}

func readRecord(t *testing.T, path string) recording {
	t.Helper()
	r := recording{prompts: map[string]int{}, accounts: map[string]string{}}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for in := bufio.NewReaderSize(f, 1<<20); ; {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return r // the agent did not get a line cut short by a kill
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
				text := blocks[len(blocks)-1].Text
				r.prompts[text]++
				for _, b := range blocks[:len(blocks)-1] {
					r.accounts[text] += b.Text
				}
			}
		}
	}
}
