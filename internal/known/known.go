// Package known lists the coding agents that abide knows: how each is found, started,
// installed and signed in to. known.json is the list; a registry of the protocol's
// project can add to it.
package known

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
)

//go:embed known.json
var listed []byte

// Agent is a coding agent that speaks ACP.
type Agent struct {
	// Name is its name in the configuration, Title the one for people.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Programs are names of its program in the PATH, the best first.
	Programs []string `json:"programs"`
	// Args make the program speak ACP.
	Args []string `json:"args,omitempty"`
	// Env are variables that it needs.
	Env map[string]string `json:"env,omitempty"`
	// Install is what a person runs or does to install it.
	Install string `json:"install"`
	// SignIn says how a person signs in.
	SignIn string `json:"sign_in,omitempty"`
	// Asks is the mode in which it asks before it does what a policy may forbid; empty if that is
	// not known. Unasked are those in which it does some of that without asking.
	Asks    string   `json:"asks,omitempty"`
	Unasked []string `json:"unasked,omitempty"`
	// Reports says what it reports of its use: tokens, cost. Empty if that is not known.
	Reports []string `json:"reports,omitempty"`
	// Continue is the command that continues a session in the agent's own terminal, with
	// {id} for the agent's id of it; empty if it is not known.
	Continue string `json:"continue,omitempty"`
}

// Agents returns the built-in list.
func Agents() ([]Agent, error) {
	var list []Agent
	if err := json.Unmarshal(listed, &list); err != nil {
		return nil, fmt.Errorf("read the known agents: %w", err)
	}
	return list, nil
}

// Find returns an agent of a list by its name.
func Find(list []Agent, name string) (Agent, bool) {
	at := slices.IndexFunc(list, func(a Agent) bool { return a.Name == name })
	if at < 0 {
		return Agent{}, false
	}
	return list[at], true
}

// Running returns the agent of a list that a configured agent is: that of its name, else
// that of its program.
func Running(list []Agent, name string, command []string) (Agent, bool) {
	if a, ok := Find(list, name); ok || len(command) == 0 {
		return a, ok
	}
	for _, a := range list {
		if slices.Contains(a.Programs, filepath.Base(command[0])) {
			return a, true
		}
	}
	return Agent{}, false
}

// Command returns the agent's command line and the path of its program, for the first
// program that look finds. If look finds none, path is empty and the command is that of
// the first.
func (a Agent) Command(look func(program string) (path string, err error)) (command []string, path string) {
	for _, program := range a.Programs {
		if path, err := look(program); err == nil {
			return a.with(program), path
		}
	}
	return a.with(a.Programs[0]), ""
}

func (a Agent) with(program string) []string { return append([]string{program}, a.Args...) }
