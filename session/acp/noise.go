package acp

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
)

const (
	// noiseBurst lines that are no messages are reported one by one; after
	// that, one report per noiseInterval says how many there were.
	noiseBurst    = 5
	noiseInterval = 10 * time.Second
	// noiseShown is how much of such a line is shown.
	noiseShown = 200
	// noiseRead is how much of it is looked through for secrets.
	noiseRead = 64 << 10
)

// noise reports lines on stdout that are no messages, at a bounded rate. It
// belongs to the reader.
type noise struct {
	clock   Clock
	secrets []string
	shown   int
	hidden  int
	last    time.Time
}

// skipped counts a line, and returns the report if one is due.
func (n *noise) skipped(line []byte, why string) []event.Payload {
	now := n.clock.Now()
	if n.shown >= noiseBurst && now.Sub(n.last) < noiseInterval {
		n.hidden++
		return nil
	}
	n.shown++
	n.last = now
	// Redaction comes before cutting: half a secret would not be recognised.
	shown := []byte(redact(string(line[:min(len(line), noiseRead)]), n.secrets))
	shown = shown[:min(len(shown), noiseShown)]
	return append(n.end(), event.Error{
		Code:    "agent_output",
		Message: fmt.Sprintf("The agent wrote a line that is %s; it was skipped.", why),
		Detail:  validText(shown),
	})
}

// end reports the lines that were not reported yet.
func (n *noise) end() []event.Payload {
	if n.hidden == 0 {
		return nil
	}
	hidden := n.hidden
	n.hidden = 0
	return []event.Payload{event.Error{
		Code:    "agent_output",
		Message: fmt.Sprintf("The agent wrote %d more lines that are no messages; they were skipped.", hidden),
	}}
}
