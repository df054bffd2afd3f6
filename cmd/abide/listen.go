package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
)

// listen opens the loopback addresses a hub answers on. With 127.0.0.1 or localhost
// that is ::1 as well, on the same port: browsers try either for localhost, and no
// other program must get there first. The first listener's address is the one to
// tell people.
func listen(ctx context.Context, addr string) ([]net.Listener, error) {
	for try := 0; ; try++ {
		listeners, err := listenOnce(ctx, addr)
		// A free port of one address may be taken on the other.
		if err == nil || try == 5 || !strings.HasSuffix(addr, ":0") {
			return listeners, err
		}
	}
}

func listenOnce(ctx context.Context, addr string) ([]net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, usagef("%q is not HOST:PORT", addr)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	first, err := listenOn(ctx, net.JoinHostPort(host, port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %s is in use (is abide running already?): --addr %s:0 picks a free one", port, host)
	}
	if err != nil {
		return nil, err
	}
	listeners := []net.Listener{first}
	if host != "127.0.0.1" {
		return listeners, nil
	}
	_, port, err = net.SplitHostPort(first.Addr().String())
	if err != nil {
		return nil, errors.Join(err, first.Close())
	}
	second, err := listenOn(ctx, net.JoinHostPort("::1", port))
	switch {
	case err == nil:
		listeners = append(listeners, second)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, errors.Join(fmt.Errorf("port %s is in use on ::1: --addr %s:0 picks a free one", port, host), first.Close())
	}
	// Any other error means that this machine has no IPv6.
	return listeners, nil
}

// listenOn has the system notice peers that vanished.
func listenOn(ctx context.Context, addr string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30e9, Interval: 10e9, Count: 3}}
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", addr, err)
	}
	return l, nil
}

// addressesOf lists where listeners listen, as host:port.
func addressesOf(listeners []net.Listener) []string {
	var addresses []string
	for _, l := range listeners {
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}
