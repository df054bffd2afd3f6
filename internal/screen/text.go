package screen

import (
	"bytes"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/event"
)

// row is a line of the terminal, and the number of the line of text it is a part of.
type row struct {
	line int
	text string
}

// lines is the text of events, as `abide show` prints it.
func lines(events []event.Event, level plain.Level, style plain.Style) []string {
	var b bytes.Buffer
	folded := plain.NewFolded(plain.NewFeed(&b, level, style))
	for _, e := range events {
		if err := folded.Write(e); err != nil {
			b.WriteString("! " + plain.Line(err.Error()) + "\n")
		}
	}
	if err := folded.Close(); err != nil {
		b.WriteString("! " + plain.Line(err.Error()) + "\n")
	}
	text := strings.Trim(b.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// wrap cuts lines into rows no wider than width, at spaces where there are some. from is
// the number of the first line.
func wrap(lines []string, from, width int) []row {
	var rows []row
	for i, line := range lines {
		line = strings.ReplaceAll(line, "\t", "    ")
		if ansi.StringWidth(line) <= width {
			rows = append(rows, row{from + i, line})
			continue
		}
		open := "" // the style that a row before this one began
		// Wrap leaves a row too wide where a hyphen is at its end.
		for part := range strings.SplitSeq(ansi.Hardwrap(ansi.Wrap(line, width, ""), width, true), "\n") {
			text := open + part
			if at := strings.LastIndex(text, "\x1b["); at >= 0 {
				code, _, _ := strings.Cut(text[at:], "m")
				open = code + "m"
				if open == reset {
					open = ""
				}
			}
			if open != "" {
				text += reset
			}
			rows = append(rows, row{from + i, text})
		}
	}
	return rows
}

const (
	reset   = "\x1b[0m"
	inverse = "\x1b[7m"
	marked  = "\x1b[1;4m"
)

// mark shows where a text says query, whatever its case. Styles of the text are lost.
func mark(text, query string) string {
	text = ansi.Strip(text)
	if query == "" {
		return text
	}
	var b strings.Builder
	for {
		at, n := index(text, query)
		if at < 0 {
			return b.String() + text
		}
		b.WriteString(text[:at] + inverse + text[at:at+n] + reset)
		text = text[at+n:]
	}
}

// index is where a text says query, whatever its case, and how long that is there; -1
// where it does not.
func index(text, query string) (at, length int) {
	want := []rune(strings.ToLower(query))
	if len(want) == 0 {
		return -1, 0
	}
	for at := range text {
		n, fits := 0, 0
		for _, r := range text[at:] {
			if fits == len(want) || []rune(strings.ToLower(string(r)))[0] != want[fits] {
				break
			}
			fits++
			n += len(string(r))
		}
		if fits == len(want) {
			return at, n
		}
	}
	return -1, 0
}

// cut shortens a text to width, with a sign where something is missing.
func cut(text string, width int) string { return ansi.Truncate(text, max(0, width), "…") }

// cutLeft shortens a text to width from its beginning.
func cutLeft(text string, width int) string {
	if over := ansi.StringWidth(text) - width; over > 0 && width > 0 {
		return ansi.TruncateLeft(text, over+1, "…")
	}
	return text
}

// padded is a text with spaces up to width.
func padded(text string, width int) string {
	text = cut(text, width)
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}
