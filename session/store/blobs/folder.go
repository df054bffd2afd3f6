package blobs

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
)

// Dir is the name of the folder in a session's directory.
const Dir = "blobs"

// Folder is the blobs of one session. It is safe for concurrent use.
type Folder struct {
	// Set at construction.
	fs      disk.FS
	session string // the session's directory
	dir     string // the folder in it
	refuse  func() error
	full    func(error) error

	// records is held while the record of an upload is read and replaced.
	records sync.Mutex
}

// New returns the folder of the session in a directory. The first blob creates the
// folder. refuse returns an error if no blob may be stored now. full is called when
// there is no space, and returns the error for the caller. A Folder that is only
// read needs neither.
func New(fsys disk.FS, session string, refuse func() error, full func(error) error) *Folder {
	return &Folder{fs: fsys, session: session, dir: filepath.Join(session, Dir), refuse: refuse, full: full}
}

// PutBlob stores data on the device, so that an event may name it. Equal bytes are
// stored once. mediaType is not checked. data is not retained.
func (s *Folder) PutBlob(ctx context.Context, mediaType string, data []byte) (event.Blob, error) {
	sum := sha256.Sum256(data)
	b := event.Blob{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data)), MediaType: mediaType}
	if s.refuse() == nil && ctx.Err() == nil && s.keeps(b) {
		return b, nil
	}
	return s.PutBlobFrom(ctx, mediaType, bytes.NewReader(data))
}

// PutBlobFrom is PutBlob for a reader, which it reads to its end without holding it
// in memory. After an error of the reader nothing is stored.
func (s *Folder) PutBlobFrom(ctx context.Context, mediaType string, from io.Reader) (event.Blob, error) {
	if err := s.refuse(); err != nil {
		return event.Blob{}, err
	}
	if err := ctx.Err(); err != nil {
		return event.Blob{}, err
	}
	b, err := s.store(from)
	if err != nil {
		if disk.IsFull(err) {
			return event.Blob{}, fmt.Errorf("%w: write blob: %w", s.full(err), err)
		}
		return event.Blob{}, fmt.Errorf("write blob: %w", err)
	}
	b.MediaType = mediaType
	return b, nil
}

// BlobNames lists the blobs by the SHA-256 of their bytes, ascending.
func (s *Folder) BlobNames() ([]string, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if isName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// isName reports whether a file's name is that of a blob.
func isName(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == sha256.Size && hex.EncodeToString(sum) == name
}

// keeps reports whether the blob is on the device with the right bytes. An existing
// name does not prove that: a crash or an error may have come before its sync, and
// a damaged file would be used by every later event.
func (s *Folder) keeps(b event.Blob) bool {
	return NewCheck(s.fs, s.session).Sound(b) && s.fs.SyncDir(s.dir) == nil
}

// store writes the blob to a temporary file and renames it, so that a file with the
// name has all bytes. Two callers may store the same bytes at once; each has its
// own temporary file.
func (s *Folder) store(from io.Reader) (event.Blob, error) {
	dir, err := disk.MakeFolder(s.fs, s.session, Dir)
	if err != nil {
		return event.Blob{}, err
	}
	if err := s.fs.SyncDir(s.session); err != nil {
		return event.Blob{}, err
	}
	tmp := s.incoming()
	b, err := s.write(tmp, from)
	if err != nil {
		return event.Blob{}, err
	}
	if s.keeps(b) {
		return b, s.fs.Remove(tmp)
	}
	if err := s.fs.Rename(tmp, filepath.Join(dir, b.SHA256)); err != nil {
		return event.Blob{}, errors.Join(err, s.fs.Remove(tmp))
	}
	return b, s.fs.SyncDir(dir)
}

// write writes and syncs a file. After an error there is no file.
func (s *Folder) write(path string, from io.Reader) (event.Blob, error) {
	f, err := s.fs.Create(path)
	if err != nil {
		return event.Blob{}, err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(io.NewOffsetWriter(f, 0), hash), from)
	if errors.Is(err, io.ErrShortWrite) {
		err = disk.ErrShort
	}
	if err == nil {
		err = f.Datasync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return event.Blob{}, errors.Join(err, s.fs.Remove(path))
	}
	return event.Blob{SHA256: hex.EncodeToString(hash.Sum(nil)), Bytes: n}, nil
}

// incoming returns a new name for a temporary file.
func (s *Folder) incoming() string {
	var random [8]byte
	rand.Read(random[:]) // never fails: the program ends if there is no randomness
	return filepath.Join(s.dir, "incoming."+hex.EncodeToString(random[:])+disk.TempSuffix)
}
