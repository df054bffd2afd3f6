package client_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
)

// A request has text as it is, and JSON of an agent with its own bytes.
func TestARequestEscapesNothingAsForAWebPage(t *testing.T) {
	var body []byte
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, "{}")
	}))
	defer hub.Close()
	c, err := client.New(hub.URL, "token")
	require.NoError(t, err)
	defer c.Close()
	_, err = c.End(t.Context(), "x", wire.EndSession{Result: json.RawMessage(`{"a":"<b> & c"}`)})
	require.NoError(t, err)
	require.Equal(t, `{"result":{"a":"<b> & c"}}`+"\n", string(body))
}
