package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// playLoads loads a session whose history is in ACP_TEST_LINES, one update per
// line. It then handles prompts.
func playLoads(f *fake) int {
	m := f.expect("initialize")
	f.result(m.ID, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
	m = f.expect("session/load")
	for _, update := range strings.Split(os.Getenv("ACP_TEST_LINES"), "\n") {
		f.update(update)
	}
	f.result(m.ID, `{}`)
	for {
		p := f.prompt()
		f.chunk("news")
		f.done(p)
	}
}

// The updates of the history.
func wasAsked(id, text string) string {
	return string(object{"sessionUpdate": "user_message_chunk", "messageId": id, "content": object{"type": "text", "text": text}}.json())
}

func wasSaid(text string) string {
	return string(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}}.json())
}

func wasDone(id string) string {
	return string(object{"sessionUpdate": "tool_call", "toolCallId": id, "title": "x"}.json())
}

func TestARepeatedHistoryIsComparedWithTheSentOne(t *testing.T) {
	known := func(prompts ...acp.KnownPrompt) acp.Known { return acp.Known{Prompts: prompts} }
	for name, c := range map[string]struct {
		known          acp.Known
		history        []string
		extra, missing []string
		tools          []string
	}{
		"the same": {known: known(acp.KnownPrompt{Text: "a"}, acp.KnownPrompt{Text: "b"}), history: []string{wasAsked("1", "a"), wasSaid("x"), wasAsked("2", "b")}},
		"spaces around it": {
			known: known(acp.KnownPrompt{Text: " a\n"}), history: []string{wasAsked("1", "\ta ")},
		},
		"in pieces": {
			known: known(acp.KnownPrompt{Text: "a and b"}), history: []string{wasAsked("1", "a and"), wasAsked("1", " b")},
		},
		"two without ids, the same": {
			known: known(acp.KnownPrompt{Text: "a"}, acp.KnownPrompt{Text: "a"}), history: []string{wasAsked("", "a"), wasAsked("", "a")},
		},
		"two without ids, in pieces": {
			known:   known(acp.KnownPrompt{Text: "one"}, acp.KnownPrompt{Text: "two"}),
			history: []string{wasAsked("", "o"), wasAsked("", "ne"), wasAsked("", "two")},
		},
		"one in pieces of which one was asked, too": {
			known:   known(acp.KnownPrompt{Text: "a"}, acp.KnownPrompt{Text: "ab"}),
			history: []string{wasAsked("", "a"), wasSaid("x"), wasAsked("", "a"), wasAsked("", "b")},
		},
		"another message behind it": {
			known: known(acp.KnownPrompt{Text: "a"}, acp.KnownPrompt{Text: "b"}), history: []string{wasAsked("1", "a"), wasAsked("2", "b")},
		},
		"twice the same": {
			known:   known(acp.KnownPrompt{Text: "a"}),
			history: []string{wasAsked("1", "a"), wasSaid("x"), wasAsked("2", "a")}, extra: []string{"a"},
		},
		"forgotten": {
			known:   known(acp.KnownPrompt{Text: "a"}, acp.KnownPrompt{Text: "a"}, acp.KnownPrompt{Text: "b"}),
			history: []string{wasAsked("1", "a")}, missing: []string{"a", "b"},
		},
		"behind an account": {
			known:   known(acp.KnownPrompt{Text: "a", Wrapped: true}),
			history: []string{wasAsked("1", "You are continuing a session. "), wasAsked("1", "a")},
		},
		"no account": {
			known:   known(acp.KnownPrompt{Text: "a"}),
			history: []string{wasAsked("1", "By the way: a")}, extra: []string{"By the way: a"}, missing: []string{"a"},
		},
		"a word on a turn that was cut": {
			known:   known(acp.KnownPrompt{Text: "a", Cut: true}, acp.KnownPrompt{Text: "b", Cut: true}),
			history: []string{wasAsked("1", "a"), wasSaid("x"), wasAsked("2", "[interrupted]"), wasAsked("3", "b[interrupted]")},
		},
		"two words on a turn that was cut": {
			known:   known(acp.KnownPrompt{Text: "a", Cut: true}),
			history: []string{wasAsked("1", "a"), wasAsked("2", "[interrupted]"), wasAsked("3", "and this?")}, extra: []string{"and this?"},
		},
		"a reminder for the model behind it": {
			known:   known(acp.KnownPrompt{Text: "a"}, acp.KnownPrompt{Text: "<system-reminder>b"}),
			history: []string{wasAsked("", "a<system-reminder>\nToday is Monday.\n</system-reminder>"), wasSaid("x"), wasAsked("", "<system-reminder>b")},
		},
		"tool calls by other ids": {
			known:   acp.Known{Prompts: []acp.KnownPrompt{{Text: "a"}}, ToolCalls: []string{"0:t1", "0:t2"}},
			history: []string{wasAsked("1", "a"), wasDone("1:t1"), wasDone("1:t2")},
		},
		"a tool call of nobody's": {
			known:   acp.Known{Prompts: []acp.KnownPrompt{{Text: "a"}}, ToolCalls: []string{"t1"}},
			history: []string{wasAsked("1", "a"), wasDone("t1"), wasDone("t2"), wasDone("t2")}, tools: []string{"t2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSink()
			cfg := config(t, "loads")
			cfg.Env["ACP_TEST_LINES"] = strings.Join(c.history, "\n")
			cfg.Resume = fakeSession
			cfg.Known = func(context.Context) (*acp.Known, error) { return &c.known, nil }
			a := start(t, cfg, s)
			turnOf(t, a, s, "and now?")
			require.Equal(t, "news", message(s))
			require.Empty(t, of[event.ToolCall](s))
			notes := of[event.Note](s)
			if len(c.extra)+len(c.missing)+len(c.tools) == 0 {
				require.Empty(t, notes)
				return
			}
			require.Len(t, notes, 1)
			require.Equal(t, "abide/replay", notes[0].Method)
			var said struct {
				Extra   []string `json:"extra_prompts"`
				Tools   []string `json:"extra_tool_calls"`
				Missing []string `json:"missing_prompts"`
				Updates int      `json:"updates"`
			}
			require.NoError(t, json.Unmarshal(notes[0].Raw, &said))
			require.ElementsMatch(t, c.extra, said.Extra)
			require.ElementsMatch(t, c.tools, said.Tools)
			require.ElementsMatch(t, c.missing, said.Missing)
			require.Equal(t, len(c.history), said.Updates)
			require.Equal(t, len(c.missing) > 0, strings.Contains(string(notes[0].Text), fmt.Sprintf("It does not remember %d of", len(c.missing))))
		})
	}
}

