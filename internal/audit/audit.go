// Package audit keeps the list of grants, answers, deletions and refusals.
//
// It is audit.jsonl in the data directory, 0600, one JSON object a line:
//
//	{"seq":7,"time":"…","verb":"token_made","by":"command line","by_id":"uid:1000","peer":"local","session_id":"…","detail":"…"}
//
// At 8 MiB the file becomes audit.1.jsonl, in place of the one before, and a new one
// begins; seq goes on. Several processes may append: each does so under a lock on
// audit.lock. A line that a crash cut off is read past.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	fileName     = "audit.jsonl"
	previousName = "audit.1.jsonl"
	lockName     = "audit.lock"

	// maxFile is the size at which a new file begins.
	maxFile = 8 << 20
	// maxText bounds each text of a record, in bytes.
	maxText = 512
	// maxLine bounds a line: six texts of escaped bytes.
	maxLine = 6*6*maxText + 1024
)

// Verb is the kind of an action.
type Verb string

// The verbs.
const (
	PairingLink      Verb = "pairing_link"      // a link that pairs one browser was made
	DevicePaired     Verb = "device_paired"     // detail: id, name
	TokenMade        Verb = "token_made"        // detail: id, name, scope
	AccessRenamed    Verb = "access_renamed"    // detail: id, name
	AccessRevoked    Verb = "access_revoked"    // detail: id
	RuleAdded        Verb = "rule_added"        // detail: the rule
	RuleRevoked      Verb = "rule_revoked"      // detail: the rule's id
	PermissionAnswer Verb = "permission_answer" // detail: outcome and permission's id
	FolderMade       Verb = "folder_made"       // detail: its path
	FolderAllowed    Verb = "folder_allowed"    // detail: its path; it was written into the configuration
	NameAdded        Verb = "public_name_added" // detail: the name; it was written into the configuration
	SessionDeleted   Verb = "session_deleted"
	SignInFailed     Verb = "sign_in_failed" // detail: why
)

// Record is one line.
type Record struct {
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	Verb Verb      `json:"verb"`
	// By is the actor's name at that time, ByID the credential's id.
	By   string `json:"by,omitempty"`
	ByID string `json:"by_id,omitempty"`
	// Peer is the address that the request came from.
	Peer      string `json:"peer,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Detail    string `json:"detail,omitempty"`
}

// Trail is the audit file of a data directory. Its methods may be called at any time
// from any goroutine. The zero Trail keeps nothing.
type Trail struct{ dir string }

// Open returns the trail of a data directory, which must exist.
func Open(dir string) Trail { return Trail{dir} }

// Append writes a record, which gets the next seq and the time. It is on the device
// when Append returns.
func (t Trail) Append(r Record) (err error) {
	if t.dir == "" {
		return nil
	}
	lock := flock.New(filepath.Join(t.dir, lockName), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock audit trail: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	path := filepath.Join(t.dir, fileName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open audit trail: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	last, torn, size, err := end(f)
	if err != nil {
		return fmt.Errorf("read audit trail: %w", err)
	}
	if size == 0 {
		if last, err = t.lastOfPrevious(); err != nil {
			return err
		}
	}
	r.Seq, r.Time = last+1, time.Now().UTC().Truncate(time.Millisecond)
	line, err := encode(r)
	if err != nil {
		return err
	}
	if torn {
		line = append([]byte{'\n'}, line...)
	}
	if _, err := f.Write(line); err != nil {
		return fmt.Errorf("write audit trail: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync audit trail: %w", err)
	}
	if size+int64(len(line)) < maxFile {
		return nil
	}
	if err := os.Rename(path, filepath.Join(t.dir, previousName)); err != nil {
		return fmt.Errorf("begin a new audit file: %w", err)
	}
	return nil
}

// After returns at most limit records whose seq is greater, oldest first.
func (t Trail) After(seq int64, limit int) ([]Record, error) {
	records := []Record{}
	if t.dir == "" {
		return records, nil
	}
	// Renamed between the two, a file would be missed. Under the lock it is not.
	lock := flock.New(filepath.Join(t.dir, lockName), flock.SetPermissions(0o600))
	if err := lock.RLock(); err != nil {
		return nil, fmt.Errorf("lock audit trail: %w", err)
	}
	defer lock.Close()
	for _, name := range []string{previousName, fileName} {
		f, err := os.Open(filepath.Join(t.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open audit trail: %w", err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, maxFile)
		for len(records) < limit && lines.Scan() {
			var r Record
			if json.Unmarshal(lines.Bytes(), &r) == nil && r.Seq > seq {
				records = append(records, r)
			}
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return nil, fmt.Errorf("read audit trail: %w", err)
		}
	}
	return records, nil
}

// lastOfPrevious is the last seq of the file before this one.
func (t Trail) lastOfPrevious() (int64, error) {
	f, err := os.Open(filepath.Join(t.dir, previousName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open audit trail: %w", err)
	}
	defer f.Close()
	last, _, _, err := end(f)
	if err != nil {
		return 0, fmt.Errorf("read audit trail: %w", err)
	}
	return last, nil
}

// end reads a file's last whole record, and whether its last line was cut off.
func end(f *os.File) (seq int64, torn bool, size int64, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, false, 0, err
	}
	size = info.Size()
	tail := make([]byte, min(size, 2*maxLine))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, false, 0, err
	}
	torn = tail[len(tail)-1] != '\n'
	for line := range bytes.SplitSeq(tail, []byte{'\n'}) {
		var r Record
		if json.Unmarshal(line, &r) == nil {
			seq = max(seq, r.Seq)
		}
	}
	return seq, torn, size, nil
}

func encode(r Record) ([]byte, error) {
	for _, text := range []*string{&r.By, &r.ByID, &r.Peer, &r.SessionID, &r.Detail} {
		if len(*text) > maxText {
			*text = (*text)[:maxText]
		}
	}
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode audit record: %w", err)
	}
	return append(line, '\n'), nil
}
