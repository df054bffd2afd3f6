package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
)

// comments returns the next comments frame.
func (p *peer) comments() *wire.Comments {
	for {
		if m, ok := p.next().(*wire.Comments); ok {
			return m
		}
	}
}

func TestTwoScreensSeeEachOthersComments(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	path := "/api/sessions/" + s.ID()
	first, second := h.dial(path+"/ws"), h.dial(path+"/ws")
	header := bearer(h.token)
	header.Set("Idempotency-Key", "c1")
	for range 2 { // a repeated request adds nothing
		require.Equal(t, 201, h.do("POST", path+"/comments", map[string]any{"from_seq": 1, "text": "why?"}, header).status)
	}
	want := &wire.Comments{SessionID: s.ID(), Version: 1, Count: 1, Open: 1}
	require.Equal(t, want, first.comments())
	require.Equal(t, want, second.comments())
	require.Equal(t, want, h.dial(path+"/ws").comments(), "a later screen did not get the comments")

	viewer := bearer(h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: s.ID()}))
	require.Equal(t, 200, h.do("GET", path+"/comments", nil, viewer).status)
	require.Equal(t, 403, h.do("POST", path+"/comments", map[string]any{"from_seq": 1, "text": "me too"}, viewer).status)
	require.Equal(t, 403, h.do("DELETE", path+"/comments/c1", nil, viewer).status)

	require.Equal(t, 200, h.api("PATCH", path+"/comments/c1", map[string]any{"resolved": true}).status)
	require.Equal(t, &wire.Comments{SessionID: s.ID(), Version: 2, Count: 1}, second.comments())
	require.Equal(t, 204, h.api("DELETE", path+"/comments/c1", nil).status)
	require.Equal(t, &wire.Comments{SessionID: s.ID(), Version: 3}, second.comments())
}
