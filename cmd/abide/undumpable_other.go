//go:build !linux

package main

// becomeUndumpable does nothing: this system does not show environments in /proc.
func becomeUndumpable() error { return nil }
