package machines

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/state"
)

// blobPair is a home with a copy of a session, whose machine answers a request for a blob with
// data.
type blobPair struct {
	*pair
	id   string
	full *atomic.Bool

	mu    sync.Mutex
	data  []byte
	asked []string // as whom
}

func newBlobPair(t *testing.T) *blobPair {
	b := &blobPair{full: &atomic.Bool{}}
	b.pair = newPairOf(t, HomeOptions{FS: fullDisk{FS: disk.OS(), full: b.full}, Logger: discard()})
	b.hub.serve = func(w http.ResponseWriter, r *http.Request, by Caller, _ Allow) {
		b.mu.Lock()
		data := b.data
		b.asked = append(b.asked, by.Scope)
		b.mu.Unlock()
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data)
	}
	id, log := b.newLog(t.TempDir())
	b.id = id
	b.hub.set([]state.Info{lineOf(id)})
	b.join(AllowAct)
	b.linesUntil(id)
	b.upTo(id, b.write(log, "one"))
	return b
}

func (b *blobPair) answers(data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data, b.asked = data, nil
}

func (b *blobPair) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.asked)
}

// get is the blob with the hash of data.
func (b *blobPair) get(data []byte) ([]byte, error) {
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	blob, err := b.home.Blob(b.t.Context(), b.id, sha, "/blob", Caller{Name: "ann", Scope: "collaborator"}, true)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	return io.ReadAll(blob)
}

func (b *blobPair) keptBlobs() []string {
	kept, err := filepath.Glob(filepath.Join(b.dir, "copies", machineID, b.id, "blobs", "*"))
	require.NoError(b.t, err)
	return kept
}

// A blob of several parts is fetched once, however many ask for it at once.
func TestABlobIsFetchedOnceAndKept(t *testing.T) {
	b := newBlobPair(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 3*partBytes/16)
	b.answers(data)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			got, err := b.get(data)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	wait.Wait()
	require.Equal(t, 1, b.calls())
	b.stop()
	<-b.done
	b.until(func(m Machine) bool { return !m.Connected })
	got, err := b.get(data)
	require.NoError(t, err, "the machine is away")
	require.Equal(t, data, got)
	_, err = b.get([]byte("another"))
	require.ErrorIs(t, err, errBlobAway)
}

// Bytes with another hash are refused, counted with words, and not kept.
func TestABlobWithOtherBytesIsRefused(t *testing.T) {
	b := newBlobPair(t)
	b.answers([]byte("other bytes"))
	for range 2 {
		_, err := b.get([]byte("the bytes"))
		require.ErrorIs(t, err, errBlobLie)
	}
	require.Empty(t, b.keptBlobs())
	m := b.until(func(m Machine) bool { return m.Refused == 2 })
	require.Contains(t, m.Problem, "other bytes than its name says")
	b.answers([]byte("the bytes"))
	got, err := b.get([]byte("the bytes"))
	require.NoError(t, err)
	require.Equal(t, "the bytes", string(got))
}

// What does not fit is not kept: the machine is asked each time.
func TestABlobBeyondTheLimitOrOnAFullDiskIsNotKept(t *testing.T) {
	b := newBlobPair(t)
	data := bytes.Repeat([]byte("x"), 2*partBytes)
	b.answers(data)
	b.full.Store(true)
	_, err := b.get(data)
	require.ErrorIs(t, err, ErrNotKept)
	b.full.Store(false)
	socket, err := b.home.Watch(b.id)
	require.NoError(t, err)
	socket.Add(1) // the copy stays, whatever the limit is
	defer socket.Add(-1)
	b.home.Configure(Keep{Bytes: int64(len(data)) - 1})
	_, err = b.get(data)
	require.ErrorIs(t, err, ErrNotKept)
	require.Empty(t, b.keptBlobs())
	b.home.Configure(Keep{})
	_, err = b.get(data)
	require.NoError(t, err)
	require.Len(t, b.keptBlobs(), 1)
	require.Zero(t, b.until(func(Machine) bool { return true }).Refused)
}

func TestAHashThatIsNoneLeadsNowhere(t *testing.T) {
	b := newBlobPair(t)
	b.answers([]byte("x"))
	_, err := b.home.Blob(t.Context(), b.id, "../../../evil", "/blob", Caller{}, true)
	require.ErrorIs(t, err, ErrNotKept)
	require.Zero(t, b.calls())
}
