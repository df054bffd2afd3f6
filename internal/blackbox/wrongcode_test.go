package blackbox_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWrongPairingCodesLeaveNoThreads sends 3,000 wrong codes at once. Each is
// refused without a lock or a file, so the hub needs no thread for it.
func TestWrongPairingCodesLeaveNoThreads(t *testing.T) {
	t.Parallel()
	const codes, most = 3000, 40
	h := newHub(t, settings{})
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	way := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	var refused atomic.Int64
	together(codes, func(i int) {
		body := fmt.Sprintf(`{"code":"wrong%05d","device":"a browser","page_key":%q}`, i, base64.RawURLEncoding.EncodeToString(public))
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+h.addr+"/api/pair", strings.NewReader(body))
		if err != nil {
			panic(err) // the address is valid
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", "http://"+h.addr)
		res, err := way.Do(req)
		if err != nil {
			return // the hub had too many open connections
		}
		res.Body.Close()
		if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusTooManyRequests {
			refused.Add(1)
		}
	})
	require.Greater(t, refused.Load(), int64(codes/2), "answers 401 or 429")
	// The Go runtime keeps its threads, so the count includes past ones.
	t.Log(refused.Load(), threads(t, h.cmd.Process.Pid))
	require.Less(t, threads(t, h.cmd.Process.Pid), most)
}

// threads counts a process's threads.
func threads(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	require.NoError(t, err)
	return len(tasks)
}
