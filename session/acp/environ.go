package acp

import (
	"slices"
	"strings"
)

// markerName is the environment variable that marks every process of an agent.
const markerName = "ABIDE_AGENT"

// NotAnAgents is the environment entry for the hub's other child processes, so that
// their leftovers do not count as an agent's.
func NotAnAgents() string { return markerName + "=" }

// OwnersProgram is the environment entry for programs that a run of the hub runs as the
// owner would. A Sweep of a later run ends what a kill left of them.
func OwnersProgram(hubID, runID string) string {
	return markerName + "=" + Config{HubID: hubID, RunID: runID, SessionID: "owner"}.marker()
}

// inherited are the variables that an agent gets from the hub's environment,
// besides those with LC_: the ones with which programs find their files, choose the
// language and reach the network. None is a credential. A person can name more in
// the agent's config.
func inherited() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "TZ", "TMPDIR", "LANG", "LANGUAGE",
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", // without user and password
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	}
}

// environment returns the agent's environment: the allow-list of inherit, the
// config's own, and the marker.
func (c Config) environment(inherit []string) []string {
	allowed := append(inherited(), c.PassEnv...)
	values := map[string]string{}
	for _, entry := range inherit {
		name, value, ok := strings.Cut(entry, "=")
		if ok && (slices.Contains(allowed, name) || strings.HasPrefix(name, "LC_")) {
			values[name] = value
		}
		if ok && isProxy(name) && !slices.Contains(c.PassEnv, name) {
			values[name] = withoutUser(value)
		}
	}
	for name, value := range c.Env {
		values[name] = value
	}
	values[markerName] = c.marker()
	env := make([]string, 0, len(values))
	for _, name := range sortedKeys(values) {
		env = append(env, name+"="+values[name])
	}
	return env
}

func isProxy(name string) bool {
	name = strings.ToUpper(name)
	return name == "HTTP_PROXY" || name == "HTTPS_PROXY"
}

// withoutUser removes user and password from a proxy's address. A password may
// contain any character, so everything before the last @ is removed.
func withoutUser(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	scheme, _, found := strings.Cut(address[:at], "://")
	if !found {
		return address[at+1:]
	}
	return scheme + "://" + address[at+1:]
}

func (c Config) marker() string { return c.HubID + "." + c.RunID + "." + c.SessionID }
