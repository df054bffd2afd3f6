package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/abidehub/abide/session/event"
)

// quarantine copies a stretch of a file into the session's quarantine, on the
// device before it returns. The name follows from the bytes, so the same bytes
// are kept once.
func quarantine(fsys FS, dir, kind string, file io.ReaderAt, part span) (string, error) {
	folder := filepath.Join(dir, quarantineDir)
	if err := fsys.Mkdir(folder); err != nil {
		return "", fmt.Errorf("make quarantine: %w", err)
	}
	sum, err := checksum(file, part)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-at-%d-%s", kind, part.offset, appendHex(nil, sum))
	path := filepath.Join(folder, name)
	if info, err := fsys.Stat(path); err == nil && info.Size() == part.size {
		return filepath.Join(quarantineDir, name), nil
	}
	tmp := path + tempSuffix
	if err := fsys.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("remove stale %s: %w", name, err)
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return "", fmt.Errorf("make %s: %w", name, err)
	}
	err = copySpan(f, file, part)
	if err == nil {
		err = f.Datasync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", name, errors.Join(err, fsys.Remove(tmp)))
	}
	if err := fsys.Rename(tmp, path); err != nil {
		return "", fmt.Errorf("place %s: %w", name, err)
	}
	return filepath.Join(quarantineDir, name), errors.Join(fsys.SyncDir(folder), fsys.SyncDir(dir))
}

// quarantineConflicts keeps a copy of every line whose seq an earlier line has
// with other bytes: rule 3. The log's own bytes stay as they are.
func (r *recovery) quarantineConflicts(file File) error {
	if len(r.scan.repeats) == 0 {
		return nil
	}
	other, err := conflicts(file, r.active.first, r.scan)
	if err != nil {
		return err
	}
	for _, part := range adjoining(r.scan.repeats, other) {
		name, err := quarantine(r.fs, r.dir, "conflict", file, part)
		if err != nil {
			return err
		}
		r.did("%d bytes at %d are of events that are there already, with different bytes; they are also in %s", part.size, part.offset, name)
	}
	d := r.log.health.get().Damage
	d.Conflicts += len(other)
	r.log.health.setDamage(d)
	return nil
}

// adjoining joins the repeated lines at the chosen offsets into stretches, so
// that a large one is quarantined as one file.
func adjoining(repeats []repeat, chosen map[int64]bool) []span {
	var parts []span
	for _, again := range repeats {
		if !chosen[again.offset] {
			continue
		}
		if n := len(parts); n > 0 && parts[n-1].offset+parts[n-1].size == again.offset {
			parts[n-1].size += again.size
			continue
		}
		parts = append(parts, span{again.offset, again.size})
	}
	return parts
}

// conflicts returns the offsets of the repeated lines whose bytes are not those
// of the first line with their seq.
func conflicts(file File, first event.Seq, s *scan) (map[int64]bool, error) {
	originals, err := firstLines(file, first, s)
	if err != nil {
		return nil, err
	}
	other := map[int64]bool{}
	for _, again := range s.repeats {
		text := make([]byte, again.size)
		if _, err := file.ReadAt(text, again.offset); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read log: %w", err)
		}
		original := originals[again.seq]
		if original == nil || !bytes.Equal(bytes.TrimRight(text, "\r\n"), original) {
			other[again.offset] = true
		}
	}
	return other, nil
}

// firstLines returns the text of the first line of every repeated seq.
func firstLines(file File, first event.Seq, s *scan) (map[event.Seq][]byte, error) {
	wanted := make(map[event.Seq][]byte, len(s.repeats))
	for _, again := range s.repeats {
		wanted[again.seq] = nil
	}
	o := order{prev: first - 1}
	lines := newLineReader(file, 0, s.good.offset)
	defer lines.close()
	for {
		l, err := lines.next()
		if errors.Is(err, io.EOF) {
			return wanted, nil
		}
		if err != nil {
			return nil, err
		}
		if l.overlong {
			continue
		}
		p := parseLine(l.text)
		if o.judge(p) != accepted {
			continue
		}
		if text, ok := wanted[p.seq]; ok && text == nil {
			wanted[p.seq] = bytes.Clone(bytes.TrimRight(l.text, "\r"))
		}
	}
}
