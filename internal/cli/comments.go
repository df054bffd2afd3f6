package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// printComment writes a comment with its place, and what it quotes.
func printComment(w io.Writer, c wire.Comment) error {
	place := "event " + strconv.FormatInt(int64(c.ToSeq), 10)
	if c.Path != "" {
		place = c.Path
		if c.Line > 0 {
			place += ":" + strconv.Itoa(c.Line)
		}
		if c.EndLine > c.Line {
			place += "-" + strconv.Itoa(c.EndLine)
		}
	}
	state := ""
	if c.Resolved {
		state = " (resolved)"
		if c.ResolvedBy != "" {
			state = " (resolved by " + plain.Line(c.ResolvedBy) + ")"
		}
	}
	_, err := fmt.Fprintf(w, "%s by %s%s\n", plain.Line(place), plain.Line(c.By), state)
	for _, part := range []struct{ mark, text string }{{"  > ", c.Quote}, {"  ", c.Text}} {
		for line := range strings.Lines(part.text) {
			_, failed := fmt.Fprintf(w, "%s%s\n", part.mark, plain.Line(strings.TrimSuffix(line, "\n")))
			err = errors.Join(err, failed)
		}
	}
	return err
}

// placeOfComment reads FILE, FILE:LINE or FILE:FROM-TO.
func placeOfComment(at string, c *wire.NewComment) error {
	found := regexp.MustCompile(`^(.+?)(?::(\d+)(?:-(\d+))?)?$`).FindStringSubmatch(at)
	if found == nil {
		return nil
	}
	c.Path = found[1]
	for i, line := range []*int{&c.Line, &c.EndLine} {
		if found[i+2] == "" {
			continue
		}
		n, err := strconv.Atoi(found[i+2])
		if err != nil || n < 1 {
			return Usagef("--at is FILE, FILE:LINE or FILE:FROM-TO, with lines from 1")
		}
		*line = n
	}
	return nil
}
