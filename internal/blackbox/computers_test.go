package blackbox_test

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
)

// computers are a home and a machine that reaches it through the fault proxy.
type computers struct {
	t             *testing.T
	home, machine *hub
	network       *network
}

// newComputers starts both and has the machine join.
func newComputers(t *testing.T, ofMachine settings) *computers {
	t.Helper()
	c := newStrangers(t, ofMachine)
	c.join()
	return c
}

// newStrangers starts both.
func newStrangers(t *testing.T, ofMachine settings) *computers {
	t.Helper()
	c := &computers{t: t, network: newNetwork(t)}
	c.home = newHub(t, settings{more: fmt.Sprintf("public_names: [%q]\n", c.network.addr)})
	require.NoError(t, c.network.tell("upstream "+c.home.addr))
	c.machine = newHub(t, ofMachine)
	return c
}

// link is a new link to join, by way of the proxy.
func (c *computers) link() string {
	c.t.Helper()
	made, err := c.home.hub.MachineLink(c.t.Context())
	require.NoError(c.t, err)
	u, err := url.Parse(made.URL)
	require.NoError(c.t, err)
	return "http://" + c.network.addr + "/#" + u.Fragment
}

func (c *computers) join() {
	c.t.Helper()
	_, err := c.machine.hub.JoinHome(c.t.Context(), wire.NewHome{Link: c.link(), Name: "laptop", Allow: "manage"})
	require.NoError(c.t, err)
	c.until("joined", c.connected)
}

// until waits for something that is asked again and again.
func (c *computers) until(what string, is func() bool) (took time.Duration) {
	c.t.Helper()
	began := time.Now()
	require.Eventually(c.t, is, patience, 5*time.Millisecond, "%s", what)
	return time.Since(began)
}

// connected reports whether home says that the machine is.
func (c *computers) connected() bool { return c.atHome() == "connected" }

// atHome is what home says of the machine; empty if it does not answer.
func (c *computers) atHome() string {
	all, err := c.home.hub.Machines(c.t.Context())
	if err != nil || len(all.Machines) != 1 {
		return ""
	}
	return all.Machines[0].State
}

// atMachine is what the machine says of home.
func (c *computers) atMachine() string {
	all, err := c.machine.hub.Machines(c.t.Context())
	if err != nil || all.Home == nil {
		return ""
	}
	return all.Home.State
}

// listed waits until home lists a session of the machine.
func (c *computers) listed(id string) {
	c.t.Helper()
	c.until("the session in home's list", func() bool {
		_, err := c.home.hub.Session(c.t.Context(), id)
		return err == nil
	})
}

// ask prompts a session of the machine at home, again and again until home knows the outcome.
func (c *computers) ask(s wire.SessionInfo, id, text string) (tries int) {
	c.t.Helper()
	c.until("the prompt "+id, func() bool {
		tries++
		_, err := c.home.hub.Ask(c.t.Context(), s.SessionID, wire.NewPrompt{PromptID: id, Text: text})
		return err == nil
	})
	return tries
}

// requireSameFiles waits until home's copy of a session is the machine's files, byte for byte.
func (c *computers) requireSameFiles(s wire.SessionInfo) {
	c.t.Helper()
	read := func(dir string) map[string]string {
		names, err := filepath.Glob(filepath.Join(dir, "events*"))
		require.NoError(c.t, err)
		files := map[string]string{}
		for _, name := range names {
			data, err := os.ReadFile(name)
			require.NoError(c.t, err)
			files[filepath.Base(name)] = string(data)
		}
		return files
	}
	c.until("home's copy of "+s.SessionID, func() bool {
		own := read(filepath.Join(c.machine.data, "sessions", s.SessionID))
		return len(own) > 0 && maps.Equal(own, read(filepath.Join(c.home.data, "copies", c.machine.id(), s.SessionID)))
	})
}
