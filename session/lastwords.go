package session

import "strings"

// lastWords is how many lines of an agent's stderr a message has.
const lastWords = 3

// lastLines returns the last n lines of a text that are not blank.
func lastLines(text string, n int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
