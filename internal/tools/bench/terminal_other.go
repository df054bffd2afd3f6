//go:build !linux

package main

import "context"

func measureTerminal(_ context.Context, b *bench) error {
	b.detail("a terminal's screens: measured on Linux only")
	return nil
}
