package store

import (
	"errors"
	"fmt"

	"github.com/fsnotify/fsnotify"
)

// announcer says when a directory changes, where the system can tell.
type announcer struct{ watcher *fsnotify.Watcher }

// news begins to listen to the session's directory.
func (f *follower) news() announcer {
	if _, real := f.log.fs.(osFS); !real {
		return announcer{}
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(f.log.dir); err != nil {
			err = errors.Join(err, w.Close())
			w = nil
		}
	}
	if err != nil {
		f.warn(fmt.Errorf("watch its directory: %w", err)) // the ticker remains
	}
	return announcer{w}
}

func (a announcer) events() <-chan fsnotify.Event {
	if a.watcher == nil {
		return nil
	}
	return a.watcher.Events
}

// errors says that news may have been lost. Nobody hears of more until it is
// taken.
func (a announcer) errors() <-chan error {
	if a.watcher == nil {
		return nil
	}
	return a.watcher.Errors
}

// drain takes what came meanwhile: one look serves all of it.
func (a announcer) drain() {
	for {
		select {
		case _, ok := <-a.watcher.Events:
			if !ok {
				return
			}
		default:
			return
		}
	}
}

func (a announcer) close() {
	if a.watcher != nil {
		a.watcher.Close() // fails only if closed already
	}
}
