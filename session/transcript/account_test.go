package transcript_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
	"github.com/stretchr/testify/require"
)

func accountOf(t *testing.T, payloads ...event.Payload) *transcript.Account {
	t.Helper()
	var a transcript.Account
	for i, p := range payloads {
		a.Apply(numbered(t, event.Seq(i+1), p))
	}
	return &a
}

func TestAnAccountHoldsWhatTheAgentSessionWasGiven(t *testing.T) {
	a := accountOf(t,
		event.AgentStarted{AgentSessionID: "one"},
		event.UserPrompt{PromptID: "a", Text: "first"}, event.TurnStart{PromptID: "a"},
		event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: "t"}},
		event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "t"}},
		event.TurnEnd{PromptID: "a", StopReason: event.StopHubRestart},
		event.AgentStarted{AgentSessionID: "one", Resumed: event.ResumedByLoad},
		event.UserPrompt{PromptID: "b", Text: "second", Attachments: []event.Attachment{{Name: "x"}}}, event.TurnStart{PromptID: "b"},
		event.TurnEnd{PromptID: "b", StopReason: event.StopEndTurn},
		event.UserPrompt{PromptID: "c", Text: "not given yet"},
	)
	require.Equal(t, []transcript.AccountPrompt{{Text: "first", Cut: true}, {Text: "second", Wrapped: true}}, a.Prompts)
	require.Equal(t, []string{"t"}, a.ToolCalls)
}

func TestAnAgentThatBeginsAnewRemembersNothingAndIsToldEverything(t *testing.T) {
	a := accountOf(t,
		event.UserPrompt{PromptID: "a", Text: "first\nand more"}, event.TurnStart{PromptID: "a"},
		event.AgentStarted{ContextLost: true},
		event.UserPrompt{PromptID: "b", Text: "second"}, event.TurnStart{PromptID: "b"},
	)
	require.Equal(t, []transcript.AccountPrompt{{Text: "second", Wrapped: true}}, a.Prompts)
	require.Empty(t, a.ToolCalls)
	require.True(t, strings.HasSuffix(a.Text(), ":\n- first\n- second\n"), a.Text())
}

func TestAnAccountsTextIsShort(t *testing.T) {
	var list []event.Payload
	for i := range 100 {
		id := fmt.Sprint(i)
		list = append(list, event.UserPrompt{PromptID: id, Text: event.Text(id + strings.Repeat("ä", 1000))}, event.TurnStart{PromptID: id})
	}
	text := accountOf(t, list...).Text()
	require.Contains(t, text, "- 80ä")
	require.NotContains(t, text, "- 79ä")
	require.LessOrEqual(t, len(text), 4<<10+500)
	require.Empty(t, accountOf(t).Text())
}

func TestAnAccountKnowsAPromptThatTheLogHoldsOnlyTheBeginningOf(t *testing.T) {
	var a transcript.Account
	a.Apply(event.Event{Seq: 1, Type: event.TypeUserPrompt, Data: json.RawMessage(`{"prompt_id":"a","text":{"blob":{"sha256":"00","bytes":9},"preview":"begin"}}`)})
	a.Apply(numbered(t, 2, event.TurnStart{PromptID: "a"}))
	require.Len(t, a.Prompts, 1)
	require.True(t, a.Prompts[0].Wrapped)
}
