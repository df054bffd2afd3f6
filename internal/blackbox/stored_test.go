package blackbox_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// storedToken is the throw-away token in the stored directories' auth.json.
const storedToken = "abide_NLUxM227NF49na4pa9WGqhvUUsKlmgASjF0n5ByxDmk"

// TestAStoredDataDirectoryOpensAsItWas opens data directories that earlier builds
// made. It reads every event, cursor, queue item, label, rule and device. Each
// directory is an archive, because git keeps no file modes. The birth marks (born,
// log_born) were removed from its metadata, so that it does not count as a restored
// copy.
func TestAStoredDataDirectoryOpensAsItWas(t *testing.T) {
	archives, err := filepath.Glob("testdata/data-*.tar.gz")
	require.NoError(t, err)
	require.NotEmpty(t, archives)
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.Mkdir(data, 0o700))
			out, err := exec.Command("tar", "-xpzf", archive, "--no-same-owner", "-C", data).CombinedOutput()
			require.NoError(t, err, string(out))
			h := newHub(t, settings{data: data})
			stdout, stderr, code := h.run("check")
			require.Zero(t, code, stdout+stderr)
			got, err := json.MarshalIndent(h.everything(), "", " ")
			require.NoError(t, err)
			golden := archive[:len(archive)-len(".tar.gz")] + ".json"
			if *update {
				require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got)+"\n")
		})
	}
}

// lifecycle is a field that follows from the clock and from the disk, too.
var lifecycle = regexp.MustCompile(`"lifecycle":"[a-z]+",`)

// everything reads with the stored token all that the API returns about a data
// directory. Events are counted and summed.
func (h *hub) everything() map[string]any {
	h.t.Helper()
	all := map[string]any{}
	dirs, err := os.ReadDir(filepath.Join(h.data, "sessions"))
	require.NoError(h.t, err)
	for _, d := range dirs {
		at := "/api/sessions/" + d.Name()
		h.read(at, all, nil)
		info, ok := all[at].(json.RawMessage)
		require.True(h.t, ok)
		all[at] = json.RawMessage(lifecycle.ReplaceAll(info, nil))
		h.read(at+"/queue", all, nil)
		h.read(at+"/rules", all, nil)
		all[at+"/events"] = h.sumEvents(at)
	}
	var devices map[string][]map[string]any
	h.read("/api/devices", map[string]any{}, &devices)
	for kind, list := range devices {
		devices[kind] = slices.DeleteFunc(list, func(d map[string]any) bool {
			return d["name"] != "Test phone" && d["name"] != "stored" // made by this test
		})
		for _, d := range devices[kind] {
			delete(d, "last_used") // this test used it
		}
	}
	all["/api/devices"] = devices
	return all
}

// sumEvents returns the number of a session's events and their checksum.
func (h *hub) sumEvents(at string) string {
	h.t.Helper()
	sum, after, count := sha256.New(), event.Seq(0), 0
	for {
		var page struct {
			Events []json.RawMessage `json:"events"`
		}
		h.read(fmt.Sprintf("%s/events?after_seq=%d&limit=500", at, after), map[string]any{}, &page)
		if len(page.Events) == 0 {
			return fmt.Sprintf("%d events, sha256 %x", count, sum.Sum(nil))
		}
		for _, raw := range page.Events {
			sum.Write(append(raw, '\n'))
			var e event.Event
			require.NoError(h.t, json.Unmarshal(raw, &e))
			require.Equal(h.t, after+1, e.Seq)
			after, count = e.Seq, count+1
		}
	}
}

// read stores the response of an API path in all, and decodes it into answer if
// that is not nil.
func (h *hub) read(path string, all map[string]any, answer any) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://"+h.addr+path, nil)
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+storedToken)
	res, err := http.DefaultClient.Do(req)
	require.NoError(h.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	require.Equal(h.t, http.StatusOK, res.StatusCode, "%s: %s", path, body)
	all[path] = json.RawMessage(body)
	if answer != nil {
		require.NoError(h.t, json.Unmarshal(body, answer))
	}
}
