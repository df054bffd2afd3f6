package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync leaves out the timestamps, which abide does not use and which would cost
// a second journal commit.
func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
