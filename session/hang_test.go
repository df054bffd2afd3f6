package session_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// hangs makes saves of the queue hang until they are released, before the file is
// replaced or after.
type hangs struct {
	after   bool
	began   chan struct{} // receives when a save hangs
	release chan struct{}
}

func (h *hangs) option(armed <-chan struct{}) hubOption {
	return aroundQueueFile(func(replace func() error) error {
		select {
		case <-armed:
		default:
			return replace()
		}
		var err error
		if h.after {
			err = replace()
		}
		select {
		case h.began <- struct{}{}:
		default:
		}
		<-h.release
		if !h.after {
			err = replace()
		}
		return err
	})
}

// A file system that hangs on queue.json stops neither the agent's lines nor other
// verbs. Each client of the queue is answered when its change is on the device, in
// the order in which they came, and each prompt runs once.
func TestAQueueFileThatHangsStopsOnlyItsClients(t *testing.T) {
	for name, after := range map[string]bool{"before the file is replaced": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			hang := &hangs{after: after, began: make(chan struct{}, 1), release: make(chan struct{})}
			armed := make(chan struct{})
			h := newHub(t, hang.option(armed))
			b, a := h.busy()
			close(armed)

			type answer struct {
				result session.PromptResult
				err    error
			}
			send := func(id string) chan answer {
				got := make(chan answer, 1)
				go func() {
					result, err := b.Prompt(ctxOf(t), ask(id))
					got <- answer{result, err}
				}()
				return got
			}
			first := send("p1")
			receive(t, hang.began, "no save began")
			again := send("p1")
			cleared := make(chan error, 1)

			// The agent works, asks and ends its turn, and clients see it.
			require.NoError(t, a.say(event.AgentMessage{MessageID: "m", Text: "on disk"}, question("q1")))
			require.Equal(t, "on disk", string(payloads[event.AgentMessage](t, b)[0].Text))
			_, err := b.AnswerPermission(ctxOf(t), session.Answer{PermissionID: "q1", OptionID: "yes", Actor: person("ann")})
			require.NoError(t, err)
			receive(t, a.answers, "the agent got no answer")
			require.NoError(t, a.end(promptID(0), event.StopEndTurn))
			awaitIdle(t, b)
			require.Empty(t, b.Queue(), "a prompt is seen before it is on the device")
			require.Empty(t, first)
			require.Empty(t, again)

			// A prompt to the idle agent stays behind the one that is being written.
			second := send("p2")
			require.NoError(t, a.say(event.AgentMessage{MessageID: "n", Text: "still there"}))
			require.Len(t, payloads[event.AgentMessage](t, b), 2)
			require.Empty(t, second)

			close(hang.release)
			for _, got := range []chan answer{first, again, second} {
				r := receive(t, got, "a client got no answer")
				require.NoError(t, r.err)
			}
			for _, want := range []string{"p1", "p2"} {
				require.Equal(t, want, receive(t, a.prompts, "the agent got no prompt").PromptID)
				require.NoError(t, a.end(want, event.StopEndTurn))
			}
			awaitIdle(t, b)
			go func() { cleared <- b.QueueClear(context.Background(), person("ann")) }()
			require.NoError(t, receive(t, cleared, "the queue is not answered"))
			requireLawful(t, b, true)
			require.Empty(t, a.prompts)
		})
	}
}

// A hub that ends waits for the write of a client's change, and answers the client.
func TestTheEndOfASessionWaitsForItsFiles(t *testing.T) {
	hang := &hangs{began: make(chan struct{}, 1), release: make(chan struct{})}
	armed := make(chan struct{})
	h := newHub(t, hang.option(armed))
	b, _ := h.busy()
	close(armed)
	answered := make(chan error, 1)
	go func() {
		result, err := b.Prompt(context.Background(), ask("p1"))
		if err == nil && result.Outcome != queue.Queued {
			err = context.Canceled
		}
		answered <- err
	}()
	receive(t, hang.began, "no save began")
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		h.close()
	}()
	require.Eventually(t, func() bool {
		_, err := h.manager.Session(context.Background(), b.ID())
		return err != nil
	}, patience, tick, "the hub does not begin to end")
	select {
	case <-closed:
		t.Fatal("the hub ended before its file was written")
	case <-b.Done():
		t.Fatal("the session ended before its file was written")
	default:
	}
	close(hang.release)
	require.NoError(t, receive(t, answered, "the client got no answer"))
	receive(t, closed, "the hub does not end")
	h.open()
	defer h.close()
	require.Equal(t, "p1", receive(t, h.agents.next(t).prompts, "the prompt is lost").PromptID)
}
