package blobs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/journal"
)

// verifiedAtOnce is the size up to which a blob is verified when it is opened.
// Reading a larger one twice would cost more than finding the damage at its end.
const verifiedAtOnce = 16 << 20

// OpenBlob opens a blob by the SHA-256 of its bytes, 64 hex digits. The caller
// closes it. A damaged blob cannot be read to its end: one of up to 16 MiB is
// ErrDamaged here, and reading a larger one fails with ErrDamaged before its last
// bytes. The reader's Name is the absolute path of the file.
func (s *Folder) OpenBlob(sha string) (io.ReadSeekCloser, error) {
	sum, err := hex.DecodeString(sha)
	if err != nil || !isName(sha) {
		return nil, fmt.Errorf("%w: blob %q", journal.ErrNotFound, sha)
	}
	path := filepath.Join(s.dir, sha)
	f, err := s.fs.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: blob %s", journal.ErrNotFound, sha)
	}
	if errors.Is(err, disk.ErrNoFile) {
		return nil, fmt.Errorf("%w: blob %s: %w", journal.ErrDamaged, sha, disk.ErrNoFile)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	size, err := disk.Size(f)
	b := &blobReader{file: f, part: io.NewSectionReader(f, 0, size), path: path, want: sum, hash: sha256.New()}
	if err == nil && size <= verifiedAtOnce {
		err = b.verify()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open blob: %w", err), f.Close())
	}
	return b, nil
}

// blobReader is an open blob. It is not safe for concurrent use.
type blobReader struct {
	file disk.File
	part *io.SectionReader
	path string
	want []byte // expected hash

	hash   hash.Hash // of the first hashed bytes
	hashed int64
	sound  bool // all of it was verified
}

// verify reads the whole file and does not move the reader's position.
func (b *blobReader) verify() error {
	whole := sha256.New()
	n, err := io.Copy(whole, io.NewSectionReader(b.file, 0, b.part.Size()))
	if err != nil {
		return err
	}
	return b.judge(whole, n)
}

// judge checks the hash after the whole blob was read.
func (b *blobReader) judge(read hash.Hash, n int64) error {
	if n != b.part.Size() || !bytes.Equal(read.Sum(nil), b.want) {
		return fmt.Errorf("%w: blob %x", journal.ErrDamaged, b.want)
	}
	b.sound = true
	return nil
}

// Read implements io.Reader. It withholds the last bytes until the blob is
// verified.
func (b *blobReader) Read(p []byte) (int, error) {
	if !b.sound {
		if err := b.meet(); err != nil {
			return 0, err
		}
	}
	n, err := b.part.Read(p)
	if b.sound || n == 0 {
		return n, err
	}
	b.hash.Write(p[:n])
	if b.hashed += int64(n); b.hashed == b.part.Size() {
		if err := b.judge(b.hash, b.hashed); err != nil {
			return 0, err
		}
	}
	return n, err
}

// meet makes the hash cover everything before the reader's position, which Seek may
// have moved. After a seek to the middle, it reads the part before.
func (b *blobReader) meet() error {
	at, err := b.part.Seek(0, io.SeekCurrent)
	if err != nil || at == b.hashed {
		return err
	}
	if at != 0 {
		return b.verify()
	}
	b.hash.Reset()
	b.hashed = 0
	return nil
}

// Seek implements io.Seeker.
func (b *blobReader) Seek(offset int64, whence int) (int64, error) {
	return b.part.Seek(offset, whence)
}

// Close implements io.Closer.
func (b *blobReader) Close() error { return b.file.Close() }

// Name returns the absolute path of the blob's file, for an agent that cannot take
// the bytes.
func (b *blobReader) Name() string { return b.path }
