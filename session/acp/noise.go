package acp

import (
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
)

const (
	// The first noiseBurst invalid lines are reported one by one. After that, one
	// report per noiseInterval has their number.
	noiseBurst    = 5
	noiseInterval = 10 * time.Second
	// noiseShown is how much of an invalid line is shown.
	noiseShown = 200
	// noiseRead is how much of it is searched for secrets.
	noiseRead = 64 << 10
)

// noise reports invalid lines on stdout at a limited rate. It belongs to the
// reader.
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
	// Redact before cutting: half a secret would not be recognised.
	shown := []byte(redact(string(line[:min(len(line), noiseRead)]), n.secrets))
	shown = shown[:min(len(shown), noiseShown)]
	return append(n.end(), event.Error{
		Code:    "agent_output",
		Message: fmt.Sprintf("The agent wrote a line that is %s; it was skipped.", why),
		Detail:  validText(shown),
	})
}

// end reports the remaining invalid lines.
func (n *noise) end() []event.Payload {
	if n.hidden == 0 {
		return nil
	}
	hidden := n.hidden
	n.hidden = 0
	return []event.Payload{event.Error{
		Code:    "agent_output",
		Message: fmt.Sprintf("The agent wrote %d more lines that are not messages; they were skipped.", hidden),
	}}
}
