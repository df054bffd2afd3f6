package filestate

import (
	"io/fs"
	"syscall"
)

// changedAt is when a file's entry last changed, in nanoseconds, and its number.
func changedAt(info fs.FileInfo) (int64, uint64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim.Nano(), stat.Ino
	}
	return 0, 0
}
