package server_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/server/wire"
)

// A machine that leaves tells home, which forgets it, so that it can join again.
func TestAMachineThatLeavesIsForgottenAtHomeAndJoinsAgain(t *testing.T) {
	home, machine := joined(t, "act")
	machine.session()
	listed(t, home, "", 1)
	require.Eventually(t, func() bool {
		return decoded[wire.Machines](t, machine.do("GET", "/api/machines", nil, bearer(machine.token))).Home.State == "connected"
	}, patience, time.Millisecond)
	require.Equal(t, http.StatusNoContent, machine.do("DELETE", "/api/home", nil, bearer(machine.token)).status)
	require.Eventually(t, func() bool {
		return len(decoded[wire.Machines](t, home.do("GET", "/api/machines", nil, bearer(home.token))).Machines) == 0
	}, patience, time.Millisecond)
	listed(t, home, "", 0)
	require.Nil(t, decoded[wire.Machines](t, machine.do("GET", "/api/machines", nil, bearer(machine.token))).Home)
	join(t, home, machine, "act")
	listed(t, home, "", 1)
}

// Home is away when the machine leaves, also over a restart of the machine: it joins again all the
// same, by the secret it had. A copy of its id does not.
func TestAMachineThatLeftWhileHomeWasAwayJoinsAgain(t *testing.T) {
	home, machine := joined(t, "act")
	machine.session()
	listed(t, home, "", 1)
	home.stop()
	require.Eventually(t, func() bool {
		return decoded[wire.Machines](t, machine.do("GET", "/api/machines", nil, bearer(machine.token))).Home.State == "away"
	}, patience, time.Millisecond)
	require.Equal(t, http.StatusNoContent, machine.do("DELETE", "/api/home", nil, bearer(machine.token)).status)
	machine.stop()
	home = startHub(t, hubOptions{dir: home.dir, addr: home.addr})
	machine = startHub(t, hubOptions{dir: machine.dir})
	machineIs(t, home, "away")
	link := decoded[wire.MachineLink](t, home.do("POST", "/api/machines/links", nil, bearer(home.token)))
	code := link.URL[len(link.URL)-64:]
	res := home.do("POST", "/api/machines/join", wire.Join{Code: code, ID: machine.store.HubID(), Name: "copy", Allow: "act"}, bearer("another"))
	require.Equal(t, http.StatusConflict, res.status, res.body)
	require.Contains(t, res.body, "has joined already")
	join(t, home, machine, "act")
	listed(t, home, "", 1)
}

// Revoking a machine's credential ends its connection, and what home asked for over it, within a
// second. The machine knows why.
func TestForgettingAMachineEndsItsConnectionWithinASecond(t *testing.T) {
	home, machine := joined(t, "act")
	there := machine.session()
	machine.prompt(there, "p0", "say one")
	listed(t, home, "", 1)
	atMachine := func() *wire.Home {
		return decoded[wire.Machines](t, machine.do("GET", "/api/machines", nil, bearer(machine.token))).Home
	}
	require.Eventually(t, func() bool { return atMachine().State == "connected" }, patience, time.Millisecond)
	socket := home.dial("/api/sessions/" + there.ID() + "/ws")
	find[*wire.EventsLoaded](socket, nil)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	require.Equal(t, http.StatusNoContent, home.do("DELETE", "/api/machines/"+machine.store.HubID(), nil, bearer(home.token)).status)
	for changed := machine.member.Changed(); atMachine().State == "connected"; changed = machine.member.Changed() {
		select {
		case <-changed:
		case <-ctx.Done():
			require.Fail(t, "it stays connected")
		}
	}
	require.Less(t, time.Since(began), time.Second)
	t.Logf("ended within %s", time.Since(began))
	require.Eventually(t, func() bool {
		return atMachine().Problem == "home says: this hub does not know the machine, or not any more: let it leave home and join again with a new link"
	}, patience, time.Millisecond, "%+v", atMachine())
	require.Equal(t, http.StatusNotFound, home.do("GET", "/api/sessions/"+there.ID(), nil, bearer(home.token)).status)
}
