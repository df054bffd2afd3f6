package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/abidehub/abide/internal/disk"
)

// copyBytes is how much of a file is copied at once.
const copyBytes = 1 << 20

// each calls f with the bytes of a stretch, piece by piece.
func (p span) each(file io.ReaderAt, f func(piece []byte, at int64) error) error {
	buf := make([]byte, min(p.size, copyBytes))
	for done := int64(0); done < p.size; {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), p.size-done)], p.offset+done)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read log at %d: %w", p.offset+done, err)
		}
		if err := f(buf[:n], done); err != nil {
			return err
		}
		done += int64(n)
	}
	return nil
}

// checksum is the CRC-32C of a stretch.
func (p span) checksum(file io.ReaderAt) (uint32, error) {
	sum := uint32(0)
	err := p.each(file, func(piece []byte, _ int64) error {
		sum = crc32.Update(sum, castagnoli, piece)
		return nil
	})
	return sum, err
}

// copyTo copies a stretch to another file, at offset at.
func (p span) copyTo(to File, at int64, file io.ReaderAt) error {
	return p.each(file, func(piece []byte, done int64) error {
		return disk.WriteAll(to, piece, at+done)
	})
}
