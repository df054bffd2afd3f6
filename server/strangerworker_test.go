package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABrowserThatAsksForAStrangersServiceWorkerGetsOneThatLeaves(t *testing.T) {
	h := startHub(t, hubOptions{})
	asks := http.Header{"Service-Worker": {"script"}, "Sec-Fetch-Dest": {"serviceworker"}, "Sec-Fetch-Site": {"same-origin"}}
	for _, path := range []string{"/thief.js", "/", "/s/thief.js", "/s/" + h.session().ID(), "/api", "/api/thief.js", "/api/sessions", "/api/health", "/a%2fb.js", "/a/../b.js", "/sw.js/"} {
		res := h.do("GET", path, nil, asks)
		require.Equal(t, 200, res.status, path)
		require.Contains(t, res.body, "self.registration.unregister()", path)
		require.Equal(t, "text/javascript; charset=utf-8", res.header.Get("Content-Type"), path)
		require.Equal(t, "no-store", res.header.Get("Cache-Control"), path)
	}
	res := h.do("GET", "/sw.js", nil, asks)
	require.NotContains(t, res.body, "unregister", "the app's own worker")
	require.NotContains(t, h.do("GET", "/thief.js", nil, nil).body, "unregister", "a page that reads the file")
	asks.Set("Host", "elsewhere.example")
	require.Equal(t, 421, h.do("GET", "/thief.js", nil, asks).status)
}
