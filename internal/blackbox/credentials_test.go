package blackbox_test

import (
	"archive/zip"
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/notify"
)

// visitor sends HTTP requests to a hub and keeps the answers.
type visitor struct {
	h       *hub
	header  http.Header
	answers map[string]string // response bodies by request
}

// ask sends a request and returns the response's status, body and cookies.
func (v *visitor) ask(method, path string, body any) (int, string, []*http.Cookie) {
	v.h.t.Helper()
	data, err := json.Marshal(body)
	require.NoError(v.h.t, err)
	req, err := http.NewRequest(method, "http://"+v.h.addr+path, bytes.NewReader(data))
	require.NoError(v.h.t, err)
	req.Header = v.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(v.h.t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(v.h.t, err)
	v.answers[method+" "+path] = string(answer)
	return res.StatusCode, string(answer), res.Cookies()
}

// handOut is ask for a response that may contain secrets. It returns the values of
// the named JSON fields.
func (v *visitor) handOut(method, path string, body any, fields ...string) []string {
	v.h.t.Helper()
	status, answer, cookies := v.ask(method, path, body)
	require.Less(v.h.t, status, 300, answer)
	delete(v.answers, method+" "+path)
	var secrets []string
	for _, c := range cookies {
		secrets = append(secrets, c.Value)
		v.header.Set("Cookie", c.Name+"="+c.Value)
	}
	for _, field := range fields {
		found := regexp.MustCompile(`"` + field + `":"([^"]+)"`).FindStringSubmatch(answer)
		require.Len(v.h.t, found, 2, "%s in %s", field, answer)
		secrets = append(secrets, found[1])
	}
	return secrets
}

// TestNoCredentialLeavesItsOwnFile uses every kind of credential, rightly and
// wrongly. It then searches for each of them in everything the hub wrote, answered
// and started.
func TestNoCredentialLeavesItsOwnFile(t *testing.T) {
	t.Parallel()
	service := newTeller(t)
	h := service.hub(t)
	secrets := map[string]string{"the webhook's secret": "of-the-desk-and-the-hub"}
	owner, viewerOf := h.token(), ""
	s := h.create("demo")
	viewerOf = h.token("--scope", "viewer", "--session", s.SessionID)
	secrets["an owner's token"], secrets["a viewer's token"] = owner, viewerOf
	as := func(token string) *visitor {
		return &visitor{h, http.Header{"Authorization": {"Bearer " + token}}, map[string]string{}}
	}

	// Pair a browser.
	out, _, code := h.run("pair", "--json")
	require.Zero(t, code)
	pairing := regexp.MustCompile(`#pair=([a-z0-9]+)`).FindStringSubmatch(out)[1]
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	page := &visitor{h, http.Header{"Origin": {"http://" + h.addr}}, map[string]string{}}
	proof := map[string]string{"code": pairing, "device": "Phone", "page_key": base64.RawURLEncoding.EncodeToString(public)}
	paired := page.handOut("POST", "/api/pair", proof, "token")
	status, _, _ := page.ask("POST", "/api/pair", proof)
	require.Equal(t, 401, status, "the code was spent")
	secrets["a pairing code"], secrets["a device's cookie"], secrets["a page token"] = pairing, paired[0], paired[1]
	page.header.Set("Abide-Page", paired[1])

	// Subscribe to push and get signed addresses.
	receiver, err := ecdh.P256().GenerateKey(rand.Reader)
	require.NoError(t, err)
	secrets["a push address"] = "endpoint-known-to-the-browser"
	secrets["a push key"] = base64.RawURLEncoding.EncodeToString([]byte("sixteen bytes ok"))
	me := as(owner)
	status, answer, _ := page.ask("POST", "/api/push/subscriptions", map[string]any{
		"endpoint": service.URL + "/endpoint-known-to-the-browser",
		"keys":     map[string]string{"p256dh": base64.RawURLEncoding.EncodeToString(receiver.PublicKey().Bytes()), "auth": secrets["a push key"]},
	})
	require.Less(t, status, 300, answer)
	secrets["a blob's signed address"] = signature(page.handOut("POST", "/api/sessions/"+s.SessionID+"/blobs/"+strings.Repeat("ab", 32)+"/address", nil, "address")[0])
	secrets["an export's signed address"] = signature(page.handOut("POST", "/api/sessions/"+s.SessionID+"/export/address?format=zip", nil, "address")[0])

	h.ask(s.SessionID, "p1")
	service.next(t, notify.Permission, s.SessionID)

	// Allowed requests first, then requests with a credential in the wrong place.
	for _, v := range []*visitor{me, page} {
		for _, path := range []string{
			"", "/events?after=0", "/rules", "/queue", "/comments", "/overview", "/files",
			"/export?format=jsonl", "/export?format=markdown", "/export?format=html", "/export?format=zip",
		} {
			v.ask("GET", "/api/sessions/"+s.SessionID+path, nil)
		}
		for _, path := range []string{
			"/api/sessions", "/api/health", "/api/devices", "/api/audit", "/api/agents", "/api/channels", "/api/push", "/api/openapi.json",
			"/api/search?q=token", "/", "/settings", "/s/" + s.SessionID,
		} {
			status, answer, _ := v.ask("GET", path, nil)
			require.Equal(t, 200, status, "%s: %s", path, answer)
		}
	}
	wrong := as(owner + "x") // a wrong token: the hub rate-limits these
	wrong.ask("GET", "/api/sessions", nil)
	maps.Copy(me.answers, wrong.answers)
	for _, secret := range secrets {
		v := as(owner)
		v.ask("GET", "/api/sessions/"+url.PathEscape(secret), nil)
		v.ask("GET", "/api/search?limit="+url.QueryEscape(secret), nil)
		for _, body := range v.answers { // bodies may repeat the request
			require.NotContains(t, body, owner)
		}
	}
	h.run("ls", "--token", owner) // no such flag
	require.NoError(t, h.hub.Revoke(t.Context(), grantOf(t, me, "viewer")))
	status, _, _ = as(viewerOf).ask("GET", "/api/sessions", nil)
	require.Equal(t, 401, status)

	// Secrets that only the hub's files contain.
	var kept struct{ Secret string }
	decode(t, filepath.Join(h.data, "auth.json"), &kept)
	require.NotEmpty(t, kept.Secret)
	secrets["the registry's secret"] = kept.Secret

	places := map[string][]byte{"the log": []byte(h.logged())}
	for _, v := range []*visitor{me, page} {
		for request, body := range v.answers {
			places["the answer to "+request] = []byte(body)
			if !strings.HasSuffix(request, "=zip") {
				continue
			}
			files, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
			require.NoError(t, err)
			for _, f := range files.File {
				r, err := f.Open()
				require.NoError(t, err)
				places[f.Name+" of "+request], err = io.ReadAll(r)
				require.NoError(t, err)
			}
		}
	}
	mine := os.Getpid()
	for _, pid := range append(marked(h.id()+"."), h.cmd.Process.Pid) {
		require.NotEqual(t, mine, pid)
		for _, of := range []string{"cmdline", "environ"} {
			data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + of)
			require.NoError(t, err)
			places["/proc/"+strconv.Itoa(pid)+"/"+of] = data
		}
	}
	require.NoError(t, filepath.WalkDir(filepath.Dir(h.data), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil // a temporary file that was renamed meanwhile
		}
		places[path] = data
		return err
	}))
	own := map[string][]string{ // the only file that may contain each secret; all have mode 0600
		"the webhook's secret":  {h.config},
		"the registry's secret": {filepath.Join(h.data, "auth.json")},
		"a push address":        {filepath.Join(h.data, "push.json")},
		"a push key":            {filepath.Join(h.data, "push.json")},
	}
	for what, secret := range secrets {
		require.GreaterOrEqual(t, len(secret), 10, what)
		for place, data := range places {
			if bytes.Contains(data, []byte(secret)) && !slices.Contains(own[what], place) {
				t.Errorf("%s is in %s", what, place)
			}
		}
		for _, path := range own[what] {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), path)
			require.Contains(t, string(places[path]), secret, "the search finds %s in its own file", what)
		}
	}
}

// signature is the secret part of a signed address.
func signature(address string) string {
	return address[strings.LastIndexAny(address, "=.")+1:]
}

// grantOf returns the id of the token with the scope.
func grantOf(t *testing.T, v *visitor, scope string) string {
	t.Helper()
	_, answer, _ := v.ask("GET", "/api/devices", nil)
	var list struct{ Devices []struct{ ID, Scope string } }
	require.NoError(t, json.Unmarshal([]byte(answer), &list))
	i := slices.IndexFunc(list.Devices, func(d struct{ ID, Scope string }) bool { return d.Scope == scope })
	require.GreaterOrEqual(t, i, 0)
	return list.Devices[i].ID
}

func decode(t *testing.T, path string, to any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, to))
}
