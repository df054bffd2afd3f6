package notify

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

func asked(title, call string) Note {
	return question(event.Event{Seq: 3}, event.PermissionRequest{
		PermissionID: "p", Title: title, ToolCall: json.RawMessage(call),
		Options: []event.PermissionOption{{OptionID: "always", Kind: event.AllowAlways}, {OptionID: "once", Kind: event.AllowOnce}, {OptionID: "no", Kind: event.RejectOnce}},
	})
}

func TestThePermissionTextShowsTheWholeCommand(t *testing.T) {
	note := asked("Clean up", `{"rawInput":{"command":"rm -rf build"}}`)
	require.Equal(t, "Clean up\nrm -rf build", note.Body)
	require.Equal(t, []Option{{"once", "Allow once"}, {"no", "Reject"}}, note.Options, "no \"always\" option may be offered")
	require.Contains(t, asked("Clean up", `{"rawInput":{"command":"rm", "cwd":"/"}}`).Body, `"cwd":"/"`, "not the command alone")
}

func TestARequestThatIsNotShownWholeCannotBeAllowed(t *testing.T) {
	for _, command := range []string{
		strings.Repeat("x", maxBody) + "; rm -rf ~", "ls" + strings.Repeat(" ", 300) + "; rm -rf ~", "ls" + strings.Repeat("\\n", 40) + "rm -rf ~",
	} {
		note := asked("ls", `{"rawInput":{"command":"`+command+`"}}`)
		require.Empty(t, note.Options, command)
		require.Less(t, len([]rune(note.Body)), maxBody+80)
	}
}

func TestControlCharactersAreVisible(t *testing.T) {
	require.Equal(t, "a[U+202E]b[U+0000][U+001B][31m[U+200B]", legible("a\u202eb\x00\x1b[31m\u200b"))
}

func TestQuietHoursMayCrossMidnight(t *testing.T) {
	quiet := &Quiet{From: "22:00", To: "07:00", Zone: "UTC"}
	at := func(clock string) time.Time {
		now, err := time.Parse(time.RFC3339, "2026-02-21T"+clock+":00Z")
		require.NoError(t, err)
		return now
	}
	require.Equal(t, at("07:00"), quietUntil(quiet, at("03:00")).UTC())
	require.Equal(t, at("07:00").AddDate(0, 0, 1), quietUntil(quiet, at("22:00")).UTC())
	require.True(t, quietUntil(quiet, at("07:00")).IsZero())
	require.True(t, quietUntil(quiet, at("21:59")).IsZero())
	require.True(t, quietUntil(nil, at("03:00")).IsZero())
}
