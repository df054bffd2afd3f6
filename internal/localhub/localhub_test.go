package localhub_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/localhub"
)

// hub answers /api/health with the tokens of a data directory.
type hub struct {
	*httptest.Server
	mu     sync.Mutex
	tokens []string
}

func newHub(t *testing.T, dir string) *hub {
	h := &hub{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		h.mu.Lock()
		h.tokens = append(h.tokens, token)
		h.mu.Unlock()
		registry, err := auth.Open(dir, nil, nil)
		if err != nil {
			t.Error(err)
		}
		if _, err := registry.Present(auth.KindToken, token); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	t.Cleanup(h.Close)
	require.NoError(t, localhub.Announce(dir, h.URL))
	return h
}

func (h *hub) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.tokens...)
}

func connect(t *testing.T, dir string) {
	t.Helper()
	client, err := localhub.Connect(t.Context(), dir)
	require.NoError(t, err)
	client.Close()
}

func mode(t *testing.T, path string) os.FileMode {
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func TestAHubIsFoundWhereItListensAndNotAfterItIsGone(t *testing.T) {
	dir := t.TempDir()
	_, err := localhub.Address(dir)
	require.ErrorIs(t, err, localhub.ErrNoHub)
	_, err = localhub.Connect(t.Context(), dir)
	require.ErrorIs(t, err, localhub.ErrNoHub)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	base := "http://" + listener.Addr().String()
	require.NoError(t, localhub.Announce(dir, base))
	require.Equal(t, os.FileMode(0o600), mode(t, filepath.Join(dir, "hub.addr")))
	found, err := localhub.Address(dir)
	require.NoError(t, err)
	require.Equal(t, base, found)

	require.NoError(t, listener.Close()) // like a kill, this leaves the announcement
	_, err = localhub.Address(dir)
	require.ErrorIs(t, err, localhub.ErrNoHub)
	require.NoError(t, localhub.Withdraw(dir))
	require.NoFileExists(t, filepath.Join(dir, "hub.addr"))
}

func TestOneCredentialServesManyCommands(t *testing.T) {
	dir := t.TempDir()
	h := newHub(t, dir)
	connect(t, dir)
	connect(t, dir)
	asked := h.asked()
	require.Len(t, asked, 2)
	require.Equal(t, asked[0], asked[1])
	require.Equal(t, os.FileMode(0o600), mode(t, filepath.Join(dir, "cli.json")))

	registry, err := auth.Open(dir, nil, nil)
	require.NoError(t, err)
	grant, err := registry.Present(auth.KindToken, asked[0])
	require.NoError(t, err)
	require.Equal(t, localhub.Holder, grant.Name)
	require.Equal(t, auth.Owner, grant.Scope)
	require.WithinDuration(t, time.Now().Add(time.Hour), grant.ExpiresAt, time.Minute)
	records, err := audit.Open(dir).After(0, 10)
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Equal(t, audit.TokenMade, records[0].Verb)
	require.Equal(t, localhub.Holder, records[0].By)
}

func TestACredentialThatEndsIsReplaced(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string, kept map[string]any){
		"it ends in a minute": func(t *testing.T, path string, kept map[string]any) {
			kept["expires_at"] = time.Now().Add(time.Minute).UTC()
			data, err := json.Marshal(kept)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, data, 0o600))
		},
		"it makes no sense": func(t *testing.T, path string, _ map[string]any) {
			require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		},
		"it is gone": func(t *testing.T, path string, _ map[string]any) {
			require.NoError(t, os.Remove(path))
		},
		"it was revoked": func(t *testing.T, path string, kept map[string]any) {
			kept["token"] = "abide_of_another_directory"
			data, err := json.Marshal(kept)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, data, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			h := newHub(t, dir)
			connect(t, dir)
			path := filepath.Join(dir, "cli.json")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			var kept map[string]any
			require.NoError(t, json.Unmarshal(data, &kept))
			spoil(t, path, kept)
			connect(t, dir)
			asked := h.asked()
			require.NotEqual(t, asked[0], asked[len(asked)-1])
			connect(t, dir)
			require.Equal(t, asked[len(asked)-1], h.asked()[len(asked)], "the new one is kept")
		})
	}
}

func TestAnAgentMakesNoCredential(t *testing.T) {
	dir := t.TempDir()
	newHub(t, dir)
	t.Setenv("ABIDE_AGENT", "hub.run.session")
	_, err := localhub.Connect(t.Context(), dir)
	require.ErrorIs(t, err, localhub.ErrAgent)
	require.NoFileExists(t, filepath.Join(dir, "cli.json"))
}

func TestAHubThatStartsAgainElsewhereIsFoundByTheSameClient(t *testing.T) {
	dir := t.TempDir()
	first := newHub(t, dir)
	client, err := localhub.Connect(t.Context(), dir)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	first.Close()
	_, err = client.Health(t.Context())
	require.Error(t, err)
	second := newHub(t, dir)
	_, err = client.Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, first.asked()[0], second.asked()[0])
}
