package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func TestSessionsOverHTTP(t *testing.T) {
	h := startHub(t, hubOptions{})
	var made wire.SessionInfo
	res := h.api("POST", "/api/sessions", map[string]any{"name": "First", "prompt": "say 3"})
	require.Equal(t, 201, res.status, res.body)
	res.decode(t, &made)
	require.Equal(t, "/api/sessions/"+made.SessionID, res.header.Get("Location"))
	s := mustSession(t, h, made.SessionID)
	h.await(s, 0, event.TypeTurnEnd)

	var got wire.SessionInfo
	h.api("GET", "/api/sessions/"+made.SessionID, nil).decode(t, &got)
	require.Equal(t, "First", got.Name)
	require.Equal(t, "puppet", got.Agent)
	for i := range 4 {
		require.Equal(t, 201, h.api("POST", "/api/sessions", map[string]any{"name": fmt.Sprint(i)}).status)
	}
	seen, cursor := map[string]bool{}, ""
	for {
		var page wire.SessionPage
		h.api("GET", "/api/sessions?limit=2&cursor="+cursor, nil).decode(t, &page)
		if cursor == "" {
			require.Equal(t, 5, page.Total)
		} else {
			require.Zero(t, page.Total)
		}
		require.LessOrEqual(t, len(page.Sessions), 2)
		for _, info := range page.Sessions {
			require.False(t, seen[info.SessionID])
			seen[info.SessionID] = true
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	require.Len(t, seen, 5)
	require.Contains(t, h.api("GET", "/api/sessions?q=first", nil).body, made.SessionID)
	require.Equal(t, 204, h.api("DELETE", "/api/sessions/"+made.SessionID, nil).status)
	require.Equal(t, 404, h.api("GET", "/api/sessions/"+made.SessionID, nil).status)
	for path, want := range map[string]int{
		"/api/sessions?limit=0": 400, "/api/sessions?limit=x": 400, "/api/sessions?limit=9999": 400, "/api/sessions?cursor=bogus": 400,
		"/api/sessions?status=bogus": 400, "/api/sessions?status=all": 200, "/api/sessions?resumable=no": 400, "/api/sessions?said=no": 400, "/api/sessions?said=true": 200, "/api/sessions?resumable=true": 200,
		"/api/sessions?lifecycle=done": 400, "/api/sessions?lifecycle=expired": 200, "/api/sessions?sort=age": 400, "/api/sessions?sort=size": 200, "/api/sessions?tag=a,b": 400, "/api/sessions?tag=": 400, "/api/sessions?tag=a&tag=b": 200, "/api/sessions?sort=name": 200,
	} {
		require.Equal(t, want, h.api("GET", path, nil).status, path)
	}
	for _, body := range []any{map[string]any{"agent": "nope"}, map[string]any{"workspace": "/etc"}, map[string]any{"workspace": "relative"}, []int{1}, "text", map[string]any{"name": 7}} {
		require.Contains(t, []int{400, 403}, h.api("POST", "/api/sessions", body).status, "%v", body)
	}
}

func TestEventsPageOverHTTP(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	h.prompt(s, "p1", "say 95")
	log := h.events(s)
	path := "/api/sessions/" + s.ID() + "/events"
	page := func(query string) wire.EventsLoaded {
		t.Helper()
		var m struct {
			Type string `json:"type"`
			wire.EventsLoaded
		}
		h.api("GET", path+query, nil).decode(t, &m)
		return m.EventsLoaded
	}
	require.Equal(t, seqs(log[len(log)-50:]), seqs(page("").Events))
	require.Equal(t, log[10:15], page("?after_seq=10&limit=5").Events)
	require.Equal(t, log[4:9], page("?before_seq=10&limit=5").Events)
	require.Equal(t, wire.VerdictReset, page("?after_seq=10&epoch=ffffffffffffffff").Verdict)
	require.Less(t, len(page("?after_seq=0&limit=90&merge=true").Events), 10)
	for _, query := range []string{"?after_seq=1&before_seq=2", "?after_seq=-1", "?after_seq=1.5", "?after_seq=x", "?limit=0&after_seq=1", "?limit=501", "?before_seq=0"} {
		require.Equal(t, 400, h.api("GET", path+query, nil).status, query)
	}
}

func TestAStreamResumesWhereItWasCut(t *testing.T) {
	h := startHub(t, hubOptions{timing: server.Timing{Heartbeat: 100 * time.Millisecond}})
	s := h.session()
	h.prompt(s, "p1", "say 20")
	var all []event.Event
	lastID := ""
	for round := range 4 {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		req, err := http.NewRequestWithContext(ctx, "GET", h.origin()+"/api/sessions/"+s.ID()+"/events", nil)
		require.NoError(t, err)
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Authorization", "Bearer "+h.token)
		req.Header.Set("Last-Event-ID", lastID)
		res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
		if round == 3 {
			h.prompt(s, "p2", "live")
		}
		lines := bufio.NewScanner(res.Body)
		named := ""
		for got := 0; (round < 3 && got < 5) || (round == 3 && (len(all) < 26 || all[len(all)-1].Type != event.TypeTurnEnd)); {
			require.True(t, lines.Scan())
			switch key, value, _ := strings.Cut(lines.Text(), ": "); key {
			case "event":
				named = value
			case "id":
				lastID = value
			case "data":
				if named != "" {
					require.Equal(t, "events_loaded", named)
					require.Contains(t, value, `"verdict":"ok"`)
					named = ""
					break
				}
				var e event.Event
				require.NoError(t, json.Unmarshal([]byte(value), &e))
				require.Equal(t, fmt.Sprintf("%s:%d", s.Log().Epoch(), e.Seq), lastID)
				all = append(all, e)
				got++
			}
		}
		cancel()
		res.Body.Close()
	}
	same(t, h.events(s), all)
	for _, id := range []string{"nonsense", ":5", s.Log().Epoch() + ":-1", s.Log().Epoch() + ":x"} {
		res := h.do("GET", "/api/sessions/"+s.ID()+"/events", nil, http.Header{"Authorization": {"Bearer " + h.token}, "Accept": {"text/event-stream"}, "Last-Event-Id": {id}})
		require.Equal(t, 400, res.status, id)
	}
}

// Fault 55, and other limits of pairing.
func TestPairing(t *testing.T) {
	h := startHub(t, hubOptions{})
	code, err := h.registry.MintPairingCode()
	require.NoError(t, err)
	own := http.Header{"Origin": {h.origin()}}
	_, public := newPageKey(t)
	body := map[string]string{"code": code, "device": "Phone", "page_key": public}
	for _, wrong := range []string{"", "x", public[1:]} {
		require.Equal(t, 400, h.do("POST", "/api/pair", map[string]string{"code": code, "page_key": wrong}, own).status)
	}
	require.Equal(t, 415, h.do("POST", "/api/pair", body, http.Header{"Origin": {h.origin()}, "Content-Type": {"text/plain"}}).status)
	require.Equal(t, 403, h.do("POST", "/api/pair", body, http.Header{"Origin": {"https://evil.com"}}).status)
	res := h.do("POST", "/api/pair", body, own)
	require.Equal(t, 200, res.status, res.body)
	set := res.header.Get("Set-Cookie")
	for _, part := range []string{"abide-" + h.store.HubID() + "=", "HttpOnly", "SameSite=Strict", "Path=/"} {
		require.Contains(t, set, part)
	}
	require.NotContains(t, set, "Domain")
	require.Equal(t, 401, h.do("POST", "/api/pair", body, own).status, "spent")
	for _, wrong := range []string{"", "guess"} {
		require.Equal(t, 401, h.do("POST", "/api/pair", map[string]string{"code": wrong, "page_key": public}, own).status)
	}
	var paired struct{ Page struct{ Token string } }
	require.NoError(t, json.Unmarshal([]byte(res.body), &paired))
	cookie := strings.SplitN(set, ";", 2)[0]
	require.Equal(t, 200, h.do("GET", "/api/health", nil, http.Header{"Cookie": {cookie}, auth.PageHeader: {paired.Page.Token}, "Sec-Fetch-Site": {"same-origin"}}).status)
	require.Contains(t, h.api("GET", "/api/devices", nil).body, `"name":"Phone"`)
}

func TestBodiesAreBoundedAndTyped(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	path := "/api/sessions/" + s.ID() + "/prompt"
	res := h.api("POST", path, map[string]string{"prompt_id": "p", "text": strings.Repeat("x", 2<<20)})
	require.Equal(t, 413, res.status, res.body)
	require.Equal(t, "too_large", res.code(t))
	res = h.do("POST", path, map[string]string{"prompt_id": "p", "text": "x"}, http.Header{"Authorization": {"Bearer " + h.token}, "Content-Type": {"application/x-www-form-urlencoded"}})
	require.Equal(t, 415, res.status)
	require.Equal(t, 405, h.api("PUT", path, nil).status)
	require.Equal(t, 404, h.api("GET", "/api/nothing", nil).status)
	require.Equal(t, 405, h.api("POST", "/index.html", nil).status)
	require.Len(t, h.events(s), 1)
}

func TestABlobIsShownOnlyAsTextOrImage(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	for _, c := range []struct{ name, data, kind string }{
		{"text", "just words", "text/plain; charset=utf-8"},
		{"html", "<!doctype html><script>alert(1)</script>", "application/octet-stream"},
		{"svg", `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`, "application/octet-stream"},
		{"png", "\x89PNG\r\n\x1a\n....", "image/png"},
		{"pdf", "%PDF-1.4", "application/octet-stream"},
	} {
		blob, err := s.Log().PutBlobFrom(context.Background(), "text/html", strings.NewReader(c.data))
		require.NoError(t, err)
		res := h.api("GET", "/api/sessions/"+s.ID()+"/blobs/"+blob.SHA256, nil)
		require.Equal(t, 200, res.status, c.name)
		require.Equal(t, c.data, res.body)
		require.Equal(t, c.kind, res.header.Get("Content-Type"), c.name)
		require.Contains(t, res.header.Get("Content-Security-Policy"), "sandbox")
		require.Equal(t, c.kind == "application/octet-stream", res.header.Get("Content-Disposition") != "", c.name)
	}
}

func TestAPreviewOfALargePictureIsASmallOne(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	get := func(data []byte, query string) response {
		blob, err := s.Log().PutBlobFrom(t.Context(), "image/png", bytes.NewReader(data))
		require.NoError(t, err)
		return h.api("GET", "/api/sessions/"+s.ID()+"/blobs/"+blob.SHA256+query, nil)
	}
	noise := image.NewNRGBA(image.Rect(0, 0, 1600, 1200))
	rand.NewChaCha8([32]byte{}).Read(noise.Pix)
	var data bytes.Buffer
	require.NoError(t, png.Encode(&data, noise))
	require.Greater(t, data.Len(), 2<<20)

	small := get(data.Bytes(), "?preview=true")
	require.Equal(t, 200, small.status)
	require.Less(t, len(small.body), data.Len()/4)
	config, _, err := image.DecodeConfig(strings.NewReader(small.body))
	require.NoError(t, err)
	require.Equal(t, [2]int{480, 360}, [2]int{config.Width, config.Height})
	require.Contains(t, small.header.Get("Content-Security-Policy"), "sandbox")
	require.NotEqual(t, get(data.Bytes(), "").header.Get("ETag"), small.header.Get("ETag"))

	// A file without a preview is returned unchanged.
	for _, whole := range []string{"\x89PNG\r\n\x1a\n....", "just words", string(data.Bytes()[:1000])} {
		got := get([]byte(whole), "?preview=true")
		require.Equal(t, 200, got.status)
		require.Equal(t, whole, got.body)
	}
}

func TestADamagedBlobIsNoSuccessfulDownload(t *testing.T) {
	h := startHub(t, hubOptions{})
	s := h.session()
	for _, size := range []int{1 << 10, 17 << 20} {
		for how, damage := range map[string]func(path string) error{
			"other bytes": func(path string) error {
				f, err := os.OpenFile(path, os.O_WRONLY, 0)
				require.NoError(t, err)
				_, err = f.WriteAt([]byte("!"), 700)
				return errors.Join(err, f.Close())
			},
			"cut": func(path string) error { return os.Truncate(path, int64(size-100)) },
		} {
			data := bytes.Repeat([]byte("abcd"), size/4)
			ctx := context.Background()
			blob, err := s.Log().PutBlobFrom(ctx, "text/plain", bytes.NewReader(data))
			require.NoError(t, err)
			kept, err := s.Log().OpenBlob(blob.SHA256)
			require.NoError(t, err)
			require.NoError(t, kept.Close())
			require.NoError(t, damage(kept.(interface{ Name() string }).Name()))
			get := func(part string) (int, []byte, error) {
				req, err := http.NewRequest("GET", "http://"+h.addr+"/api/sessions/"+s.ID()+"/blobs/"+blob.SHA256, nil)
				require.NoError(t, err)
				req.Header.Set("Authorization", "Bearer "+h.token)
				if part != "" {
					req.Header.Set("Range", part)
				}
				res, err := http.DefaultClient.Do(req)
				require.NoError(t, err)
				defer res.Body.Close()
				body, err := io.ReadAll(res.Body)
				return res.StatusCode, body, err
			}
			for _, part := range []string{"", "bytes=500-999"} {
				status, body, err := get(part)
				require.True(t, status == 503 || err != nil, "%s of %d, %q: %d", how, size, part, status)
				if size <= 16<<20 {
					require.Equal(t, 503, status)
					require.Contains(t, string(body), "the file of this value is damaged; `abide check "+s.ID()+"` names it")
				}
			}
			// Storing the same bytes again must not rely on the damaged file.
			_, err = s.Log().PutBlobFrom(ctx, "text/plain", bytes.NewReader(data))
			require.NoError(t, err)
			status, body, err := get("")
			require.NoError(t, err)
			require.Equal(t, 200, status)
			require.True(t, bytes.Equal(data, body))
		}
	}
}

func TestTheAppIsServedForEveryAddressOfItsOwn(t *testing.T) {
	h := startHub(t, hubOptions{})
	for _, path := range []string{"/", "/s/20260101-000000-00000000", "/s/20260101-000000-00000000/plain", "/s/20260101-000000-00000000/play", "/s/20260101-000000-00000000/review", "/settings", "/jobs", "/jobs/20260101-000000-00000000", "/index.html"} {
		res := h.do("GET", path, nil, nil)
		require.Equal(t, 200, res.status, path)
		require.Contains(t, res.body, "<title>app</title>")
		require.Equal(t, "no-cache", res.header.Get("Cache-Control"))
		again := h.do("GET", path, nil, http.Header{"If-None-Match": {res.header.Get("ETag")}})
		require.Equal(t, 304, again.status)
	}
	require.Equal(t, 404, h.do("GET", "/missing.js", nil, nil).status)
	for _, path := range []string{"/metrics", "/nothing", "/s/", "/s/a/b", "/settings/x", "/s/../settings"} {
		res := h.do("GET", path, nil, http.Header{"Accept": {"text/html,*/*;q=0.8"}})
		require.Equal(t, 404, res.status, path)
		require.Contains(t, res.body, "<title>app</title>", "a browser gets the app, which shows the error")
		require.Empty(t, res.header.Get("ETag"))
		res = h.do("GET", path, nil, nil)
		require.Equal(t, 404, res.status, path)
		require.Equal(t, "not_found", res.code(t))
	}
	res := h.do("GET", "/assets/app-1a2b3c4d.js", nil, http.Header{"Accept-Encoding": {"br, gzip;q=0.5"}})
	require.Equal(t, "gzip", res.header.Get("Content-Encoding"))
	require.Contains(t, res.header.Get("Cache-Control"), "immutable")
	require.Equal(t, "text/javascript; charset=utf-8", res.header.Get("Content-Type"))
	unzipped, err := gzip.NewReader(strings.NewReader(res.body))
	require.NoError(t, err)
	text, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "//app "))
	require.Empty(t, h.do("GET", "/assets/app-1a2b3c4d.js", nil, http.Header{"Accept-Encoding": {"gzip;q=0"}}).header.Get("Content-Encoding"))
}
