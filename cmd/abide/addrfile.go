package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// addrName is the file by which the command line finds the running hub.
const addrName = "hub.addr"

// writeAddr says where this hub listens.
func writeAddr(dir, base string) error {
	tmp, err := os.CreateTemp(dir, ".hub-*.tmp") // 0600
	if err != nil {
		return fmt.Errorf("writing %s: %w", addrName, err)
	}
	defer os.Remove(tmp.Name()) // gone already when the rename succeeded
	_, err = fmt.Fprintln(tmp, base)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", addrName, err)
	}
	if err := os.Rename(tmp.Name(), filepath.Join(dir, addrName)); err != nil {
		return fmt.Errorf("writing %s: %w", addrName, err)
	}
	return nil
}

func removeAddr(dir string) error { return os.Remove(filepath.Join(dir, addrName)) }

// runningHub returns where the hub of a data directory listens, or errNoHub.
// The file of a hub that was killed is still there, so it is asked whether
// anybody answers.
func runningHub(dir string) (base string, err error) {
	data, err := os.ReadFile(filepath.Join(dir, addrName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoHub
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", addrName, err)
	}
	base = strings.TrimSpace(string(data))
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(base, "http://"), 2*time.Second)
	if err != nil {
		return "", errNoHub
	}
	conn.Close()
	return base, nil
}

// errNoHub says that no hub runs on the data directory.
var errNoHub = errors.New("no hub is running on this data directory; `abide serve` starts one")
