package screen

import (
	"bytes"
	"strings"

	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/event"
)

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
