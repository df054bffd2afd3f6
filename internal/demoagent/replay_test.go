package demoagent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/demoagent"
)

const recording = `{"seq":1,"time":"2026-02-21T14:03:07Z","type":"session_start","data":{}}
{"seq":2,"time":"2026-02-21T14:03:07Z","type":"user_prompt","turn":1,"data":{"prompt_id":"p","text":"go"}}
{"seq":3,"time":"2026-02-21T14:03:08Z","type":"agent_message","turn":1,"data":{"message_id":"m1","text":"I will edit it."}}
{"seq":4,"time":"2026-02-21T14:03:09Z","type":"tool_call","turn":1,"data":{"tool_call_id":"c1","title":"Edit a.go","kind":"edit","status":"pending"}}
{"seq":5,"time":"2026-02-21T14:03:10Z","type":"permission_request","turn":1,"data":{"permission_id":"perm1","tool_call_id":"c1","title":"Edit a.go","options":[{"option_id":"sure","name":"Sure","kind":"allow_once"}]}}
{"seq":6,"time":"2026-02-21T14:03:11Z","type":"permission_outcome","turn":1,"data":{"permission_id":"perm1","outcome":"selected","option_id":"sure","by":"phone"}}
{"seq":7,"time":"2026-02-21T14:03:12Z","type":"tool_call_update","turn":1,"data":{"tool_call_id":"c1","status":"completed"}}
{"seq":8,"time":"2026-02-21T14:03:13Z","type":"turn_end","turn":1,"data":{"prompt_id":"p","stop_reason":"refusal"}}
`

func TestARecordingIsSpokenAgainWithItsQuestions(t *testing.T) {
	r, err := demoagent.ReadRecording(strings.NewReader(recording))
	require.NoError(t, err)
	c := serve(t, demoagent.Options{Replay: r, StateDir: t.TempDir()})
	session := c.begin(workspace(t))
	answer := c.prompt(session, "anything", "sure")
	require.JSONEq(t, `"refusal"`, field(t, answer.Result, "stopReason"))
	said := c.said.String()
	require.Equal(t, 1, strings.Count(said, "session/request_permission"))
	for _, want := range []string{"I will edit it.", `"toolCallId":"c1"`, `"Edit a.go"`, `"optionId":"sure"`, `"status":"completed"`} {
		require.Contains(t, said, want)
	}
	require.JSONEq(t, `"end_turn"`, field(t, c.prompt(session, "more", "").Result, "stopReason"), "a second turn has no recording and ends at once")
}

func TestAFileThatIsNotARecordingIsRefused(t *testing.T) {
	for _, text := range []string{"", "hello", "{}\n"} {
		_, err := demoagent.ReadRecording(strings.NewReader(text))
		require.Error(t, err, text)
	}
}

// field returns one member of an object unchanged.
func field(t *testing.T, object json.RawMessage, name string) string {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(object, &members))
	return string(members[name])
}
