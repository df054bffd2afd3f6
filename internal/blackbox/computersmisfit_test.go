package blackbox_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withoutUpgrade is a proxy that lets no WebSocket through.
func withoutUpgrade(to, at string) *httptest.Server {
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: to})
		r.Out.Host = r.In.Host
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Connection")
	}}
	return serveAt(at, proxy)
}

// serveAt serves at an address.
func serveAt(at string, handler http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(handler)
	s.Listener.Close()
	var err error
	if s.Listener, err = net.Listen("tcp", at); err != nil {
		panic(err)
	}
	s.Start()
	return s
}

// buffers is a proxy that passes a response's head on, and of a WebSocket nothing.
func buffers(t *testing.T, to, at string) {
	listener, err := net.Listen("tcp", at)
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				server, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer server.Close()
				go io.Copy(server, client)
				buf := make([]byte, 32<<10)
				for socket := false; ; {
					n, err := server.Read(buf)
					if err != nil {
						return
					}
					if end := bytes.Index(buf[:n], []byte("\r\n\r\n")); bytes.HasPrefix(buf[:n], []byte("HTTP/1.1 101 ")) && end > 0 {
						_, _ = client.Write(buf[:end+4])
						socket = true
					} else if !socket {
						_, _ = client.Write(buf[:n])
					}
				}
			}()
		}
	}()
}

// TestWhatIsWrongBetweenComputersIsSaid has each misconfiguration, what the command says and its
// exit code. Other versions and other clocks are in package machines.
func TestWhatIsWrongBetweenComputersIsSaid(t *testing.T) {
	t.Parallel()
	plain, buffering := lasting(t), lasting(t)
	c := newStrangers(t, settings{})
	home, machine := c.home, c.machine
	third := newHub(t, settings{more: "agents: {}\n", agents: map[string]agent{}})
	home.stop()
	config, err := os.ReadFile(home.config)
	require.NoError(t, err)
	config = bytes.Replace(config, []byte("public_names: ["), fmt.Appendf(nil, "public_names: [%q, %q, ", plain, buffering), 1)
	require.NoError(t, os.WriteFile(home.config, config, 0o600))
	home.start()
	t.Cleanup(withoutUpgrade(home.addr, plain).Close)
	buffers(t, home.addr, buffering)
	older := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(older.Close)
	strange := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	t.Cleanup(strange.Close)
	foreign := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(foreign.Close)
	down := lasting(t)

	// by is a new link with another address.
	by := func(address string) string {
		_, code, _ := strings.Cut(c.link(), "#")
		return "http://" + address + "/#" + code
	}
	used, ofMachine := c.link(), "http://"+machine.addr+"/#"
	{
		made, err := machine.hub.MachineLink(t.Context())
		require.NoError(t, err)
		_, code, _ := strings.Cut(made.URL, "#")
		ofMachine += code
	}
	type row struct {
		name  string
		at    *hub
		args  []string
		code  int
		words string
	}
	check := func(r row) {
		t.Helper()
		out, errs, code := r.at.run(r.args[0], r.args[1:]...)
		require.Equal(t, r.code, code, "%s: %s%s", r.name, out, errs)
		require.Contains(t, errs, r.words, r.name)
		require.Len(t, strings.Split(strings.TrimSpace(errs), "\n"), 1, "%s: one line: %s", r.name, errs)
		t.Logf("%s: exit %d: %s", r.name, code, strings.TrimSpace(errs))
	}
	said := func(name, words string) {
		t.Helper()
		var errs string
		c.until(name, func() bool {
			_, errs, _ = machine.run("machines")
			return strings.Contains(errs, words)
		})
		t.Logf("%s: %s", name, strings.TrimSpace(errs))
	}
	for _, r := range []row{
		{"home is itself", home, []string{"join", c.link()}, 4, "this hub and home are the same"},
		{"http elsewhere", machine, []string{"join", "http://home.example/#join=x"}, 2, "is not encrypted: home needs https"},
		{"no link", machine, []string{"join", "https://home.example/"}, 2, "the link has no code"},
		{"a wrong code", machine, []string{"join", "http://" + home.addr + "/#join=" + strings.Repeat("0", 64)}, 4, "was used, has expired or is not of this hub"},
		{"home is down", machine, []string{"join", "http://" + down + "/#join=x"}, 1, "home cannot be reached"},
		{"an older home", machine, []string{"join", older.URL + "/#join=x"}, 4, "not abide, or an older one without machines"},
		{"not abide", machine, []string{"join", strange.URL + "/#join=x"}, 4, "not abide, or an older one without machines"},
		{"a foreign certificate", machine, []string{"join", foreign.URL + "/#join=x"}, 1, "certificate"},
		{"it joins", machine, []string{"join", used, "--name", "laptop"}, 0, "joined http://"},
		{"it has a home", machine, []string{"join", c.link()}, 4, "has a home already"},
		{"a machine is no home", machine, []string{"machines", "add"}, 4, "a home has no home of its own"},
		{"home has joined a home", third, []string{"join", ofMachine}, 4, "has joined a home itself"},
		{"a home joins", home, []string{"join", "http://" + third.addr + "/#join=x"}, 4, "machines have joined this hub"},
	} {
		check(r)
	}
	c.until("connected", func() bool { return c.connected() && c.atMachine() == "connected" })
	require.NoError(t, c.network.tell("rst"))
	c.until("connected after a cut", func() bool { return c.connected() && c.atMachine() == "connected" })
	said("a proxy that cuts", ": connected. Home may")
	check(row{"it leaves", machine, []string{"leave"}, 0, "left home, which forgets this machine"})
	check(row{"a used code", machine, []string{"join", used}, 4, "was used, has expired or is not of this hub"})

	check(row{"a proxy without WebSockets", machine, []string{"join", by(plain)}, 0, "joined http://"})
	said("a proxy without WebSockets", "lets no WebSocket through")
	check(row{"it leaves", machine, []string{"leave"}, 0, "left home, which cannot be told now"})
	check(row{"a proxy that buffers", machine, []string{"join", by(buffering)}, 0, "joined http://"})
	said("a proxy that buffers", "must not buffer a WebSocket")
	check(row{"it leaves", machine, []string{"leave"}, 0, "left home, which cannot be told now"})

	old := c.link()
	home.stop()
	record := filepath.Join(home.data, "machines.json")
	links, err := os.ReadFile(record)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(record, regexp.MustCompile(`"expires_at": "20\d\d`).ReplaceAll(links, []byte(`"expires_at": "2020`)), 0o600))
	home.start()
	check(row{"an expired code", machine, []string{"join", old}, 4, "was used, has expired or is not of this hub"})
	check(row{"it joins again", machine, []string{"join", c.link()}, 0, "joined http://"})
}
