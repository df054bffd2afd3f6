package session

import (
	"fmt"
	"strings"

	"github.com/abidehub/abide/session/event"
)

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

func exitWords(exit event.AgentExit) string {
	words := "the agent ended"
	switch cause := exit.Cause(); {
	case cause != exit.Reason:
		return words + ": " + cause
	case exit.Signal != "":
		words += " by signal " + exit.Signal
	case exit.Code != nil:
		words += fmt.Sprintf(" with exit code %d", *exit.Code)
	}
	return words
}
