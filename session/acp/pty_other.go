//go:build unix && !linux

package acp

import "os"

// openTerminal makes a terminal; abide does so on Linux only.
func openTerminal() (pty, tty *os.File, err error) { return nil, nil, ErrNoTerminal }
