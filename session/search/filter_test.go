package search_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// titled is a store with a session of each title.
func titled(t *testing.T, titles ...string) (*search.Sessions, []journal.Log) {
	st, err := store.Open(t.TempDir(), store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	var logs []journal.Log
	for _, title := range titles {
		id, err := st.Journal().Create(t.Context(), event.SessionStart{Agent: "demo", Workspace: "/w/" + title})
		require.NoError(t, err)
		lease, err := st.Journal().Lease(t.Context(), id)
		require.NoError(t, err)
		log, err := lease.Log(t.Context())
		require.NoError(t, err)
		log.UpdateMetadata(func(m *journal.Metadata) { m.Name = title })
		logs = append(logs, log)
	}
	return search.NewSessions(search.Options{Store: st.Journal(), Lifecycle: func(md journal.Metadata) state.Lifecycle {
		if md.Name == "Done" {
			return state.LifecycleCompleted
		}
		return state.LifecycleActive
	}}), logs
}

func TestATitleIsFoundWithOneWrongLetterInAWord(t *testing.T) {
	s, _ := titled(t, "Importer drops rows", "Import of **Rows**", "The export", "Café opening")
	for query, want := range map[string][]string{
		"importer":      {"Importer drops rows"},
		"rows import":   {"Import of **Rows**", "Importer drops rows"},
		"imporetr":      {"Importer drops rows"}, // two changed places
		"improter":      {"Importer drops rows"},
		"imprter":       {"Importer drops rows"},
		"importter":     {"Importer drops rows"},
		"imxorter":      {"Importer drops rows"},
		"imxort rows":   {"Import of **Rows**", "Importer drops rows"},
		"ixxorter":      nil, // two wrong letters
		"xows":          {"Import of **Rows**", "Importer drops rows"},
		"ros":           nil, // too short for a wrong letter
		"importer exp":  nil,
		"CAFE\u0301":    {"Café opening"},
		"cafe":          {"Café opening"},
		`"export the"`:  nil,
		`"the export"`:  {"The export"},
		"rows importer": {"Importer drops rows"},
	} {
		page, err := s.Find(t.Context(), search.Request{Text: query, Limit: 5})
		require.NoError(t, err)
		var names []string
		for _, title := range page.Titles {
			names = append(names, title.Name)
		}
		require.ElementsMatch(t, want, names, query)
	}
}

func TestAFilterSelectsSessionsAndTexts(t *testing.T) {
	s, logs := titled(t, "Open", "Done")
	var times []time.Time
	say := func(log journal.Log, p event.Payload) {
		draft, err := event.NewDraft(p, 1, time.Now())
		require.NoError(t, err)
		_, _, err = log.Append(t.Context(), 0, draft)
		require.NoError(t, err)
		times = append(times, log.Metadata().UpdatedAt)
	}
	for _, log := range logs {
		say(log, event.UserPrompt{PromptID: "p", Text: "needle", Actor: "Ann", ByID: "d1"})
		say(log, event.AgentMessage{MessageID: "m", Text: "a needle"})
		say(log, event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "t", Title: "find needle"}})
	}
	for _, c := range []struct {
		about  string
		filter search.Filter
		want   int
	}{
		{"everything", search.Filter{}, 6},
		{"a session", search.Filter{Session: logs[0].ID()}, 3},
		{"a project", search.Filter{Project: "/w/Done"}, 3},
		{"no project", search.Filter{Project: "/w"}, 0},
		{"the agent", search.Filter{Agent: "demo"}, 6},
		{"another agent", search.Filter{Agent: "other"}, 0},
		{"a lifecycle", search.Filter{Lifecycle: state.LifecycleCompleted}, 3},
		{"prompts", search.Filter{Kind: search.KindPrompt}, 2},
		{"messages", search.Filter{Kind: search.KindMessage}, 2},
		{"tools", search.Filter{Kind: search.KindTool}, 2},
		{"a person", search.Filter{By: "Ann"}, 2},
		{"a person's id", search.Filter{By: "d1"}, 2},
		{"another person", search.Filter{By: "Bob"}, 0},
		{"from the third", search.Filter{From: times[2]}, 4},
		{"to the third", search.Filter{To: times[2]}, 2},
		{"the second session's prompts", search.Filter{Session: logs[1].ID(), Kind: search.KindPrompt}, 1},
	} {
		page, err := s.Find(t.Context(), search.Request{Text: "needle", Filter: c.filter, Limit: 50})
		require.NoError(t, err, c.about)
		require.Len(t, page.Hits, c.want, c.about)
	}
	for _, wrong := range []search.Filter{{Kind: "thought"}, {Lifecycle: "sleeping"}, {From: times[2], To: times[1]}} {
		_, err := s.Find(t.Context(), search.Request{Text: "needle", Filter: wrong, Limit: 5})
		require.ErrorIs(t, err, state.ErrInvalid)
	}
}
