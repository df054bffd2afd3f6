package acp_test

import (
	"cmp"
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

// playTellsLate answers session/resume or session/load at once. It sends the updates of
// ACP_TEST_LINES when it gets its first prompt, and answers it in place of a line "end".
func playTellsLate(f *fake) int {
	m := f.expect("initialize")
	f.result(m.ID, os.Getenv("ACP_TEST_HELLO"))
	for m = f.next(); m.Method != "session/resume" && m.Method != "session/load"; m = f.next() {
	}
	f.result(m.ID, `{}`)
	p := f.prompt()
	for _, line := range strings.Split(os.Getenv("ACP_TEST_LINES"), "\n") {
		if line == "end" {
			f.done(p)
			continue
		}
		f.update(line)
	}
	f.update(`{"sessionUpdate":"available_commands_update","availableCommands":[]}`)
	f.next()
	return 0
}

// wasThought is a thought of the history.
func wasThought(text string) string {
	return strings.Replace(wasSaid(text), "agent_message_chunk", "agent_thought_chunk", 1)
}

func TestAPastThatIsToldLateIsNoAnswer(t *testing.T) {
	known := &acp.Known{
		Prompts: []acp.KnownPrompt{
			{Text: "go on", Answer: []byte("I did: go on\n")},
			{Text: "go on", Answer: []byte("I did: go on\n")},
			{Text: "third", Answer: []byte("Done.")},
		},
		ToolCalls: []string{"t1", "t2"},
	}
	past := []string{
		wasAsked("", "go on"), wasSaid("I did: "), wasDone("t1"), wasSaid("go on"),
		wasAsked("", "go on"), wasThought("hm"), wasSaid("I did: go on"), wasDone("t2"),
		wasAsked("", "third"), wasDone("new id"), wasSaid("Done."),
	}
	with := func(parts ...any) (lines []string) {
		for _, part := range parts {
			switch part := part.(type) {
			case string:
				lines = append(lines, part)
			case []string:
				lines = append(lines, part...)
			}
		}
		return lines
	}
	for name, c := range map[string]struct {
		prompt  string
		lines   []string
		answer  string
		tools   int
		thought int
		missing []string // of a load
		notes   int      // besides
	}{
		"before the answer":                      {lines: with(past, wasSaid("news"), "end"), answer: "news"},
		"before an echo of the prompt":           {lines: with(past, wasAsked("", "and"), wasAsked("", " now?"), wasSaid("news"), "end"), answer: "news"},
		"within the answer":                      {lines: with(wasSaid("ne"), past, wasSaid("ws"), "end"), answer: "news"},
		"behind the answer":                      {lines: with(wasSaid("news"), past, "end"), answer: "news"},
		"behind the turn":                        {lines: with(wasSaid("news"), "end", past), answer: "news"},
		"around the end of the turn":             {lines: with(wasSaid("news"), past[:4], "end", past[4:]), answer: "news"},
		"twice":                                  {lines: with(past, past, wasSaid("news"), "end"), answer: "news"},
		"before an answer like the last":         {lines: with(past, wasSaid("Done."), "end"), answer: "Done."},
		"without its last answer":                {lines: with(past[:9], wasSaid("Do"), wasSaid("it yourself."), "end"), answer: "Doit yourself."},
		"without its last answer, which is live": {lines: with(past[:9], wasSaid("Done."), "end"), answer: "Done."},
		"but for its last turn":                  {lines: with(past[:8], wasSaid("news"), "end"), answer: "news", missing: []string{"third"}},
		"before a prompt like the first":         {prompt: "go on", lines: with(past, wasSaid("news"), "end"), answer: "news"},
		"and a prompt of its own":                {lines: with(past, wasAsked("", "an order of its own"), wasSaid("news"), "end"), answer: "news", notes: 1},
		"and live tools and thoughts":            {lines: with(past, wasThought("hm"), wasDone("t3"), wasSaid("news"), "end"), answer: "news", tools: 1, thought: 1},
		"not at all, and an old answer is live":  {lines: with(wasSaid("I did: "), wasSaid("go on"), "end"), answer: "I did: go on"},
		"not at all, but an echo and its answer": {prompt: "go on", lines: with(wasAsked("", "go on"), wasSaid("I did: "), wasSaid("go on"), "end"), answer: "I did: go on"},
		"not at all, but an echo and a tool":     {prompt: "go on", lines: with(wasAsked("", "go on"), wasDone("t3"), wasSaid("I did: go on"), "end"), answer: "I did: go on", tools: 1},
	} {
		for method, hello := range map[string]string{
			"load":   `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`,
			"resume": `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`,
		} {
			t.Run(name+", "+method, func(t *testing.T) {
				s := newSink()
				cfg := config(t, "tells_late")
				cfg.Env["ACP_TEST_HELLO"], cfg.Env["ACP_TEST_LINES"] = hello, strings.Join(c.lines, "\n")
				cfg.Resume = fakeSession
				cfg.Known = func(context.Context) (*acp.Known, error) { return known, nil }
				a := start(t, cfg, s)
				require.NoError(t, a.Prompt(prompt("p", cmp.Or(c.prompt, "and now?"))))
				first[event.Commands](t, s)
				require.Equal(t, c.answer, message(s))
				require.Len(t, of[event.ToolCall](s), c.tools)
				require.Len(t, of[event.AgentThought](s), c.thought)
				missing := c.missing
				if method == "resume" {
					missing = nil
				}
				notes := of[event.Note](s)
				require.Len(t, notes, c.notes+min(1, len(missing)))
				for _, n := range notes {
					if n.Method == "abide/replay" {
						var said struct {
							Missing []string `json:"missing_prompts"`
						}
						require.NoError(t, json.Unmarshal(n.Raw, &said))
						require.Equal(t, missing, said.Missing)
					}
				}
			})
		}
	}
}
