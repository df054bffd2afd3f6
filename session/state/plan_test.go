package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

func TestEqualEntriesOfAPlanAreOneSuggestion(t *testing.T) {
	var p state.Plan
	entry := func(status event.PlanStatus, text string) event.PlanEntry {
		return event.PlanEntry{Content: text, Status: status}
	}
	p.Apply(event.Plan{Entries: []event.PlanEntry{
		entry(event.PlanPending, "Test it"), entry(event.PlanInProgress, "Write it"), entry(event.PlanPending, "Test  it\n"),
		entry(event.PlanInProgress, "Write it"), entry(event.PlanCompleted, "Test it"),
	}})
	require.Equal(t, state.Plan{Current: "Write it", Done: []string{"Test it"}, Open: []string{"Test it", "Write it"}}, p)
	p.Apply(event.UserPrompt{Text: "Test it"})
	require.Equal(t, []string{"Write it"}, p.Open)
}
