package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/localhub"
)

const (
	tokenVariable = "ABIDE_TOKEN"
	// agentVariable marks every process that an agent started.
	agentVariable = "ABIDE_AGENT"
)

// Connect returns the hub a command speaks to, once it has answered: the one on
// the data directory, as the directory's owner, or the one that --hub names, by a
// token. A token that was given is also used for the hub on the data directory.
// Without a hub the exit code is 3.
func (p *Program) Connect(ctx context.Context) (*client.Hub, error) {
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	base := p.hub
	switch {
	case base == "" && token == "":
		return p.local(ctx)
	case base == "":
		if base, err = p.localAddress(); err != nil {
			return nil, err
		}
	case token == "":
		return nil, Usagef("--hub needs a token: set %s, or name a file with --token-file", tokenVariable)
	}
	return connect(ctx, base, token)
}

func (p *Program) local(ctx context.Context) (*client.Hub, error) {
	if p.variable(agentVariable) != "" {
		return nil, withCode(ExitRefused, "this runs inside an agent, which gets no credential of its own; a person can give it one in %s (`abide token`)", tokenVariable)
	}
	dir, err := p.Data()
	if err != nil {
		return nil, err
	}
	hub, err := localhub.Connect(ctx, dir)
	if errors.Is(err, localhub.ErrNoHub) {
		return nil, withCode(ExitNotFound, "%w", err)
	}
	return hub, err
}

func (p *Program) localAddress() (string, error) {
	dir, err := p.Data()
	if err != nil {
		return "", err
	}
	base, err := localhub.Address(dir)
	if errors.Is(err, localhub.ErrNoHub) {
		return "", withCode(ExitNotFound, "%w", err)
	}
	return base, err
}

func connect(ctx context.Context, base, token string) (*client.Hub, error) {
	hub, err := client.New(base, token)
	if err != nil {
		return nil, Usagef("%w", err)
	}
	if !private(base) {
		return nil, withCode(ExitRefused, "%s would carry the token over the network in the clear; use https", base)
	}
	_, err = hub.Health(ctx)
	if unreachable := (*net.OpError)(nil); errors.As(err, &unreachable) {
		err = withCode(ExitNotFound, "no hub answers at %s (`abide serve` starts one): %w", base, unreachable.Err)
	}
	if err != nil {
		hub.Close()
		return nil, err
	}
	return hub, nil
}

// private reports whether traffic to an address stays on this machine or is
// encrypted.
func private(base string) bool {
	u, err := url.Parse(base)
	if err != nil || u.Scheme == "https" || u.Hostname() == "localhost" {
		return err == nil
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback()
}

// token is the credential a person gave, or nothing.
func (p *Program) token() (string, error) {
	if p.file == "" {
		return p.variable(tokenVariable), nil
	}
	f, err := os.Open(p.file)
	if errors.Is(err, os.ErrNotExist) {
		return "", withCode(ExitNotFound, "there is no file %s", p.file)
	}
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	if open := info.Mode().Perm() &^ 0o700; open != 0 {
		return "", withCode(ExitRefused, "%s is open to others: chmod 600 %s", p.file, p.file)
	}
	data := make([]byte, 1024)
	n, err := f.Read(data)
	if err != nil || n == len(data) || strings.TrimSpace(string(data[:n])) == "" {
		return "", Usagef("%s holds no token", p.file)
	}
	return strings.TrimSpace(string(data[:n])), nil
}

func (p *Program) variable(name string) string {
	value := ""
	for _, entry := range p.Environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v // the last one counts
		}
	}
	return value
}
