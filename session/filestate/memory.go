package filestate

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/abidehub/abide/internal/disk"
)

// memoryFormat changes with the meaning of memory.json.
const memoryFormat = 1

// memory is memory.json of a session: its last state with what is needed to know the files
// that have changed since. Without it all files are read.
type memory struct {
	Format int `json:"format"`
	// Common is the one that has the last state, and Folder the one whose files they are.
	Common string          `json:"common"`
	Folder string          `json:"folder"`
	Commit string          `json:"commit"`
	Tree   string          `json:"tree"`
	Files  map[string]file `json:"files"`
}

// of returns the memory if it is about this place.
func (m memory) of(of Of, at place) memory {
	if m.Common != at.objects.Common() || m.Folder != of.Folder {
		return memory{}
	}
	return m
}

func (k *Keeper) read(session string) memory {
	var m memory
	data, err := disk.Folder{Dir: filepath.Join(k.dir, session)}.Read("memory.json")
	if err != nil || json.Unmarshal(data, &m) != nil || m.Format != memoryFormat {
		return memory{}
	}
	return m
}

// remember stores the memory. With a name that is not UTF-8 there is none. It is not synced:
// what a power cut leaves of it is whole, or not read.
func (k *Keeper) remember(of Of, m memory) {
	dir := filepath.Join(k.dir, of.Session)
	name, part := filepath.Join(dir, "memory.json"), filepath.Join(dir, "memory.json.part")
	for path := range m.Files {
		if !utf8.ValidString(path) {
			_ = os.Remove(name) // it is of an earlier state, and good too
			return
		}
	}
	m.Format = memoryFormat
	data, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(part, data, 0o600)
	}
	if err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		k.logger.Warn("the next state of a session's files reads them all", "session", of.Session, "err", err)
	}
}

// places lists the directories of the repositories that have refs of a session.
func (k *Keeper) places(session string) []string {
	data, err := disk.Folder{Dir: filepath.Join(k.dir, session)}.Read("places")
	if err != nil {
		return nil // it has none
	}
	return strings.FieldsFunc(string(data), func(c rune) bool { return c == 0 })
}

// note stores, before a ref is made, where it is to be removed from one day.
func (k *Keeper) note(session, common string) error {
	all := k.places(session)
	if slices.Contains(all, common) {
		return nil
	}
	dir := filepath.Join(k.dir, session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return disk.Folder{Dir: dir}.Replace("places", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(append(all, common), "\x00"))
		return err
	})
}
