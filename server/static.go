package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/abidehub/abide/server/api"
	"github.com/abidehub/abide/server/wire"
)

// smallFile is the size below which a file is not compressed.
const smallFile = 1 << 10

// static is the web app in memory, because it is small. A file is compressed once,
// at its first request, so that the start of the hub is not delayed.
type static struct {
	files map[string]*staticFile
	page  *staticFile
	// bound is the time that a client may take to read a file.
	bound time.Duration
}

type staticFile struct {
	kind   string
	tag    string
	plain  []byte
	zipped func() []byte // nil if that is not smaller
	// hashed files have a hash of their content in their name and never change.
	hashed bool
}

func newStatic(app fs.FS, page string, bound time.Duration) (*static, error) {
	s := &static{files: make(map[string]*staticFile), bound: bound}
	err := fs.WalkDir(app, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(app, name)
		if err != nil {
			return err
		}
		s.files[name] = newStaticFile(name, data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the web app: %w", err)
	}
	if s.page = s.files[page]; s.page == nil {
		return nil, fmt.Errorf("reading the web app: it has no %s", page)
	}
	return s, nil
}

func newStaticFile(name string, data []byte) *staticFile {
	sum := sha256.Sum256(data)
	kind := kindOf(name)
	return &staticFile{
		kind: kind, tag: hex.EncodeToString(sum[:8]), plain: data, hashed: strings.HasPrefix(name, "assets/"),
		zipped: sync.OnceValue(func() []byte {
			if len(data) < smallFile || !compressible(kind) {
				return nil
			}
			return zip(data)
		}),
	}
}

// zip compresses data. It returns nil if that is not smaller.
func zip(data []byte) []byte {
	var zipped bytes.Buffer
	// The level is valid and the buffer cannot fail.
	w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	w.Write(data)
	w.Close()
	if zipped.Len() >= len(data) {
		return nil
	}
	return zipped.Bytes()
}

// kindOf does not use the system's table, which differs between systems.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".json", ".map":
		return "application/json"
	case ".webmanifest":
		return "application/manifest+json"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	if kind := mime.TypeByExtension(path.Ext(name)); strings.HasPrefix(kind, "image/") {
		return kind
	}
	return "application/octet-stream"
}

func compressible(kind string) bool {
	return strings.HasPrefix(kind, "text/") || strings.HasPrefix(kind, "application/json") ||
		strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

// appPath matches the app's own addresses: the list, the settings, the jobs, the attempts at a
// job's task, a session and its views. frontend/src/ui/router.svelte.ts reads the same.
var appPath = regexp.MustCompile(`^/(settings|jobs(/[\w-]+/?)?|s/[\w-]+(/(plain|play|review|files))?/?)?$`)

// serve returns a file of the app, its page for each of the app's addresses, or
// 404, with which a browser gets the page too.
func (s *static) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return &api.Problem{Code: wire.CodeInvalid, Message: "pages can only be read", Status: http.StatusMethodNotAllowed}
	}
	// The ResponseWriter of a test may not support this; then there is no limit.
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.bound))
	name := strings.TrimPrefix(r.URL.Path, "/")
	if f := s.files[name]; f != nil {
		f.serve(w, r, http.StatusOK)
		return nil
	}
	if appPath.MatchString(r.URL.Path) {
		s.page.serve(w, r, http.StatusOK)
		return nil
	}
	if path.Ext(name) == "" && strings.Contains(r.Header.Get("Accept"), "text/html") {
		s.page.serve(w, r, http.StatusNotFound)
		return nil
	}
	return api.NotFound("that page")
}

func (f *staticFile) serve(w http.ResponseWriter, r *http.Request, status int) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache") // cached, but always revalidated
	if f.hashed {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, tag := f.plain, `"`+f.tag+`"`
	if acceptsGzip(r) {
		if zipped := f.zipped(); zipped != nil {
			body, tag = zipped, `"`+f.tag+`-gz"`
			h.Set("Content-Encoding", "gzip")
		}
	}
	if status == http.StatusOK {
		h.Set("ETag", tag)
	}
	if status == http.StatusOK && r.Header.Get("If-None-Match") == tag {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		w.Write(body) // an error means that the client is gone
	}
}

func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return strings.ReplaceAll(params, " ", "") != "q=0"
		}
	}
	return false
}
