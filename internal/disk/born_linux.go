package disk

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Born says when a file was made, empty where the file system does not know. A
// write or a rename leaves it as it is, and no program can set it, so a copy has
// another.
func (osFS) Born(name string) (string, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st); err != nil {
		return "", &os.PathError{Op: "statx", Path: name, Err: err}
	}
	if st.Mask&unix.STATX_BTIME == 0 || st.Btime.Sec <= 0 {
		return "", nil
	}
	return fmt.Sprintf("%d.%09d", st.Btime.Sec, st.Btime.Nsec), nil
}
