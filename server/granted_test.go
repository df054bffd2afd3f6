package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
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
