package logfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/abidehub/abide/internal/disk"
)

// copyBytes is how much of a file is copied at once.
const copyBytes = 1 << 20

// Span is a stretch of bytes in a file.
type Span struct{ Offset, Size int64 }

// each calls f with the bytes of a stretch, piece by piece.
func (p Span) each(file io.ReaderAt, f func(piece []byte, at int64) error) error {
	buf := make([]byte, min(p.Size, copyBytes))
	for done := int64(0); done < p.Size; {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), p.Size-done)], p.Offset+done)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read log at %d: %w", p.Offset+done, err)
		}
		if err := f(buf[:n], done); err != nil {
			return err
		}
		done += int64(n)
	}
	return nil
}

// Checksum is the CRC-32C of the stretch. io.ErrUnexpectedEOF if the file is shorter.
func (p Span) Checksum(file io.ReaderAt) (uint32, error) {
	sum := uint32(0)
	err := p.each(file, func(piece []byte, _ int64) error {
		sum = crc32.Update(sum, castagnoli, piece)
		return nil
	})
	return sum, err
}

// CopyTo writes the bytes of the stretch to a file, at offset at. It may be the same file
// if the places do not overlap, or are the same. io.ErrUnexpectedEOF if file is shorter.
func (p Span) CopyTo(to disk.File, at int64, file io.ReaderAt) error {
	return p.each(file, func(piece []byte, done int64) error {
		return disk.WriteAll(to, piece, at+done)
	})
}
