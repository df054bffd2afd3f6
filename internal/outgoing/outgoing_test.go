package outgoing_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/abidehub/abide/internal/outgoing"
	"github.com/stretchr/testify/require"
)

func receiver(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(handle)
	t.Cleanup(s.Close)
	return s
}

// local returns a guard that may send to this machine.
func local(s *httptest.Server) *outgoing.Guard {
	return &outgoing.Guard{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		TLS:   s.Client().Transport.(*http.Transport),
	}
}

func TestFault62AddressesThatAreNotPublicAreRefused(t *testing.T) {
	var g outgoing.Guard
	for _, host := range []string{
		"127.0.0.1", "[::1]", "169.254.169.254", "[::ffff:10.0.0.1]", "[::ffff:7f00:1]", "10.0.0.1", "172.31.0.1", "192.168.1.1",
		"100.64.0.1", "0.0.0.0", "[::]", "[fe80::1]", "[fe80::1%25eth0]", "[fc00::1]", "[fec0::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
		"[2001:0:7f00:1::]", "[::127.0.0.1]", "255.255.255.255", "224.0.0.1", "[ff02::1]", "198.18.0.1", "192.0.0.1",
	} {
		_, err := g.Send(t.Context(), "POST", "https://"+host+":9/hook", nil, nil)
		require.ErrorIs(t, err, outgoing.ErrRefused, host)
	}
	for _, address := range []string{"http://example.org", "ftp://example.org", "file:///etc/passwd", "https://", "https://user:hunter2@example.org", "https://a b"} {
		g.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		}
		_, err := g.Send(t.Context(), "POST", address, nil, nil)
		require.ErrorIs(t, err, outgoing.ErrRefused, address)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestFault62ANameIsResolvedOnceAndEachOfItsAddressesChecked(t *testing.T) {
	hit := atomic.Int32{}
	s := receiver(t, func(http.ResponseWriter, *http.Request) { hit.Add(1) })
	port := s.URL[strings.LastIndex(s.URL, ":"):]

	// DNS rebinding: the name's first address is allowed, the next one is not.
	asked := 0
	g := local(s)
	g.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		if asked++; asked == 1 {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	}
	answer, err := g.Send(t.Context(), "POST", "https://example.com"+port, nil, nil)
	require.NoError(t, err)
	require.Equal(t, 200, answer.Status)
	require.Equal(t, 1, asked)

	_, err = g.Send(t.Context(), "POST", "https://example.com"+port, nil, nil)
	require.ErrorIs(t, err, outgoing.ErrRefused)
	g.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("169.254.169.254")}, nil
	}
	_, err = g.Send(t.Context(), "POST", "https://example.com"+port, nil, nil)
	require.ErrorIs(t, err, outgoing.ErrRefused)
	require.EqualValues(t, 1, hit.Load())
}

func TestFault62RedirectsAreNotFollowed(t *testing.T) {
	hit := atomic.Int32{}
	s := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		hit.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	answer, err := local(s).Send(t.Context(), "POST", s.URL, nil, []byte("x"))
	require.NoError(t, err)
	require.Equal(t, 307, answer.Status)
	require.EqualValues(t, 1, hit.Load())
}

func TestSentAndReceivedSizesAreBounded(t *testing.T) {
	s := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		if string(got) == "flood" {
			for range 1000 {
				fmt.Fprint(w, strings.Repeat("x", 1000))
			}
			return
		}
		fmt.Fprintf(w, "%s %s", r.Header.Get("X-Kind"), got)
	})
	g := local(s)
	answer, err := g.Send(t.Context(), "POST", s.URL, http.Header{"X-Kind": {"told"}}, []byte("hello"))
	require.NoError(t, err)
	require.Equal(t, "told hello", string(answer.Body))
	_, err = g.Send(t.Context(), "POST", s.URL, nil, []byte("flood"))
	require.ErrorIs(t, err, outgoing.ErrTooLarge)
	g.Most = 1_000_000
	answer, err = g.Send(t.Context(), "POST", s.URL, nil, []byte("flood"))
	require.NoError(t, err)
	require.Len(t, answer.Body, 1_000_000)
	g.Most--
	_, err = g.Send(t.Context(), "POST", s.URL, nil, []byte("flood"))
	require.ErrorIs(t, err, outgoing.ErrTooLarge)
	_, err = g.Send(t.Context(), "POST", s.URL, nil, make([]byte, outgoing.MaxBytes+1))
	require.ErrorIs(t, err, outgoing.ErrTooLarge)
}

func TestFault62AnAnswerHasAtMost64KiBOfHeadersToo(t *testing.T) {
	s := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 32<<10))
		}
	})
	_, err := local(s).Send(t.Context(), "POST", s.URL, nil, nil)
	require.Error(t, err)

	exact := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the connection closes while the client still sends
		_, _ = w.Write(make([]byte, outgoing.MaxBytes))
	})
	answer, err := local(exact).Send(t.Context(), "POST", exact.URL, nil, make([]byte, outgoing.MaxBytes))
	require.NoError(t, err)
	require.Len(t, answer.Body, outgoing.MaxBytes)
}

// One time limit covers DNS, connection, handshake, headers and body.
func TestFault62ARequestEndsAtItsLimitOfTimeWhereverItIs(t *testing.T) {
	require.Equal(t, 5*time.Second, outgoing.DefaultBound)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	hangs := receiver(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	drips := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(time.Millisecond):
			}
		}
	})
	for name, address := range map[string]string{
		"no name": "https://nowhere.example", "no handshake": "https://" + silent.Addr().String(), "no headers": hangs.URL, "no end": drips.URL,
	} {
		g := local(hangs)
		g.Resolve = func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		g.Bound = 100 * time.Millisecond
		_, err := g.Send(t.Context(), "POST", address, nil, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
	}
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	s := receiver(t, func(http.ResponseWriter, *http.Request) {})
	_, err := local(s).Send(t.Context(), "POST", s.URL, nil, nil)
	require.NoError(t, err)
}

func TestHTTPReachesOnlyWhatIsAllowed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	var g outgoing.Guard
	_, err := g.Send(t.Context(), "POST", s.URL, nil, nil)
	require.ErrorIs(t, err, outgoing.ErrRefused)
	g.Allow, err = outgoing.ParseAllow([]string{"127.0.0.1"})
	require.NoError(t, err)
	_, err = g.Send(t.Context(), "POST", s.URL, nil, nil)
	require.NoError(t, err)
	_, err = outgoing.ParseAllow([]string{"everything"})
	require.Error(t, err)
}
