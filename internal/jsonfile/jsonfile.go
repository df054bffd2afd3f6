// Package jsonfile is a small file of JSON that is replaced whole. Each file names a
// rule for damage, by what its content is worth.
package jsonfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/abidehub/abide/internal/disk"
)

// Rule says what becomes of a damaged file.
type Rule int

const (
	// Refuse leaves the file, and reading it is an error until a person repairs or
	// removes it: its content is nowhere else, and starting without it does harm.
	Refuse Rule = iota
	// Aside renames a file that cannot be read, whatever the reason, to NAME.damaged,
	// logs that, and starts over.
	Aside
	// Forget treats the file as missing: the next Write replaces it.
	Forget
)

// ErrNewer is an error for Check: a newer program wrote the file. It is not damage:
// only Aside gives the file up.
var ErrNewer = errors.New("a newer version of abide wrote it")

// File is a file with content of type T. It holds nothing, so it may be copied, and
// used by several goroutines; two writes at once need a lock, or Files that are shared.
type File[T any] struct {
	Files  Files
	Name   string
	Damage Rule
	// Check returns why decoded content is damaged; nil accepts everything.
	Check func(T) error
	// Remedy ends the error of Refuse: it says what a person can do.
	Remedy string
	// Logger is told of files that are set aside. Only Aside uses it.
	Logger *slog.Logger
	// Indent writes the content for people.
	Indent bool
	// Encode writes a large content piece by piece: encoding/json has all of it in
	// memory. nil is encoding/json.
	Encode func(T, io.Writer) error
}

// Files are small files by name, such as a disk.Folder has. Replace leaves the old or the
// new bytes after a crash at any moment, and SetAside removes a pipe or the like, which
// has no bytes to keep.
type Files interface {
	Read(name string) ([]byte, error)
	Replace(name string, fill func(io.Writer) error) error
	SetAside(name, aside string) (kept bool, err error)
}

// DamagedError says why a file is not what a program wrote. Its text has no path.
type DamagedError struct {
	Name, Remedy string
	Err          error
}

// Error names the file, what is wrong and the remedy.
func (e *DamagedError) Error() string {
	text := fmt.Sprintf("%s is damaged: %v", e.Name, e.Err)
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// IsDamaged reports whether an error says that a file is damaged.
func IsDamaged(err error) bool {
	var damaged *DamagedError
	return errors.As(err, &damaged)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }

// Read returns the content, and whether there is any. It applies the rule to a
// damaged file.
func (f File[T]) Read() (content T, found bool, err error) {
	content, err = f.Load()
	var none T
	switch {
	case err == nil:
		return content, true, nil
	case errors.Is(err, fs.ErrNotExist):
		return none, false, nil
	case f.Damage == Aside:
		aside := f.Name + ".damaged"
		if _, failed := f.Files.SetAside(f.Name, aside); failed != nil {
			return none, false, errors.Join(err, failed)
		}
		f.Logger.Warn("an unreadable file was set aside and starts over", "err", err, "aside", aside)
		return none, false, nil
	case f.Damage == Forget && IsDamaged(err):
		return none, false, nil
	}
	return none, false, err
}

// Load is Read without the rule: a missing file is fs.ErrNotExist, a damaged one a
// *DamagedError. It does not wait for a named pipe: whatever is not a regular file is
// damaged.
func (f File[T]) Load() (content T, err error) {
	data, err := f.Files.Read(f.Name)
	if errors.Is(err, disk.ErrNoFile) {
		return content, f.damaged(disk.ErrNoFile)
	}
	if err != nil {
		return content, err
	}
	return f.Decode(data)
}

// Decode decodes and checks the bytes of a file.
func (f File[T]) Decode(data []byte) (content T, err error) {
	var none T
	if err := json.Unmarshal(data, &content); err != nil {
		return none, f.damaged(err)
	}
	if f.Check == nil {
		return content, nil
	}
	switch err := f.Check(content); {
	case errors.Is(err, ErrNewer):
		return none, fmt.Errorf("read %s: %w", f.Name, err)
	case err != nil:
		return none, f.damaged(err)
	}
	return content, nil
}

func (f File[T]) damaged(err error) error { return &DamagedError{f.Name, f.Remedy, err} }

// Write replaces the file. After a crash at any moment it has the old or the new
// content. disk.ErrNotDurable means that it was replaced, but a power cut may take
// that back.
func (f File[T]) Write(content T) error {
	encode := f.Encode
	if encode == nil {
		encode = f.encode
	}
	if err := f.Files.Replace(f.Name, func(w io.Writer) error { return encode(content, w) }); err != nil {
		return fmt.Errorf("write %s: %w", f.Name, err)
	}
	return nil
}

func (f File[T]) encode(content T, w io.Writer) error {
	to := json.NewEncoder(w)
	if f.Indent {
		to.SetIndent("", "  ")
	}
	return to.Encode(content)
}

// Format accepts content of format 1 to newest: a higher one is ErrNewer.
func Format(given, newest int) error {
	switch {
	case given > newest:
		return fmt.Errorf("%w: format %d, this program knows %d", ErrNewer, given, newest)
	case given < 1:
		return errors.New("it has no format")
	}
	return nil
}
