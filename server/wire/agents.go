package wire

// AgentSetup lists the agents that a hub has and those that it could have.
type AgentSetup struct {
	Configured []ConfiguredAgent `json:"configured"`
	// Known are the agents that abide knows, those that are installed first.
	Known []KnownAgent `json:"known"`
	// File is the configuration file, for people.
	File string `json:"file"`
}

// ConfiguredAgent is an agent of the configuration, or the built-in one.
type ConfiguredAgent struct {
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	// Command is its command line, for people.
	Command string `json:"command"`
	BuiltIn bool   `json:"built_in,omitempty"`
	// Missing says why its program is not found; absent if it is.
	Missing string `json:"missing,omitempty"`
	// SignIn says how a person signs in, if abide knows.
	SignIn string `json:"sign_in,omitempty"`
}

// KnownAgent is an agent that can be added to the configuration.
type KnownAgent struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Command is the command line that would be configured.
	Command []string `json:"command"`
	// Program is the path of its program; absent if it is not installed.
	Program string `json:"program,omitempty"`
	// Install is how a person installs it.
	Install string `json:"install"`
	SignIn  string `json:"sign_in,omitempty"`
	// Configured means that the configuration has an agent of this name.
	Configured bool `json:"configured,omitempty"`
}

// NewAgent names a known agent to add to the configuration.
type NewAgent struct {
	Name string `json:"name"`
	// Unchecked adds it without a check. Otherwise an agent that does not start is
	// not added.
	Unchecked bool `json:"unchecked,omitempty"`
}

// AddedAgent says whether an agent was added.
type AddedAgent struct {
	Name string `json:"name"`
	// Lines were added to the configuration; absent if the check failed.
	Lines string `json:"lines,omitempty"`
	// Check is absent if it was added unchecked.
	Check *AgentCheck `json:"check,omitempty"`
}

// CheckAgent asks for a check. With a prompt the agent answers it.
type CheckAgent struct {
	Prompt string `json:"prompt,omitempty"`
}

// AgentCheck is the result of starting an agent once.
type AgentCheck struct {
	// State is ready, login (it needs a login first) or failed.
	State string `json:"state"`
	// Title and Version are the agent's own.
	Title   string `json:"title,omitempty"`
	Version string `json:"version,omitempty"`
	// Mode is the mode in which it begins. AsksNothing means that it is known to ask
	// for no permission in it.
	Mode        string `json:"mode,omitempty"`
	AsksNothing bool   `json:"asks_nothing,omitempty"`
	// Methods are its ways to log in.
	Methods []AuthMethod `json:"methods,omitempty"`
	// LogsOut means that it takes a request to log out.
	LogsOut bool `json:"logs_out,omitempty"`
	// Answer is its answer to the prompt.
	Answer string `json:"answer,omitempty"`
	// Error is why it failed or needs a login, in its words, and Stderr the end of what it
	// wrote there.
	Error  string `json:"error,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// The states of a check.
const (
	CheckReady  = "ready"
	CheckLogin  = "login"
	CheckFailed = "failed"
)

// AgentLogin is a login of an agent, by a command in a terminal of the hub or by a request
// to the agent.
type AgentLogin struct {
	MethodID string `json:"method_id"`
	// Command runs in the terminal.
	Command []string `json:"command,omitempty"`
	// Text is the end of the output, Size the size of all of it in bytes.
	Text string `json:"text"`
	Size int    `json:"size"`
	// Ended means that the login is over; Error is why it failed.
	Ended bool   `json:"ended,omitempty"`
	Error string `json:"error,omitempty"`
}

// LoginInput is a line for a login that runs in a terminal.
type LoginInput struct {
	Text string `json:"text"`
}

// ChosenMode is the request for another mode of a session's agent.
type ChosenMode struct {
	ModeID string `json:"mode_id"`
}

// ChosenOption is the request for another value of one of its options.
type ChosenOption struct {
	ConfigID string `json:"config_id"`
	// Value is a string, or a boolean for options of that type.
	Value any `json:"value"`
}
