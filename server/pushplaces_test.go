package server_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/notify"
)

// Fault 92. A viewer fills the list of subscriptions.
func TestFault92OneCredentialFillsItsOwnPlacesForSubscriptionsAlone(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	token, grant, err := h.registry.MintToken(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()})
	require.NoError(t, err)
	subscribe := func(as http.Header, endpoint string, more map[string]any) response {
		body := browserSubscription()
		body["endpoint"] = endpoint
		for name, value := range more {
			body[name] = value
		}
		return h.do("POST", "/api/push/subscriptions", body, as)
	}
	got := 0
	for i := range 30 {
		if subscribe(bearer(token), fmt.Sprintf("https://push.example/%d", i), nil).status == 201 {
			got++
		}
	}
	require.Equal(t, 10, got)
	for name, more := range map[string]map[string]any{
		"muted":    {"muted": []string{strings.Repeat("x", 1000)}},
		"events":   {"events": strings.Split(strings.Repeat("failed ", 1000)+"failed", " ")},
		"endpoint": {"endpoint": "https://push.example/" + strings.Repeat("x", 3000)},
		"zone":     {"quiet": map[string]string{"from": "22:00", "to": "07:00", "zone": strings.Repeat("x", 1000)}},
	} {
		require.Equal(t, 400, subscribe(bearer(h.token), "https://push.example/large", more).status, name)
	}
	for endpoint, says := range map[string]string{
		"http://push.example/x": "use https", "https://127.0.0.1/x": "not a public address", "https://localhost:1/x": "not a public address",
		"https://[::1]/x": "not a public address", "https://10.0.0.1/x": "not a public address",
	} {
		res := subscribe(bearer(token), endpoint, nil)
		require.Equal(t, 400, res.status, endpoint)
		require.Contains(t, string(res.body), says, endpoint)
	}
	for endpoint, status := range map[string]int{ // outgoing.allow names 127.0.0.1, for owners
		"http://127.0.0.1:1/x": 201, "https://localhost:1/x": 201, "https://[::1]:1/x": 400, "https://10.0.0.1/x": 400,
	} {
		require.Equal(t, status, subscribe(bearer(h.token), endpoint, nil).status, endpoint)
	}
	// Fifteen viewers have what they may have together; the owner's places are free.
	for i := range 20 {
		other := bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()}))
		for j := range 10 {
			res := subscribe(other, fmt.Sprintf("https://push.example/%d/%d", i, j), nil)
			require.Equal(t, i < 14, res.status == 201, "viewer %d: %s", i, res.body)
		}
	}
	require.Equal(t, 201, subscribe(bearer(h.token), "https://push.example/owner", nil).status)

	other := bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()}))
	require.Equal(t, 400, subscribe(other, "https://push.example/owner", nil).status, "an endpoint is its maker's")
	require.NoError(t, h.registry.Revoke(grant.ID))
	require.Eventually(t, func() bool { return subscribe(other, "https://push.example/free", nil).status == 201 }, patience, time.Millisecond)
	info, err := os.Stat(filepath.Join(h.dir, "push.json"))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(256<<10))
}

func TestSubscriptionsOfACredentialThatEndedWhileTheHubWasDownAreGone(t *testing.T) {
	h := startHub(t, hubOptions{})
	token, grant, err := h.registry.MintToken(auth.TokenRequest{Scope: auth.Owner, Name: "gone"})
	require.NoError(t, err)
	require.Equal(t, 201, h.do("POST", "/api/push/subscriptions", browserSubscription(), bearer(token)).status)
	h.stop()
	require.NoError(t, h.registry.Revoke(grant.ID))
	startHub(t, hubOptions{dir: h.dir})
	path := filepath.Join(h.dir, "push.json")
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(path)
		return err == nil && !strings.Contains(string(text), "push.example")
	}, patience, time.Millisecond)
}

// Fault 93. Push services that hang hold up their own credential alone.
func TestFault93HangingPushServicesDoNotDelayTheOwner(t *testing.T) {
	h := startHub(t, hubOptions{notify: quick(), outgoing: patience})
	s := h.session()
	hang := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	defer service.Close()
	defer close(hang)
	for i := range 3 { // credentials that may use an address that outgoing.allow names
		owner := bearer(h.mint(auth.TokenRequest{Scope: auth.Owner}))
		for j := range 10 {
			key := newBrowser(t)
			require.Equal(t, 201, h.do("POST", "/api/push/subscriptions", subscriptionOf(fmt.Sprintf("%s/%d/%d", service.URL, i, j), key.key, key.auth), owner).status)
		}
	}
	phone := h.browser("phone")
	began := time.Now()
	h.ask(s, "p1")
	require.Equal(t, notify.Permission, phone.next().Kind)
	require.Less(t, time.Since(began), patience/2, "a request that hangs takes twice as long")
}

func TestAnAddressThatOutgoingAllowNamesIsForOwnersAlone(t *testing.T) {
	h := startHub(t, hubOptions{notify: quick(), resolve: leadTo("127.0.0.1")})
	s := h.session()
	var reached atomic.Int64
	service := httptest.NewUnstartedServer(http.NotFoundHandler())
	service.Config.ConnState = func(_ net.Conn, is http.ConnState) {
		if is == http.StateNew {
			reached.Add(1)
		}
	}
	service.StartTLS()
	defer service.Close()
	b := newBrowser(t)
	b.as = bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()}))
	b.service.URL = "https://" + strings.Replace(service.Listener.Addr().String(), "127.0.0.1", "push.example", 1)
	b.subscribe(h)
	require.Less(t, h.do("POST", "/api/push/subscriptions/"+b.id+"/test", nil, b.as).status, 300)
	require.Eventually(t, func() bool { return h.counts().Failed == 1 }, patience, time.Millisecond)
	require.Zero(t, reached.Load(), "the service was asked")
	for range 5 {
		h.do("POST", "/api/push/subscriptions/"+b.id+"/test", nil, b.as)
	}
	require.Equal(t, 503, h.do("POST", "/api/push/subscriptions/"+b.id+"/test", nil, b.as).status, "test messages have a rate")
}
