//go:build unix && !linux

package acp

import "context"

// descendants finds no process on these systems, which cannot list descendants
// without races with reused pids.
type descendants struct{}

func newDescendants(int) *descendants { return &descendants{} }

func (*descendants) look() {}

func (*descendants) living(context.Context) []proc { return nil }
