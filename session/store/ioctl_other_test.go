//go:build !linux

package store_test

import "errors"

// ioctl is not used on other systems.
func ioctl(uintptr, uintptr, *uint32) error { return errors.ErrUnsupported }
