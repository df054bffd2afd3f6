package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// becomeUndumpable keeps other processes of the same user from reading this one's
// memory and environment in /proc, and from attaching a debugger. A program that
// this process starts is readable again.
func becomeUndumpable() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hiding the hub's environment from other processes: %w", err)
	}
	return nil
}
