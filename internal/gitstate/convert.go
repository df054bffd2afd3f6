package gitstate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// textual is a file of which git may change the line ends.
type textual struct {
	path, object string
	// always means that git takes it for text whatever is in it.
	always bool
}

// convertible refuses files that git would store otherwise than they are on disk: through
// a filter, in another encoding, with other line ends. The attributes are those of an
// index that has the files.
func (m *moving) convertible(ctx context.Context, s *standIn, entries []staged) error {
	var paths strings.Builder
	objects := map[string]string{}
	for _, e := range entries {
		if e.object != "" && e.mode != modeLink {
			paths.WriteString(e.path + "\x00")
			objects[e.path] = e.object
		}
	}
	c := s.command(s.repository.Worktree, "check-attr", "--cached", "--stdin", "-z", "filter", "working-tree-encoding", "ident", "text", "eol")
	c.in, c.bound = strings.NewReader(paths.String()), treeBound
	reason := m.config.converts()
	var texts []textual
	text := ""
	err := m.g.stream(ctx, c, func(out io.Reader) error {
		return eachAttribute(bufio.NewReader(out), func(path, name, value string) error {
			given := value != "unspecified" && value != "unset"
			switch {
			case name == "filter" && given && value != "set":
				return fmt.Errorf("%w: %q passes the filter %q", ErrUnsuited, path, value)
			case name == "working-tree-encoding" && given && value != "set":
				return fmt.Errorf("%w: %q has the encoding %q", ErrUnsuited, path, value)
			case name == "ident" && given:
				return fmt.Errorf("%w: %q has the attribute ident", ErrUnsuited, path)
			case name == "text":
				text = value
			case name == "eol" && text != "unset" && (given || text != "unspecified" || reason != ""):
				texts = append(texts, textual{path, objects[path], text == "set" || text == "unspecified" && given})
			}
			return nil
		})
	})
	if err != nil || len(texts) == 0 {
		return err
	}
	if reason == "" {
		reason = "the attributes text and eol"
	}
	return m.withoutCarriageReturns(ctx, texts, reason)
}

// withoutCarriageReturns refuses files with line ends that git would change.
func (m *moving) withoutCarriageReturns(ctx context.Context, texts []textual, reason string) error {
	var names strings.Builder
	for _, t := range texts {
		names.WriteString(t.object + "\n")
	}
	c := m.s.command(m.s.repository.Worktree, "cat-file", "--batch")
	c.in, c.bound = strings.NewReader(names.String()), treeBound
	return m.g.stream(ctx, c, func(from io.Reader) error {
		out := bufio.NewReader(from)
		for _, t := range texts {
			size, err := objectSize(out, Entry{Object: t.object, Path: t.path})
			if err != nil {
				return err
			}
			changes, binary, last := false, false, byte(0)
			for range size {
				b, err := out.ReadByte()
				if err != nil {
					return err
				}
				changes, binary, last = changes || last == '\r' && b == '\n', binary || b == 0, b
			}
			if changes && (t.always || !binary) {
				return fmt.Errorf("%w: %q has line ends that %s changes", ErrUnsuited, t.path, reason)
			}
			if _, err := out.Discard(1); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachAttribute reads what `git check-attr -z` prints: path, attribute and value.
func eachAttribute(out *bufio.Reader, use func(path, name, value string) error) error {
	for {
		var fields [3]string
		for i := range fields {
			text, err := out.ReadString(0)
			if errors.Is(err, io.EOF) && i == 0 && text == "" {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read attributes: %w", err)
			}
			fields[i] = strings.TrimSuffix(text, "\x00")
		}
		if err := use(fields[0], fields[1], fields[2]); err != nil {
			return err
		}
	}
}
