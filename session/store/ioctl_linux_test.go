package store_test

import (
	"os"
	"syscall"
	"unsafe"
)

// ioctl is ioctl(2) with a pointer to a number.
func ioctl(fd uintptr, request uintptr, value *uint32) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(value)))
	if errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}
