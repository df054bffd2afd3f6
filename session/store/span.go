package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
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
func checksum(file io.ReaderAt, part span) (uint32, error) {
	sum := uint32(0)
	err := part.each(file, func(piece []byte, _ int64) error {
		sum = crc32.Update(sum, castagnoli, piece)
		return nil
	})
	return sum, err
}

// copySpan copies a stretch to the start of another file.
func copySpan(to File, file io.ReaderAt, part span) error {
	return part.each(file, func(piece []byte, at int64) error {
		return disk.WriteAll(to, piece, at)
	})
}

// parseHex reads a checksum as appendHex wrote it; zero if it is not one.
func parseHex(s string) uint32 {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 4 {
		return 0
	}
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// bodyTimeOf is the time in the start of a body.
func bodyTimeOf(head []byte) (time.Time, bool) {
	text, ok := bodyTime(head)
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(event.TimeLayout, text)
	return at, err == nil
}
