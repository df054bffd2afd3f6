package record

import (
	"context"
	"errors"
	"path/filepath"
)

// ErrElsewhere is the error of a Destination whose hub does not have the session.
var ErrElsewhere = errors.New("the session is of another hub")

// HandOver hands over what killed recorders left in a directory, each file to the
// destination that to returns for it, and ends their sessions. A file is left for the
// next time if its recorder runs, its session is of another hub, or the destination is
// away.
func HandOver(ctx context.Context, dir string, to func(Left) Destination, say func(format string, args ...any)) {
	files, err := filepath.Glob(filepath.Join(escape(dir), "*"+fileEnding))
	if err != nil {
		panic(err) // a bad pattern
	}
	for _, path := range files {
		if ctx.Err() != nil {
			return
		}
		s, err := openSpool(path)
		if err != nil {
			say("events that wait in %s cannot be read: %v", path, err)
			continue
		}
		if s == nil {
			continue
		}
		err = s.handOver(ctx, to(s.left))
		var final *FinalError
		switch {
		case errors.Is(err, ErrElsewhere):
			err = nil
		case errors.As(err, &final):
			err = s.refuse(err, say)
		case err == nil:
			say("handed over what the killed recorder of session %s left", s.left.SessionID)
			err = s.remove()
		default:
			err = nil // the hub is away
		}
		if err := errors.Join(err, s.file.Close()); err != nil {
			say("%s: %v", path, err)
		}
	}
}

// handOver hands over the lines, and ends the session.
func (s *spool) handOver(ctx context.Context, to Destination) error {
	for {
		lines, size, done, err := s.next(batchBytes)
		if err != nil {
			return err
		}
		if done {
			return to.End(ctx, s.reason())
		}
		after, err := to.Put(ctx, lines)
		if err != nil {
			return err
		}
		if err := s.handed(size, after); err != nil {
			return err
		}
	}
}

// escape makes a pattern that matches a path only.
func escape(path string) string {
	var out []byte
	for _, c := range []byte(path) {
		if c == '*' || c == '?' || c == '[' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return string(out)
}
