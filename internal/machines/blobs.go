package machines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

const (
	// shownName is a directory in a copy with an empty file for each blob that the machine gave
	// to a viewer: others are files that people attached, which a viewer does not get.
	shownName = "shown"
	// mostBlob limits a blob that is kept, in bytes.
	mostBlob = 256 << 20
)

var blobName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Errors of Home.Blob.
var (
	// ErrNotKept means that home keeps no copy of a blob: the machine can be asked for it.
	ErrNotKept = errors.New("home keeps no copy of the blob")
	// ErrNotShown means that only those who may act in the session get the blob.
	ErrNotShown = errors.New("the blob is a file, which a viewer does not get")
	errBlobAway = fmt.Errorf("%w: the machine is away, and this hub has no copy of the file: it keeps one when the file is opened first", state.ErrUnavailable)
	errBlobLie  = fmt.Errorf("%w: the machine sent other bytes than the blob has", state.ErrUnavailable)
)

// Blob opens a blob of a machine's session in home's copy. One that is not there is fetched by
// a GET of target at the machine, on behalf of by, and kept if its bytes have the right hash.
// act says whether the caller may act in the session; without that ErrNotShown and the machine
// decide what the caller gets. The caller closes the blob.
func (h *Home) Blob(ctx context.Context, id, sha, target string, by Caller, act bool) (io.ReadSeekCloser, error) {
	m, _, known := h.Of(id)
	if !known {
		return nil, ErrUnknown
	}
	dir := filepath.Join(h.copies.dir, m.ID, id)
	if !blobName.MatchString(sha) || !h.copies.has(m.ID, id) {
		return nil, ErrNotKept
	}
	c, err := h.Watch(id)
	if err != nil {
		return nil, err
	}
	one := blobFetch{home: h, copied: c, machine: m.ID, dir: dir, sha: sha, target: target}
	done, err := h.copies.fetches.enter(ctx, m.ID+"/"+id+"/"+sha)
	if err != nil {
		return nil, err
	}
	defer done()
	blob, err := c.copy.OpenBlob(sha)
	if err == nil && (act || one.shown()) {
		return blob, nil
	}
	kept := err == nil
	if kept {
		err = blob.Close()
	}
	switch {
	case err != nil && !errors.Is(err, journal.ErrNotFound) && !errors.Is(err, journal.ErrDamaged):
		return nil, err
	case h.met(m.ID) == nil && kept:
		return nil, ErrNotShown
	case h.met(m.ID) == nil:
		return nil, errBlobAway
	}
	if err := one.fetch(ctx, by, act); err != nil {
		return nil, err
	}
	return c.copy.OpenBlob(sha)
}

// blobFetch gets one blob from its machine into the copy.
type blobFetch struct {
	home                      *Home
	copied                    *Copied
	machine, dir, sha, target string
}

// shown reports whether the machine gave the blob to a viewer.
func (f blobFetch) shown() bool {
	_, err := os.Lstat(filepath.Join(f.dir, shownName, f.sha))
	return err == nil
}

// note says that the machine gives the blob to viewers. Without that none gets it here.
func (f blobFetch) note() {
	if err := os.Mkdir(filepath.Join(f.dir, shownName), 0o700); err == nil || errors.Is(err, os.ErrExist) {
		_ = os.WriteFile(filepath.Join(f.dir, shownName, f.sha), nil, 0o600)
	}
}

// fetch asks as a viewer first: what a viewer gets is for all, and the machine decides that.
func (f blobFetch) fetch(ctx context.Context, by Caller, act bool) error {
	viewer := by
	viewer.Scope = string(auth.Viewer)
	status, err := f.ask(ctx, viewer, f.note)
	if err == nil && status == http.StatusForbidden && act {
		status, err = f.ask(ctx, by, func() {})
	}
	switch {
	case err == nil && status == http.StatusOK:
		return nil
	case err == nil:
		return ErrNotKept // the machine's own words say why
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, store.ErrCopyDamaged):
		if l := f.home.met(f.machine); l != nil {
			f.home.refuse(l, "a blob with other bytes than its name says")
		}
		return errBlobLie
	case errors.Is(err, ErrAway), errors.Is(err, ErrOpen):
		return errBlobAway
	}
	return ErrNotKept // e.g. a full disk: what is asked of machines goes on
}

// ask gets the blob as somebody. given is called before it is kept.
func (f blobFetch) ask(ctx context.Context, by Caller, given func()) (status int, err error) {
	most := int64(mostBlob)
	if keep := f.home.copies.keeping.now(); keep.Bytes > 0 {
		most = min(most, keep.Bytes)
	}
	a := &blobAnswer{header: http.Header{}, most: most, take: func(from io.Reader) error {
		given()
		counted := &countedReader{from: from}
		err := f.copied.copy.PutBlob(ctx, f.sha, counted)
		if err == nil {
			f.home.copies.keeping.grew(counted.n)
		}
		return err
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.target, http.NoBody)
	if err != nil {
		return 0, err
	}
	err = a.carry(func() error { return f.home.Call(a, r, f.machine, by) })
	return a.status, err
}

// errLarge ends an answer that is larger than what is kept.
var errLarge = errors.New("the blob is larger than what is kept")

// blobAnswer is a response whose body, if its status is 200, is read by take as it comes.
type blobAnswer struct {
	header http.Header
	most   int64
	take   func(io.Reader) error
	status int
	large  bool           // there is more than most
	into   *io.PipeWriter // nil unless it is taken
	taken  chan error
}

func (a *blobAnswer) Header() http.Header { return a.header }

func (a *blobAnswer) WriteHeader(status int) {
	a.status = status
	if size, err := strconv.ParseInt(a.header.Get("Content-Length"), 10, 64); err == nil && size > a.most {
		a.large = true
		return
	}
	if status == http.StatusOK {
		from, into := io.Pipe()
		a.into, a.taken = into, make(chan error, 1)
		go func() { // carry waits for it
			err := a.take(from)
			from.CloseWithError(errLarge) // a write after an error
			a.taken <- err
		}()
	}
}

func (a *blobAnswer) Write(data []byte) (int, error) {
	a.most -= int64(len(data))
	if a.large = a.large || a.most < 0; a.large {
		return 0, errLarge
	}
	if a.into == nil {
		return len(data), nil // the words of a refusal
	}
	return a.into.Write(data)
}

// carry runs a call that writes the answer, and returns what became of its body.
func (a *blobAnswer) carry(call func() error) error {
	err := broken(call)
	if err != nil && a.large {
		err = errLarge
	}
	if a.into == nil {
		return err
	}
	a.into.CloseWithError(err) // nil is its end
	return <-a.taken
}

// countedReader counts what is read.
type countedReader struct {
	from io.Reader
	n    int
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += n
	return n, err
}
