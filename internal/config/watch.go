package config

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long the file must be left alone before it is read: editors
// write in several steps.
const settle = 150 * time.Millisecond

// Watch calls apply with each new valid configuration, and refuse with the error of
// an invalid one; then the one applied before stays in force. It begins with
// changes since loaded was read. Both are called by this goroutine. It returns when
// ctx ends, or with the error that keeps it from watching.
func (l Loader) Watch(ctx context.Context, loaded Config, apply func(Config), refuse func(error)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching the configuration: %w", err)
	}
	defer watcher.Close()
	if err := l.watchDirs(watcher); err != nil {
		return err
	}
	last, _ := l.read()
	if c, err := l.parse(last); err != nil {
		refuse(err)
	} else if !reflect.DeepEqual(c, loaded) {
		apply(c)
	}
	timer := time.NewTimer(settle)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-watcher.Events:
			timer.Reset(settle)
		case err := <-watcher.Errors:
			// News may have been lost, so look.
			refuse(fmt.Errorf("watching the configuration: %w", err))
			timer.Reset(settle)
		case <-timer.C:
			// A directory that had to be watched further up may exist by now,
			// and a link may point elsewhere.
			if err := l.watchDirs(watcher); err != nil {
				refuse(err)
			}
			if data, changed := l.reread(last, apply, refuse); changed {
				last = data
			}
		}
	}
}

func (l Loader) reread(last []byte, apply func(Config), refuse func(error)) (data []byte, changed bool) {
	data, err := l.read()
	if err != nil {
		refuse(err)
		return nil, false
	}
	if bytes.Equal(data, last) {
		return nil, false
	}
	// A writer that truncates before it writes, and one that then dies or finds
	// the disk full, would have every option forgotten.
	if data != nil && len(bytes.TrimSpace(data)) == 0 && len(last) > 0 {
		refuse(&Error{File: l.Path, Reason: "is empty now: remove the file, or write a comment into it, if every option is to have its default"})
		return nil, false
	}
	c, err := l.parse(data)
	if err != nil {
		refuse(err)
	} else {
		apply(c)
	}
	return data, true
}

// watchDirs watches the directories the file is found through, never the file
// itself: editors replace it, and a watch would stay with the old one. Where
// its directory does not exist yet, the nearest one above it that does.
func (l Loader) watchDirs(watcher *fsnotify.Watcher) error {
	dirs := []string{filepath.Dir(l.Path)}
	if target, err := filepath.EvalSymlinks(l.Path); err == nil {
		dirs = append(dirs, filepath.Dir(target))
	}
	for _, dir := range dirs {
		// Again, where one further down was made before the watch was there.
		for watched := ""; watched != nearest(dir); {
			watched = nearest(dir)
			if err := watcher.Add(watched); err != nil {
				return fmt.Errorf("watching %s: %w", watched, err)
			}
		}
	}
	return nil
}

// nearest is the directory, or the nearest one above it that exists.
func nearest(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
