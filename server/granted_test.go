package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// grants returns the names in the next grants message.
func (p *peer) grants() []string {
	names := []string{}
	for _, g := range find[*wire.Granted](p, nil).Grants {
		names = append(names, g.Name)
	}
	return names
}

// Fault 85: an agent creates a token with the command line. Every open page of the
// owner gets a message about it.
func TestEachNewGrantIsToldToTheOwnersPagesAndMayBeRevokedThere(t *testing.T) {
	h, clock := movedHub(t)
	clock.Add(int64(time.Second)) // so that the token of this test is older
	laptop := h.device("laptop")
	tab, script := h.dialAs("/api/ws", laptop), h.dial("/api/ws")
	byCommandLine, err := auth.Open(h.dir, nil, func() time.Time { return time.Unix(0, clock.Load()) })
	require.NoError(t, err)
	s := h.session()
	_, viewer, err := byCommandLine.MintToken(auth.TokenRequest{Name: "watch", Scope: auth.Viewer, SessionID: s.ID()})
	require.NoError(t, err)
	told := find[*wire.Granted](tab, nil).Grants
	require.Len(t, told, 1)
	require.Equal(t, wire.Grant{
		ID: viewer.ID, Kind: "token", Name: "watch", Scope: "viewer", SessionID: s.ID(), CreatedAt: viewer.CreatedAt,
	}, told[0])
	clock.Add(int64(time.Second))
	phone := h.device("phone")
	require.ElementsMatch(t, []string{"watch", "phone"}, tab.grants())

	require.Equal(t, 204, h.do("DELETE", "/api/devices/"+viewer.ID, nil, laptop).status)
	require.Equal(t, []string{"phone"}, tab.grants())
	require.Equal(t, []string{"phone"}, h.dialAs("/api/ws", laptop).grants(), "a page that is opened later gets no message")

	require.Equal(t, http.StatusOK, h.do("GET", "/api/health", nil, phone).status)
	for name, p := range map[string]*peer{"a script": script, "the newer page": h.dialAs("/api/ws", phone)} {
		p.send(&wire.Ping{Nonce: "now"})
		for done := false; !done; {
			switch m := p.next().(type) {
			case *wire.Granted:
				t.Errorf("%s got a message about %v", name, m.Grants)
			case *wire.Pong:
				done = true
			}
		}
	}
}

func TestAGrantIsNewForAWeek(t *testing.T) {
	h, clock := movedHub(t)
	clock.Add(int64(time.Second)) // so that the token of this test is older
	laptop := h.page("laptop", nil)
	clock.Add(int64(time.Second))
	h.mint(auth.TokenRequest{Name: "ci", Scope: auth.Owner})
	require.Equal(t, []string{"ci"}, h.dialAs("/api/ws", laptop.header()).grants())
	clock.Add(int64(8 * 24 * time.Hour))
	h.mint(auth.TokenRequest{Name: "later", Scope: auth.Owner})
	require.Equal(t, []string{"later"}, h.dialAs("/api/ws", laptop.again(h)).grants())
}

func TestADeviceSeenOnceIsNewOnNoDevice(t *testing.T) {
	h, clock := movedHub(t)
	clock.Add(int64(time.Second)) // so that the token of this test is older
	laptop := h.page("laptop", nil)
	clock.Add(int64(time.Second))
	phone := h.page("phone", nil)
	clock.Add(int64(time.Second))
	h.mint(auth.TokenRequest{Name: "ci", Scope: auth.Owner})
	desk, pocket := h.dialAs("/api/ws", laptop.header()), h.dialAs("/api/ws", phone.header())
	require.Equal(t, []string{"phone", "ci"}, desk.grants())
	newest := find[*wire.Granted](pocket, nil).Grants
	require.Len(t, newest, 1)

	require.Equal(t, 204, h.do("POST", "/api/devices/seen", wire.SeenDevices{Until: newest[0].CreatedAt}, phone.header()).status)
	require.Empty(t, desk.grants())
	require.Empty(t, pocket.grants())
	clock.Add(int64(time.Second))
	h.mint(auth.TokenRequest{Name: "later", Scope: auth.Owner})
	require.Equal(t, []string{"later"}, desk.grants())
	require.Equal(t, []string{"later"}, h.dialAs("/api/ws", laptop.header()).grants(), "kept by the hub")

	require.Equal(t, 204, h.do("POST", "/api/devices/seen", wire.SeenDevices{Until: time.Now().AddDate(100, 0, 0)}, phone.header()).status)
	require.Empty(t, desk.grants())
	clock.Add(int64(time.Second))
	h.mint(auth.TokenRequest{Name: "last", Scope: auth.Owner})
	require.Equal(t, []string{"last"}, desk.grants(), "the future cannot be seen")
}

// Fault 85 again: the hub's own command line is quiet, unless an agent may have used it.
func TestTheCommandLineIsQuietUnlessAnAgentHasATurn(t *testing.T) {
	h, clock := movedHub(t)
	clock.Add(int64(time.Second)) // so that the token of this test is older
	laptop := h.device("laptop")
	tab := h.dialAs("/api/ws", laptop)
	byCommandLine, err := auth.Open(h.dir, nil, func() time.Time { return time.Unix(0, clock.Load()) })
	require.NoError(t, err)
	mint := func(name string) (http.Header, string) {
		clock.Add(int64(time.Second))
		token, grant, err := byCommandLine.MintToken(auth.TokenRequest{Name: name, Scope: auth.Owner, Life: time.Hour, Holder: auth.LocalHolder(1), AskedBy: "abide ls (process 7) of bash (6)"})
		require.NoError(t, err)
		return http.Header{"Authorization": {"Bearer " + token}}, grant.ID
	}
	s := h.session()
	header, quiet := mint("by its owner")
	// Its own first request begins a turn. The hub has met it before.
	require.Equal(t, 200, h.do("POST", "/api/sessions/"+s.ID()+"/prompt", map[string]string{"text": "hold"}, header).status)
	h.await(s, 0, event.TypeTurnStart)
	_, shown := mint("during a turn")
	told := find[*wire.Granted](tab, nil).Grants
	require.Len(t, told, 1)
	require.Equal(t, shown, told[0].ID)
	var listed wire.Devices
	h.do("GET", "/api/devices", nil, laptop).decode(t, &listed)
	for _, d := range listed.Devices {
		if d.ID == quiet {
			require.Equal(t, "abide ls (process 7) of bash (6)", d.AskedBy)
			return
		}
	}
	t.Fatal("the quiet one is not in the list")
}
