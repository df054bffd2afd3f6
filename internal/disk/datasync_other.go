//go:build !linux

package disk

import "os"

// datasync is fsync where fdatasync does not exist (macOS: F_FULLFSYNC).
func datasync(f *os.File) error { return f.Sync() }