// playComesBack repeats its history while it resumes or loads a session, and behind
// the answer. In a turn it repeats the prompt.
func playComesBack(f *fake) int {
	m := f.expect("initialize")
	f.result(m.ID, os.Getenv("ACP_TEST_HELLO"))
	for m = f.next(); m.Method != "session/resume" && m.Method != "session/load"; m = f.next() {
	}
	f.update(wasAsked("", "first"))
	f.update(wasSaid("answer"))
	f.result(m.ID, `{}`)
	f.update(wasDone("t1"))
	f.update(wasAsked("", "second"))
	f.update(wasSaid("answer"))
	f.update(`{"sessionUpdate":"available_commands_update","availableCommands":[]}`)
	p := f.prompt()
	f.update(wasAsked("", "and"))
	f.update(wasAsked("", " now?"))
	f.update(wasAsked("", "an order of its own"))
	f.chunk("news")
	f.done(p)
	f.next()
	return 0
}

func TestHistoryIsLoggedOnceHoweverAnAgentRepeatsIt(t *testing.T) {
	for method, hello := range map[string]string{
		"load":   `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`,
		"resume": `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`,
	} {
		t.Run(method, func(t *testing.T) {
			s := newSink()
			cfg := config(t, "comes_back")
			cfg.Env["ACP_TEST_HELLO"] = hello
			cfg.Resume = fakeSession
			cfg.Known = func(context.Context) (*acp.Known, error) {
				return &acp.Known{Prompts: []acp.KnownPrompt{{Text: "first"}}, ToolCalls: []string{"t1"}}, nil
			}
			a := start(t, cfg, s)
			first[event.Commands](t, s)
			require.NoError(t, a.Prompt(prompt("p", "and now?")))
			ended(t, s, "p")
			require.Equal(t, "news", message(s))
			require.Empty(t, of[event.ToolCall](s))
			notes := of[event.Note](s)
			require.Len(t, notes, 1, "only what the prompt does not have")
			require.Equal(t, event.Text("an order of its own"), notes[0].Text)
		})
	}
}

// playRepeats repeats each prompt of a new session in the ways of real agents.
func playRepeats(f *fake) int {
	f.hello()
	p := f.prompt()
	f.update(wasAsked("m", "Fix the bug.\r\n\r\nThen test."))
	f.update(wasAsked("", "Fix the "))
	f.update(wasAsked("", "bug.\n"))
	f.update(wasAsked("", "\n"))
	f.update(wasAsked("", "Then test.\n<system-reminder>be kind</system-reminder>"))
	f.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"image","data":"AAAA","mimeType":"image/png"}}`)
	f.update(wasAsked("", "an order of its own"))
	f.chunk("done")
	f.done(p)
	f.next()
	return 0
}

func TestAPromptThatItsAgentEchoesIsNotShownAgain(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "repeats"), s)
	require.NoError(t, a.Prompt(prompt("p", "Fix the bug.\n\nThen test.\n")))
	ended(t, s, "p")
	require.Equal(t, "done", message(s))
	var shown []string
	for _, n := range of[event.Note](s) {
		if !n.Background() {
			shown = append(shown, string(n.Text))
		}
	}
	require.Equal(t, []string{"an order of its own"}, shown)
}
