package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
)

// Only a paired browser of the owner may create a pairing link.
func TestAPairedBrowserMakesALinkThatPairsOneMore(t *testing.T) {
	h, clock := movedHub(t)
	laptop := h.page("laptop", nil).header()
	laptop.Set("Origin", h.origin())
	var made struct {
		URL       string    `json:"url"`
		ExpiresAt time.Time `json:"expires_at"`
		ExpiresIn int       `json:"expires_in"`
		Loopback  bool      `json:"loopback"`
		QR        []string  `json:"qr"`
	}
	res := h.do("POST", "/api/pairings", nil, laptop)
	require.Equal(t, 201, res.status, res.body)
	require.NoError(t, jsonUnmarshal(res.body, &made))
	code, ok := strings.CutPrefix(made.URL, h.origin()+"/#pair=")
	require.True(t, ok, made.URL)
	require.Equal(t, 120, made.ExpiresIn)
	require.True(t, made.Loopback, "a phone needs a tunnel")
	require.Greater(t, len(made.QR), 20)
	for _, row := range made.QR {
		require.Len(t, row, len(made.QR))
	}

	_, public := newPageKey(t)
	refused := ""
	spend := func(code string) int {
		res := h.do("POST", "/api/pair", map[string]string{"code": code, "device": "phone", "page_key": public}, map[string][]string{"Origin": {h.origin()}})
		refused = res.body
		return res.status
	}
	require.Equal(t, 200, spend(code))
	require.Equal(t, 401, spend(code), "the link is good once")

	res = h.do("POST", "/api/pairings", nil, laptop)
	require.NoError(t, jsonUnmarshal(res.body, &made))
	clock.Add(int64(auth.PairingLife + time.Second))
	require.Equal(t, 401, spend(strings.TrimPrefix(made.URL, h.origin()+"/#pair=")), "the link is good for two minutes")
	require.Contains(t, refused, "this link has expired or was already used; run `abide pair` for a new one")

	h.door.Names([]string{strings.TrimPrefix(h.origin(), "http://")}, []string{"hub.example"})
	res = h.do("POST", "/api/pairings", nil, laptop)
	require.NoError(t, jsonUnmarshal(res.body, &made))
	require.True(t, strings.HasPrefix(made.URL, "https://hub.example/#pair="), made.URL)
	require.False(t, made.Loopback)
	require.Equal(t, 403, h.api("POST", "/api/pairings", nil).status, "a device made by an owner's token would outlive it")
}
