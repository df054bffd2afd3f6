package session_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// listed waits until the list shows the session with this status and line.
func listed(t *testing.T, b *session.BackgroundSession, status state.Status, line string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		info := b.Info()
		assert.Equal(c, status, info.Status)
		assert.Equal(c, line, info.LastLine)
	}, patience, time.Millisecond)
}

func TestTheListShowsWhatIsAskedAndThenWhatWasSaid(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(event.AgentMessage{MessageID: "m1", Text: "I shall clean up."}))
	q := question("q1")
	q.Title = "rm -rf build\nand more"
	require.NoError(t, a.say(q))
	listed(t, b, state.StatusNeedsYou, "Allow: rm -rf build?")
	require.NoError(t, a.say(question("q2")))
	listed(t, b, state.StatusNeedsYou, "Allow: rm -rf build?") // the oldest request is shown first
	_, err := answer(b, "q1", "no", "phone")
	require.NoError(t, err)
	listed(t, b, state.StatusNeedsYou, "May I q2?")
	_, err = answer(b, "q2", "no", "phone")
	require.NoError(t, err)
	listed(t, b, state.StatusRunning, "I shall clean up.")
}

func TestTheLastLineIsOfWhatIsSaidAroundCodeAndBeginsWithAWord(t *testing.T) {
	long := strings.Repeat("so many words in one line ", 400)
	for name, c := range map[string]struct {
		chunks []event.Text
		line   string
	}{
		"a block at the end":            {[]event.Text{"Run this:\n\n```sh\nmake build\n```\n"}, "Run this:"},
		"a block that is being written": {[]event.Text{"Run this:\n", "~~~sh\nmake", " build\n"}, "Run this:"},
		"a fence that just opened":      {[]event.Text{"Run this:\n```go"}, "Run this:"},
		"a fence in a list":             {[]event.Text{"- Run this:\n  ```sh\n  make build\n  ```\n"}, "- Run this:"},
		"words behind a block":          {[]event.Text{"```sh\nmake build\n```\nThat was it.\n\n***"}, "That was it."},
		"code in a line":                {[]event.Text{"```make build```"}, "```make build```"},
		"nothing but code":              {[]event.Text{"```go\nfunc main() {\n}\n```"}, "func main() {"},
		"a long block":                  {[]event.Text{"Look:\n```\n", event.Text(strings.Repeat("x := 1\n", 2000)), "```\nThat is all."}, "That is all."},
		"a line longer than is kept":    {[]event.Text{event.Text(long), event.Text(long)}, ""},
		"words without blanks":          {[]event.Text{event.Text(strings.Repeat("言葉", 2000))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			b, a := h.busy()
			for _, text := range c.chunks {
				require.NoError(t, a.say(event.AgentMessage{MessageID: "m1", Text: text}))
			}
			if c.line != "" {
				listed(t, b, state.StatusRunning, c.line)
				return
			}
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				assert.Regexp(c, `^…(so|many|words|in|one|line|[言葉]+…$)( |$|…)?`, b.Info().LastLine)
			}, patience, time.Millisecond)
		})
	}
}

func TestAQuestionIsNotTheLastLineOfTheNextRun(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	require.NoError(t, a.say(event.AgentMessage{MessageID: "m1", Text: "I shall clean up."}, question("q1")))
	listed(t, b, state.StatusNeedsYou, "May I q1?")
	h.close()
	h.open()
	b = h.session(b.ID())
	awaitIdle(t, b)
	listed(t, b, state.StatusInterrupted, "Interrupted: the hub was stopped.")
}

func TestATurnThatTheProviderFailedIsListedAsInterruptedWithTheFirstWordsOfItsError(t *testing.T) {
	h := newHub(t)
	b, a := h.busy()
	failure := &event.Failure{Code: "overloaded", Message: "\nthe model is overloaded\nat line 5 of a trace"}
	require.NoError(t, a.say(event.TurnEnd{PromptID: promptID(0), StopReason: event.StopInterrupted, Error: failure}))
	listed(t, b, state.StatusInterrupted, "the model is overloaded")
	h.close()
	h.open()
	b = h.session(b.ID())
	listed(t, b, state.StatusInterrupted, "the model is overloaded")
	prompt(t, b, "again")
	listed(t, b, state.StatusRunning, "do again")
}

func TestAnAgentThatDoesNotStartIsListedAsFailedAndOneThatWantsALoginAsNeedingYou(t *testing.T) {
	h := newHub(t)
	wrong := errors.New("no such program")
	h.agents.onStart = func(*fakeAgent) error { return wrong }
	b := h.create()
	prompt(t, b, "first")
	listed(t, b, state.StatusFailed, "the agent fake could not be started: no such program. A prompt or a restart tries again.")
	wrong = &session.LoginNeeded{Methods: []session.AuthMethod{{MethodID: "browser"}}, Err: errors.New("log in first")}
	prompt(t, b, "second")
	listed(t, b, state.StatusNeedsYou, "log in first")
}
