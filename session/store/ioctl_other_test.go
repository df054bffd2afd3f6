//go:build !linux

package store_test

import "errors"

// ioctl has no meaning for the tests elsewhere.
func ioctl(uintptr, uintptr, *uint32) error { return errors.ErrUnsupported }
