package memory_test

import (
	"testing"

	"github.com/abidehub/abide/session/journal/journaltest"
	"github.com/abidehub/abide/session/journal/memory"
)

// subject returns an empty journal in memory.
func subject() journaltest.Subject {
	d := memory.NewDevice()
	open := func(journaltest.T) journaltest.Hub {
		s := d.Open()
		return journaltest.Hub{Store: s, Close: s.Close, Kill: s.Kill}
	}
	return journaltest.Subject{Open: open, Second: open, Fill: func(kinds ...journaltest.Kind) {
		var full []string
		for _, k := range kinds {
			full = append(full, string(k))
		}
		d.Fill(full...)
	}}
}

func TestTheJournalInMemoryKeepsThePromises(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journaltest.Subject { return subject() })
}
