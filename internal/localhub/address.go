// Package localhub finds the hub that runs on a data directory, and speaks to it
// as the directory's owner.
//
// A running hub writes where it listens into hub.addr. The command line keeps
// its own credential in cli.json beside it:
//
//	{"token":"abide_…","expires_at":"2026-02-21T15:03:07Z"}
//
// The token is an ordinary owner's token named "command line" that lasts an
// hour. Both files are 0600 and replaced whole.
package localhub

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/disk"
)

const (
	addressName = "hub.addr"
	// knock bounds asking whether a hub answers.
	knock = 2 * time.Second
)

// ErrNoHub says that no hub runs on the data directory.
var ErrNoHub = errors.New("no hub is running on this data directory; `abide serve` starts one")

// Announce writes where the hub of a data directory listens.
func Announce(dir, base string) error {
	if err := disk.ReplaceAmong(disk.OS(), filepath.Join(dir, addressName), []byte(base+"\n")); err != nil {
		return fmt.Errorf("writing %s: %w", addressName, err)
	}
	return nil
}

// Withdraw takes the announcement back.
func Withdraw(dir string) error { return os.Remove(filepath.Join(dir, addressName)) }

// Address returns where the hub of a data directory listens, or ErrNoHub. A hub
// that was killed leaves its announcement, so Address also connects.
func Address(dir string) (string, error) {
	base, err := announced(dir)
	if err != nil {
		return "", err
	}
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(base, "http://"), knock)
	if err != nil {
		return "", ErrNoHub
	}
	conn.Close()
	return base, nil
}

func announced(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, addressName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoHub
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", addressName, err)
	}
	return strings.TrimSpace(string(data)), nil
}
