package event_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

func TestAChangeStaysWithItsCallUnlessThatFailed(t *testing.T) {
	diff, words := `{"type":"diff","path":"/a","newText":"x"}`, `{"type":"content","content":{"type":"text","text":"done"}}`
	after := func(status event.ToolStatus, later string) string {
		call := event.ToolCallFields{Content: json.RawMessage(`[` + words + `,` + diff + `]`)}
		call.Upsert(event.ToolCallFields{Status: status, Content: json.RawMessage(later)})
		call.Upsert(event.ToolCallFields{ContentAdded: "."})
		return string(call.Whole())
	}
	done := `{"content":{"text":"done.","type":"text"},"type":"content"}`
	require.Equal(t, `[`+diff+`,`+done+`]`, after(event.ToolCompleted, `[`+words+`]`))
	require.Equal(t, `[`+diff+`,`+done+`]`, after("", `[`+words+`]`))
	require.Equal(t, `[`+done+`]`, after(event.ToolFailed, `[`+words+`]`))
	other := `{"type":"diff","path":"/b","newText":"y"}`
	require.Equal(t, `[`+other+`,{"content":{"text":".","type":"text"},"type":"content"}]`, after("", `[`+other+`]`))
}

func TestTheWholeContentHasWhatWasAddedToIt(t *testing.T) {
	for content, want := range map[string]string{
		``: `[{"content":{"text":"<b>","type":"text"},"type":"content"}]`,
		`[{"type":"content","content":{"type":"text","text":"a"}}]`:                              `[{"content":{"text":"a<b>","type":"text"},"type":"content"}]`,
		`[{"type":"terminal","terminalId":"t"}]`:                                                 `[{"type":"terminal","terminalId":"t"},{"content":{"text":"<b>","type":"text"},"type":"content"}]`,
		`[{"type":"content","content":{"type":"text","text":{"blob":{"sha256":"s"}}}}]`:          `[{"type":"content","content":{"type":"text","text":{"blob":{"sha256":"s"}}}},{"content":{"text":"<b>","type":"text"},"type":"content"}]`,
		`[{"type":"content","content":{"type":"text","text":"a","annotations":{"audience":1}}}]`: `[{"content":{"annotations":{"audience":1},"text":"a<b>","type":"text"},"type":"content"}]`,
	} {
		call := event.ToolCallFields{Content: json.RawMessage(content), ContentAdded: "<b>"}
		require.Equal(t, want, string(call.Whole()))
	}
}

// TestTheOutputOfACommandThatFailedIsShownOnce walks the examples that frontend/test/rawoutput.test.ts walks, too.
func TestTheOutputOfACommandThatFailedIsShownOnce(t *testing.T) {
	data, err := os.ReadFile("testdata/raw_output.json")
	require.NoError(t, err)
	var examples []struct {
		About, Shown, Want string
		Status             event.ToolStatus
		Raw                json.RawMessage
	}
	require.NoError(t, json.Unmarshal(data, &examples))
	for _, c := range examples {
		call := event.ToolCallFields{Status: c.Status, RawOutput: c.Raw}
		require.Equal(t, c.Want, call.Output(c.Shown), c.About)
	}
	require.Empty(t, (&event.ToolCallFields{Status: event.ToolFailed}).Output(""))
}
