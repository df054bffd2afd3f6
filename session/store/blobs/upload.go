package blobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// uploadRecord is the record of an upload, a file next to the blob for each name
// and type. So two uploads of the same bytes under other names never write the same
// file.
type uploadRecord struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	// UploadedAt is the time of the last upload; records of earlier versions have
	// none.
	UploadedAt time.Time `json:"uploaded_at,omitzero"`
	// Named means that an event of the log names the blob, or a job was given it.
	Named bool `json:"named,omitempty"`
}

// kept reports whether the upload is never stale.
func (r uploadRecord) kept() bool { return r.Named || r.UploadedAt.IsZero() }

// NoteUpload records on the device the name, type and time of a blob's upload. The
// blob must exist.
func (s *Folder) NoteUpload(ctx context.Context, a event.Attachment, at time.Time) error {
	if err := s.refuse(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.records.Lock()
	defer s.records.Unlock()
	path := s.uploadPath(a)
	if r, err := s.uploadRecord(path); err == nil && r.kept() {
		// A crash may have come between creating the name and syncing it.
		return s.fs.SyncDir(s.dir)
	}
	return s.keepUpload(path, uploadRecord{Name: a.Name, MediaType: a.MediaType, UploadedAt: at.UTC()})
}

func (s *Folder) uploadRecord(path string) (r uploadRecord, err error) {
	data, err := s.fs.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return r, nil
}

func (s *Folder) keepUpload(path string, r uploadRecord) error {
	record, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode upload: %w", err)
	}
	if err := s.place(path, record); err != nil {
		if disk.IsFull(err) {
			return fmt.Errorf("%w: write upload: %w", s.full(err), err)
		}
		return fmt.Errorf("write upload: %w", err)
	}
	return nil
}

func (s *Folder) place(path string, record []byte) error {
	tmp := s.incoming()
	if _, err := s.write(tmp, bytes.NewReader(record)); err != nil {
		return err
	}
	if err := s.fs.Rename(tmp, path); err != nil {
		return errors.Join(err, s.fs.Remove(tmp))
	}
	return s.fs.SyncDir(s.dir)
}

// Upload returns the record of an uploaded file. The claim's hash identifies the
// blob; its name and type select between several uploads of the same bytes. Bytes
// is the blob's size. A blob that was never uploaded is ErrNotFound, also if the
// log itself stored a blob with that hash.
func (s *Folder) Upload(claim event.Attachment) (event.Attachment, error) {
	blob, err := s.OpenBlob(claim.SHA256)
	if errors.Is(err, journal.ErrDamaged) {
		return event.Attachment{}, fmt.Errorf("%w: upload it again: %w", journal.ErrNotFound, err)
	}
	if err != nil {
		return event.Attachment{}, err
	}
	size, err := blob.Seek(0, io.SeekEnd)
	if err := errors.Join(err, blob.Close()); err != nil {
		return event.Attachment{}, fmt.Errorf("open blob: %w", err)
	}
	path := s.uploadPath(claim)
	record, err := s.uploadRecord(path)
	if errors.Is(err, fs.ErrNotExist) {
		if path, err = s.firstUpload(claim.SHA256); err == nil {
			record, err = s.uploadRecord(path)
		}
	}
	if err != nil {
		return event.Attachment{}, err
	}
	return event.Attachment{Name: record.Name, MediaType: record.MediaType, Bytes: size, SHA256: claim.SHA256}, nil
}

// firstUpload returns one record of a blob, always the same one.
func (s *Folder) firstUpload(sha string) (string, error) {
	dir := s.dir
	names, err := s.fs.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("find upload: %w", err)
	}
	first := ""
	for _, n := range names {
		if name := n.Name(); strings.HasPrefix(name, sha+".") && (first == "" || name < first) {
			first = name
		}
	}
	if first == "" {
		return "", fmt.Errorf("%w: blob %s was not uploaded", journal.ErrNotFound, sha)
	}
	return filepath.Join(dir, first), nil
}

// Uploaded reports whether a blob with this hash was uploaded.
func (s *Folder) Uploaded(sha string) bool {
	_, err := s.firstUpload(sha)
	return err == nil
}

// UploadSize returns the size and the number of the uploaded blobs.
func (s *Folder) UploadSize() (bytes int64, files int, err error) {
	byBlob, err := s.uploads()
	for sha := range byBlob {
		if info, err := s.fs.Stat(filepath.Join(s.dir, sha)); err == nil {
			bytes, files = bytes+info.Size(), files+1
		}
	}
	return bytes, files, err
}

// uploadPath is where the record of an upload is.
func (s *Folder) uploadPath(a event.Attachment) string {
	sum := sha256.Sum256([]byte(a.Name + "\x00" + a.MediaType))
	return filepath.Join(s.dir, a.SHA256+"."+hex.EncodeToString(sum[:8]))
}
