package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/state"
)

// Storage says what becomes of sessions that are not needed any more.
type Storage struct {
	// TrashDays is for how many days a deleted session can be restored; 0 deletes it at
	// once.
	TrashDays int
	// ExpiredDays is for how many days nothing happens in an idle session until it is
	// expired; 0 is never.
	ExpiredDays int
	// ArchiveDays is for how many days nothing happens in a session until it is archived; 0
	// is never.
	ArchiveDays int
	// CompressArchived compresses the logs of archived sessions.
	CompressArchived bool
	// QuotaMiB is how much all sessions may take; 0 is any amount. From WarnAt of it, between
	// 0 and 1, the hub warns. It deletes nothing for it.
	QuotaMiB int
	WarnAt   float64
	Clean    Clean
}

// Clean says when the hub puts old sessions away by itself.
type Clean struct {
	Enabled bool
	// Every is how often it does, After for how long nothing happened in a session.
	Every, After time.Duration
	Lifecycles   []string
}

type fileStorage struct {
	TrashDays   *float64  `yaml:"trash_days"`
	ExpiredDays *float64  `yaml:"expired_days"`
	ArchiveDays *float64  `yaml:"archive_days"`
	Compress    *bool     `yaml:"compress_archived"`
	QuotaMiB    *float64  `yaml:"quota_mib"`
	WarnAt      *float64  `yaml:"warn_at"`
	Clean       fileClean `yaml:"clean"`
}

type fileClean struct {
	Enabled    *bool    `yaml:"enabled"`
	Every      *string  `yaml:"every"`
	After      *string  `yaml:"after"`
	Lifecycles []string `yaml:"lifecycles"`
}

// apply sets what the file has in c. After an error path is the field that is wrong.
func (f fileStorage) apply(c *Storage) (path string, err error) {
	for _, count := range []struct {
		path string
		to   *int
		from *float64
	}{
		{"$.storage.trash_days", &c.TrashDays, f.TrashDays},
		{"$.storage.expired_days", &c.ExpiredDays, f.ExpiredDays},
		{"$.storage.archive_days", &c.ArchiveDays, f.ArchiveDays},
		{"$.storage.quota_mib", &c.QuotaMiB, f.QuotaMiB},
	} {
		if count.from == nil {
			continue
		}
		if *count.to, err = wholeOrNone(*count.from); err != nil {
			return count.path, err
		}
	}
	if f.Compress != nil {
		c.CompressArchived = *f.Compress
	}
	if v := f.WarnAt; v != nil {
		if c.WarnAt = *v; *v <= 0 || *v > 1 {
			return "$.storage.warn_at", fmt.Errorf("%v is not a part of the quota such as 0.8", *v)
		}
	}
	return f.Clean.apply(&c.Clean)
}

func (f fileClean) apply(c *Clean) (path string, err error) {
	if f.Enabled != nil {
		c.Enabled = *f.Enabled
	}
	if err := setSeconds(&c.Every, f.Every); err != nil {
		return "$.storage.clean.every", err
	}
	if err := setSeconds(&c.After, f.After); err != nil {
		return "$.storage.clean.after", err
	}
	for i, l := range f.Lifecycles {
		if known := state.Lifecycle("").Values(); !slices.Contains(known, l) {
			return fmt.Sprintf("$.storage.clean.lifecycles[%d]", i), fmt.Errorf("%q is not one of %s", l, strings.Join(known, ", "))
		}
	}
	if f.Lifecycles != nil {
		if len(f.Lifecycles) == 0 {
			return "$.storage.clean.lifecycles", fmt.Errorf("name at least one of %s; enabled: false cleans nothing", strings.Join(state.Lifecycle("").Values(), ", "))
		}
		c.Lifecycles = f.Lifecycles
	}
	return "", nil
}
