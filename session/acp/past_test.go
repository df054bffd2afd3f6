package acp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// playLists lists two pages of sessions.
func playLists(f *fake) int {
	m := f.expect("initialize")
	f.result(m.ID, `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"list":{}}}}`)
	m = f.expect("session/list")
	if strings.Contains(string(m.Params), `"cursor":"two"`) {
		f.result(m.ID, `{"sessions":[{"sessionId":"c","cwd":"/there"}]}`)
	} else {
		f.result(m.ID, `{"sessions":[{"sessionId":"a","cwd":"/here","title":"Tests","updatedAt":"2026-11-20T10:00:00.5Z"},{"sessionId":"","cwd":"/"},`+
			`{"sessionId":"b","cwd":"/here","title":null,"updatedAt":1732000000}],"nextCursor":"two"}`)
	}
	f.next()
	return 0
}

func TestAnAgentsSessionsAreListedWithoutBeginningOne(t *testing.T) {
	cfg := config(t, "lists")
	page, err := acp.List(context.Background(), cfg, "", "")
	require.NoError(t, err)
	require.Equal(t, "two", page.Next)
	require.Equal(t, []acp.StoredSession{
		{ID: "a", Workspace: "/here", Title: "Tests", UpdatedAt: time.Date(2026, 11, 20, 10, 0, 0, 5e8, time.UTC)},
		{ID: "b", Workspace: "/here"},
	}, page.Sessions)
	page, err = acp.List(context.Background(), cfg, "/there", page.Next)
	require.NoError(t, err)
	require.Equal(t, acp.StoredPage{Sessions: []acp.StoredSession{{ID: "c", Workspace: "/there"}}}, page)

	_, err = acp.List(context.Background(), config(t, "loads"), "", "")
	require.ErrorIs(t, err, acp.ErrNotOffered)
}

// playListsMany lists more sessions than a page may have, and some that are too long.
func playListsMany(f *fake) int {
	m := f.expect("initialize")
	f.result(m.ID, `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"list":{}}}}`)
	m = f.expect("session/list")
	entries := []string{
		fmt.Sprintf(`{"sessionId":%q,"cwd":"/here"}`, strings.Repeat("i", 501)),
		fmt.Sprintf(`{"sessionId":"deep","cwd":%q}`, "/"+strings.Repeat("d", 4096)),
		fmt.Sprintf(`{"sessionId":"long","cwd":"/here","title":%q}`, strings.Repeat("t", 5000)),
	}
	for i := range 600 {
		entries = append(entries, fmt.Sprintf(`{"sessionId":"s%d","cwd":"/here"}`, i))
	}
	f.result(m.ID, `{"sessions":[`+strings.Join(entries, ",")+`]}`)
	f.next()
	return 0
}

func TestAPageOfAnAgentsSessionsIsBoundedAndSaysHowManyAreMissing(t *testing.T) {
	page, err := acp.List(context.Background(), config(t, "lists-many"), "", "")
	require.NoError(t, err)
	require.Len(t, page.Sessions, 500)
	require.Equal(t, 603-500, page.LeftOut)
	require.Equal(t, "long", page.Sessions[0].ID)
	require.Len(t, page.Sessions[0].Title, 1024)
}

func TestAnAdoptedSessionsHistoryIsRecordedOnce(t *testing.T) {
	s := newSink()
	s.past = true
	cfg := config(t, "loads")
	cfg.Resume, cfg.Adopt = fakeSession, true
	cfg.Env["ACP_TEST_LINES"] = strings.Join([]string{
		wasAsked("u1", "fix "), wasAsked("u1", "it<system-reminder>be brief"), wasSaid("I fixed it."), wasDone("t1"),
		`{"sessionUpdate":"user_message_chunk","content":{"type":"image","data":"AAAA","mimeType":"image/png"}}`,
		wasAsked("", "and this"), wasSaid("Nice."),
	}, "\n")
	a := start(t, cfg, s)
	finish(t, a, s)
	require.Equal(t, []event.Type{
		event.TypeUserPrompt, event.TypeUserPrompt, event.TypeAgentMessage, event.TypeToolCall,
		event.TypeUserPrompt, event.TypeUserPrompt, event.TypeAgentMessage, event.TypeAgentStarted, event.TypeAgentExit,
	}, types(s.all()), "it comes before the answer, and none of it is held until then")
	require.Equal(t, event.ResumedByLoad, of[event.AgentStarted](s)[0].Resumed)
	require.Equal(t, []event.UserPrompt{
		{PromptID: "u1", Text: "fix "}, {PromptID: "u1", Text: "it"}, {Text: "[image]"}, {Text: "and this"},
	}, of[event.UserPrompt](s))
	said := of[event.AgentMessage](s)
	require.NotEqual(t, said[0].MessageID, said[1].MessageID, "messages of different turns are different messages")
}

func TestAnAgentThatCannotLoadASessionIsNotAdoptedFrom(t *testing.T) {
	s := newSink()
	cfg := config(t, "lists")
	cfg.Resume, cfg.Adopt = "a", true
	_, err := acp.Start(context.Background(), cfg, s)
	require.ErrorIs(t, err, acp.ErrNotOffered)
}
