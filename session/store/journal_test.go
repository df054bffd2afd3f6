package store_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal/journaltest"
	"github.com/abidehub/abide/session/store"
)

// fillFS is a file system that can be full for some kinds of bytes.
type fillFS struct {
	store.FS
	full *atomic.Pointer[[]journaltest.Kind]
}

func (f fillFS) room(name string) error {
	kind := journaltest.Lines
	switch base := filepath.Base(name); {
	case strings.HasPrefix(base, "incoming."):
		kind = journaltest.Blobs
	case strings.HasPrefix(base, "labels.json"):
		kind = journaltest.Labels
	case base != "events.jsonl":
		return nil
	}
	if full := f.full.Load(); full != nil && slices.Contains(*full, kind) {
		return syscall.ENOSPC
	}
	return nil
}

func (f fillFS) OpenRW(name string) (store.File, error) {
	file, err := f.FS.OpenRW(name)
	if err != nil {
		return nil, err
	}
	return fillFile{file, f, name}, nil
}

func (f fillFS) Create(name string) (store.File, error) {
	if err := f.room(name); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return fillFile{file, f, name}, nil
}

func (f fillFS) Means(name string, file store.File) (bool, error) {
	if filled, ok := file.(fillFile); ok {
		file = filled.File
	}
	return f.FS.Means(name, file)
}

type fillFile struct {
	store.File
	fs   fillFS
	name string
}

func (f fillFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.fs.room(f.name); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

func TestTheLocalFilesKeepThePromisesOfAJournal(t *testing.T) {
	for name, o := range map[string]store.Options{
		"as configured":          {},
		"strict":                 {Durability: store.Strict},
		"small files, no memory": {SegmentBytes: 2000, TailBytes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			journaltest.Run(t, func(*testing.T) journaltest.Subject {
				disk, full := newMemFS(), &atomic.Pointer[[]journaltest.Kind]{}
				return journaltest.Subject{
					Open: func(t journaltest.T) journaltest.Hub {
						o.FS, o.BootID = fillFS{disk, full}, "boot"
						s, err := store.Open("/data", o)
						require.NoError(t, err)
						return journaltest.Hub{Store: s.Journal(), Close: s.Close, Kill: func() {
							disk = disk.restart()
							_ = s.Close() // the old process's descriptors; its files are not read again
						}}
					},
					Fill: func(kinds ...journaltest.Kind) { full.Store(&kinds) },
				}
			})
		})
	}
}
