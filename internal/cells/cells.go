// Package cells fits text into the cells of a terminal: it wraps, cuts, pads and marks.
package cells

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Row is a line of the terminal, and the number of the line of text it is a part of.
type Row struct {
	Line int
	Text string
}

// Wrap cuts lines into rows no wider than width, at spaces where there are some. from is
// the number of the first line.
func Wrap(lines []string, from, width int) []Row {
	var rows []Row
	for i, line := range lines {
		line = strings.ReplaceAll(line, "\t", "    ")
		if ansi.StringWidth(line) <= width {
			rows = append(rows, Row{from + i, line})
			continue
		}
		open := "" // the style that a row before this one began
		// Wrap leaves a row too wide where a hyphen is at its end.
		for part := range strings.SplitSeq(ansi.Hardwrap(ansi.Wrap(line, width, ""), width, true), "\n") {
			text := open + part
			if at := strings.LastIndex(text, "\x1b["); at >= 0 {
				code, _, _ := strings.Cut(text[at:], "m")
				open = code + "m"
				if open == Reset {
					open = ""
				}
			}
			if open != "" {
				text += Reset
			}
			rows = append(rows, Row{from + i, text})
		}
	}
	return rows
}

// The styles of a chosen row and of what was searched for.
const (
	Reset   = "\x1b[0m"
	Inverse = "\x1b[7m"
	Marked  = "\x1b[1;4m"
)

// Mark shows where a text says query, whatever its case. Styles of the text are lost.
func Mark(text, query string) string {
	text = ansi.Strip(text)
	if query == "" {
		return text
	}
	var b strings.Builder
	for {
		at, n := Index(text, query)
		if at < 0 {
			return b.String() + text
		}
		b.WriteString(text[:at] + Inverse + text[at:at+n] + Reset)
		text = text[at+n:]
	}
}

// Index is where a text says query, whatever its case, and how long that is there; -1
// where it does not.
func Index(text, query string) (at, length int) {
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

// Cut shortens a text to width, with a sign where something is missing.
func Cut(text string, width int) string { return ansi.Truncate(text, max(0, width), "…") }

// CutLeft shortens a text to width from its beginning.
func CutLeft(text string, width int) string {
	if over := ansi.StringWidth(text) - width; over > 0 && width > 0 {
		return ansi.TruncateLeft(text, over+1, "…")
	}
	return text
}

// Padded is a text with spaces up to width.
func Padded(text string, width int) string {
	text = Cut(text, width)
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}
