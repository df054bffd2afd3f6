package store

import (
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/disk"
)

// Durability says when events become visible.
type Durability uint8

const (
	// Balanced shows streamed events once they are written, and events that people
	// and the agent agree on once they are synced. A stream is synced within 100
	// ms.
	Balanced Durability = iota
	// Strict shows nothing before it is synced.
	Strict
)

// FS is the file system a store works on. One that also has Born(name string) (string,
// error), as OS has on Linux, lets a log tell its files from a copy of them; one that
// has LockDir, as OS has, keeps a second hub out when the LOCK file is removed.
type FS = disk.FS

// File is an open file of an FS.
type File = disk.File

// OS returns the real file system, for callers that wrap it.
func OS() FS { return disk.OS() }

// Options adjust a Store. The zero value is usable.
type Options struct {
	// Logger takes messages for an operator; nil discards it.
	Logger *slog.Logger
	// Durability says when events become visible.
	Durability Durability
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// TailBytes is about how much of each log's end is kept in memory. Zero is
	// 1 MiB.
	TailBytes int
	// SegmentBytes is the size at which the active file is sealed. Zero is
	// 256 MiB.
	SegmentBytes int64
	// KeepBytes is how much of each log is kept: beyond that its oldest complete
	// files are removed. Zero keeps everything. See Store.SetKeep.
	KeepBytes int64
	// IdleAfter is how long a log without news keeps its caches. Zero is a
	// minute.
	IdleAfter time.Duration
	// FS is the file system; nil is the real one.
	FS FS
	// BootID identifies this start of the machine; empty asks the system.
	BootID string

	machineTime bool // Now is time.Now
}

const (
	defaultTailBytes    = 1 << 20
	defaultSegmentBytes = 256 << 20
	defaultIdleAfter    = time.Minute
)

// withDefaults fills the fields that are unset.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now, o.machineTime = time.Now, true
	}
	if o.TailBytes <= 0 {
		o.TailBytes = defaultTailBytes
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	if o.IdleAfter <= 0 {
		o.IdleAfter = defaultIdleAfter
	}
	if o.FS == nil {
		o.FS = disk.OS()
	}
	if o.BootID == "" {
		o.BootID = bootID()
	}
	return o
}

// bootID names this start of the machine; empty where the system has no name
// for it, and then a machine's unclean stop looks like that of a process.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
