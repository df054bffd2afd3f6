package event_test

import (
	"encoding/json"
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

func TestTheOutputOfACommandThatFailedIsShownOnce(t *testing.T) {
	const both = `{"stdout":"built a\n","stderr":"no b\n","exit_code":2}`
	for _, c := range []struct{ status, raw, shown, want string }{
		{"failed", both, "", "built a\nno b"},
		{"completed", both, "Exit code 2", "built a\nno b"},
		{"failed", both, "no b\nbuilt a", ""},
		{"completed", `{"stdout":"built a\n","stderr":"a warning"}`, "", "built a"},
		{"completed", `{"stdout":"built a\n","stderr":"a warning"}`, "done", ""},
		{"completed", `"words"`, "", "words"},
		{"completed", `"words"`, "more", ""},
		{"failed", `[1]`, "", ""},
		{"failed", ``, "", ""},
	} {
		call := event.ToolCallFields{Status: event.ToolStatus(c.status), RawOutput: json.RawMessage(c.raw)}
		require.Equal(t, c.want, call.Output(c.shown), c)
	}
}
