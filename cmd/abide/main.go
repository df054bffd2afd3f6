// Command abide runs coding agents while you are away, and lets any screen join a
// session at any moment.
//
// This package only connects the parts: it reads flags and configuration, builds
// the parts of the command, runs it and stops it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The first signal stops the program cleanly; a second one ends it at once, as
	// by default. Under nohup, SIGHUP stays ignored.
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	go func() {
		<-ctx.Done()
		stop()
	}()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
