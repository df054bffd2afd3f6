// Package packed keeps files that do not change compressed, and opens them as if they were
// not. A packed file has the name of the plain one with Suffix. If both are there, the plain
// one counts.
package packed

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/abidehub/abide/internal/disk"
)

// Suffix ends the name of a packed file. `zstd -d` unpacks it.
const Suffix = ".zst"

const (
	// tempName is a packed file being made, beside the plain one.
	tempName = ".packing" + disk.TempSuffix
	// unpackedPrefix begins the names of unpacked copies, which lose their names at once.
	unpackedPrefix = ".unpacked-"
	// chunk is how much is read and written at once.
	chunk = 256 << 10
)

// IsTemp reports whether a name is that of a packed file being made.
func IsTemp(name string) bool { return name == tempName }

// Make compresses the file at path into a durable file beside it, compares the two, and
// returns the name under which it is. Replace gives it its own. When ctx ends it stops.
func Make(ctx context.Context, fsys disk.FS, path string) (temp string, err error) {
	plain, err := fsys.Open(path)
	if err != nil {
		return "", err
	}
	defer plain.Close() // it was only read from
	size, err := disk.Size(plain)
	if err != nil {
		return "", err
	}
	temp = filepath.Join(filepath.Dir(path), tempName)
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	to, err := fsys.Create(temp)
	if err != nil {
		return "", err
	}
	err = compress(ctx, to, io.NewSectionReader(plain, 0, size))
	if err == nil {
		err = to.Datasync()
	}
	if err == nil {
		err = compare(ctx, to, io.NewSectionReader(plain, 0, size))
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("compress %s: %w", path, err), fsys.Remove(temp))
	}
	return temp, nil
}

// Replace puts what Make made in the place of the plain file. After a crash the plain file is
// there, or the packed one, or both.
func Replace(fsys disk.FS, temp, path string) error {
	if err := fsys.Rename(temp, path+Suffix); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := fsys.SyncDir(dir); err != nil {
		return err
	}
	if err := fsys.Remove(path); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

// compress writes what from has into a new file.
func compress(ctx context.Context, to disk.File, from io.Reader) error {
	w, err := zstd.NewWriter(&writer{file: to}, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, &reader{ctx: ctx, from: from}, make([]byte, chunk))
	return errors.Join(err, w.Close())
}

// compare reports an error unless a packed file has exactly what want has.
func compare(ctx context.Context, packed disk.File, want io.Reader) error {
	return decompress(ctx, packed, func(got []byte) error {
		same := make([]byte, len(got))
		if _, err := io.ReadFull(want, same); err != nil || !bytes.Equal(got, same) {
			return errors.Join(errors.New("what was compressed is not what was there"), err)
		}
		return nil
	}, func() error {
		if n, _ := io.ReadFull(want, make([]byte, 1)); n > 0 {
			return errors.New("what was compressed lacks the end")
		}
		return nil
	})
}

// errDamaged means that a packed file is not one that was made, from a place on.
var errDamaged = errors.New("damaged")

// decompress calls take with the parts of a packed file, in order, and then end. After
// errDamaged what was taken is the beginning, but for its last parts.
func decompress(ctx context.Context, packed disk.File, take func([]byte) error, end func() error) error {
	size, err := disk.Size(packed)
	if err != nil {
		return err
	}
	from := &reader{ctx: ctx, from: io.NewSectionReader(packed, 0, size)}
	r, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]byte, chunk)
	for {
		n, err := r.Read(buf)
		if err := take(buf[:n]); err != nil {
			return err
		}
		if err == io.EOF {
			return end()
		}
		if err != nil && from.failed != nil {
			return from.failed
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
}

// Open opens the file at path for reading. If only the packed one is there, it is unpacked
// into a file without a name in the directory temp, which ends with the last reader. Of a
// damaged one that file has the beginning, as a plain one that was cut off.
// fs.ErrNotExist if there is neither.
func Open(fsys disk.FS, path, temp string) (disk.File, error) {
	file, missing := fsys.Open(path)
	if !errors.Is(missing, fs.ErrNotExist) {
		return file, missing
	}
	packed, err := fsys.Open(path + Suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	defer packed.Close() // it was only read from
	file, err = unpack(fsys, packed, temp)
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", path+Suffix, err)
	}
	return file, nil
}

func unpack(fsys disk.FS, packed disk.File, temp string) (file disk.File, err error) {
	if err := fsys.Mkdir(temp); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	names, _ := fsys.ReadDir(temp)
	for _, n := range names { // of a program that was killed; one in use needs no name
		if strings.HasPrefix(n.Name(), unpackedPrefix) {
			_ = fsys.Remove(filepath.Join(temp, n.Name()))
		}
	}
	id := make([]byte, 8)
	rand.Read(id)
	name := filepath.Join(temp, unpackedPrefix+hex.EncodeToString(id))
	if file, err = fsys.Create(name); err != nil {
		return nil, err
	}
	at := int64(0)
	err = decompress(context.Background(), packed, func(part []byte) error {
		err := disk.WriteAll(file, part, at)
		at += int64(len(part))
		return err
	}, func() error { return nil })
	if errors.Is(err, errDamaged) {
		err = nil
	}
	if gone := fsys.Remove(name); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Stat describes the plain file at path, else the packed one.
func Stat(fsys disk.FS, path string) (fs.FileInfo, error) {
	info, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fsys.Stat(path + Suffix)
	}
	return info, err
}

// Remove removes the plain file at path and the packed one. fs.ErrNotExist if there is
// neither.
func Remove(fsys disk.FS, path string) error {
	plain, packed := fsys.Remove(path), fsys.Remove(path+Suffix)
	switch {
	case errors.Is(packed, fs.ErrNotExist):
		return plain
	case errors.Is(plain, fs.ErrNotExist):
		return packed
	}
	return errors.Join(plain, packed)
}

// writer writes to a file from its beginning on.
type writer struct {
	file disk.File
	at   int64
}

func (w *writer) Write(p []byte) (int, error) {
	if err := disk.WriteAll(w.file, p, w.at); err != nil {
		return 0, err
	}
	w.at += int64(len(p))
	return len(p), nil
}

// reader reads until its context ends.
type reader struct {
	ctx    context.Context
	from   io.Reader
	failed error // the error of reading, nil at the end
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := 0, r.ctx.Err()
	if err == nil {
		n, err = r.from.Read(p)
	}
	if err != nil && err != io.EOF {
		r.failed = err
	}
	return n, err
}
