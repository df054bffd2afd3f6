package wire_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func ptr[T any](v T) *T { return &v }

const session = "20260221-140307-9f3a11c0"

var at = time.Date(2026, 2, 21, 14, 3, 7, 123456000, time.UTC)

func clientExamples() []wire.Message {
	image := []event.Attachment{{Name: "shot.png", MediaType: "image/png", Bytes: 70, SHA256: "ab12"}}
	return []wire.Message{
		&wire.Observe{RequestID: "r1", SessionID: session, AfterSeq: ptr(event.Seq(41)), Epoch: "0123456789abcdef", Tail: ptr(50), Merge: true},
		&wire.Unobserve{SessionID: session},
		&wire.LoadEvents{RequestID: "r2", SessionID: session, Epoch: "0123456789abcdef", AfterSeq: ptr(event.Seq(41)), BeforeSeq: ptr(event.Seq(90)), Limit: 50, Merge: true},
		&wire.Prompt{RequestID: "r3", SessionID: session, PromptID: "p1", Text: "Say hi", Attachments: image, When: wire.WhenQueue, ScheduledAt: &at},
		&wire.Cancel{RequestID: "r4", SessionID: session},
		&wire.ForceReset{RequestID: "r5", SessionID: session},
		&wire.ResumeTurn{RequestID: "r17", SessionID: session, Resume: wire.Resume{InterruptionID: "i1", Way: "server", Prompt: "Go on.", Drift: "apply", Confirm: []string{"stale"}, WithoutSetup: true}},
		&wire.DismissTurn{RequestID: "r18", SessionID: session, Dismiss: wire.Dismiss{InterruptionID: "i1"}},
		&wire.RestartAgent{RequestID: "r13", SessionID: session},
		&wire.Authenticate{RequestID: "r14", SessionID: session, MethodID: "browser"},
		&wire.PermissionAnswer{RequestID: "r6", SessionID: session, PermissionID: "perm1", OptionID: "yes", Content: json.RawMessage(`{"colour":"red"}`), SeenSeq: 44, Remember: state.RuleSession},
		&wire.QueueEdit{RequestID: "r7", SessionID: session, PromptID: "p2", Text: "Say hello"},
		&wire.QueueMove{RequestID: "r8", SessionID: session, PromptID: "p2", Position: 1},
		&wire.QueueRemove{RequestID: "r9", SessionID: session, PromptID: "p2"},
		&wire.QueueClear{RequestID: "r10", SessionID: session},
		&wire.SetMode{RequestID: "r11", SessionID: session, ModeID: "plan"},
		&wire.SetConfigOption{RequestID: "r12", SessionID: session, ConfigID: "model", Value: "big"},
		&wire.Ack{SessionID: session, Epoch: "0123456789abcdef", Seq: 44, Visible: true},
		&wire.Presence{SessionID: session, Activity: "typing"},
		&wire.Ping{Nonce: "n1"},
	}
}

func serverExamples() []wire.Message {
	events := []event.Event{
		{Seq: 42, Time: at, Type: event.TypeAgentMessage, Turn: 2, Data: json.RawMessage(`{"message_id":"m1","text":"Hello"}`)},
		{Seq: 43, Time: at, Type: event.TypeAgentMessage, Turn: 2, Data: json.RawMessage(`{"message_id":"m1","text":" you"}`)},
	}
	info := wire.SessionInfo{Info: state.Info{SessionID: session, Name: "Say hi", Agent: "demo", Workspace: "/src", ProjectRoot: "/src", CreatedAt: at, UpdatedAt: at,
		Status: state.StatusNeedsYou, EventCount: 44, MinSeq: 1, MaxSeq: 44, Epoch: "0123456789abcdef", Archived: true, Pinned: true, Tags: []string{"release"}, Imported: true,
		ForkedFrom: &event.Forked{SessionID: session, Seq: 12}, Forks: []event.Forked{{SessionID: session, Seq: 40}}, LastLine: "Hello you"}, ReadSeq: new(event.Seq(40))}
	resolved := wire.PermissionResolved{RequestID: "r6", SessionID: session, PermissionID: "perm1", Outcome: event.OutcomeSelected, OptionID: "yes", By: "phone", ByID: "4be9771c0a5d2e38"}
	return []wire.Message{
		&wire.Connected{Protocol: wire.Version, Version: "1.0.0", HubID: "h1", ClientID: "c1", HeartbeatMS: 10000,
			Limits: wire.Limits{MaxFrame: wire.MaxClientFrame, MaxPage: wire.MaxPage, MaxQueue: 10, MaxAttachment: 25 << 20, TrashDays: 7}, Scope: "owner", Time: at},
		&wire.Events{SessionID: session, Epoch: "0123456789abcdef", FirstSeq: 42, LastSeq: 43, MaxSeq: 44, Events: events},
		&wire.EventsLoaded{RequestID: "r1", SessionID: session, Verdict: wire.VerdictReset, Reason: wire.ResetEpoch, Epoch: "0123456789abcdef",
			FirstSeq: 42, LastSeq: 43, MinSeq: 1, MaxSeq: 44, HasMore: true, Prepend: true, Events: events},
		&wire.State{SessionID: session, AtSeq: 44, Turn: wire.Turn{State: state.TurnPrompting, Number: 2, PromptID: "p1", Since: at, ForceReset: true},
			PendingPermissions: []string{"perm1"},
			Queue: []wire.QueueItem{{PromptID: "p2", Text: "Say hello", Title: "Say hello", Actor: "phone", ByID: "4be9771c0a5d2e38", Author: "laptop", AuthorID: "77aa51c0de90b3f2", QueuedAt: at, ScheduledAt: &at,
				Attachments: []event.Attachment{{Name: "shot.png", MediaType: "image/png", Bytes: 70, SHA256: "ab12"}}}},
			Mode: &event.Mode{ModeID: "code"}, Config: &event.Config{Options: json.RawMessage(`[]`)},
			Commands: &event.Commands{Commands: []event.Command{{Name: "plan"}}}, Usage: &event.Usage{Used: 1200, Size: 200000},
			Agent: wire.Agent{Name: "demo", Status: state.AgentFailed, Version: "1.0", Message: "not found: install it", RestartAt: at,
				AuthMethods:        []wire.AuthMethod{{MethodID: "browser", Name: "Browser", Description: "Opens a page", Command: []string{"demo", "login"}}},
				PromptCapabilities: &wire.PromptCapabilities{Image: true, EmbeddedContext: true}},
			Suggestions:  []string{"Write the tests"},
			Interruption: &wire.Interruption{InterruptionID: "i1", Turn: 1, Reason: event.CutAgentExit, Phase: event.PhaseTools, AtSeq: 40, At: at, Held: true},
			Paused:       &wire.Paused{By: "phone", ByID: "4be9771c0a5d2e38", At: at},
			Restore:      &wire.Restore{Way: event.WaySegmented, Done: 3, Total: 12, Tokens: 48000, Percent: 25},
			Observers:    []wire.Observer{{ClientID: "c1", Actor: "phone", Activity: "viewing", Seq: 44}}},
		&wire.Reading{SessionID: session, AtSeq: 18, MaxSeq: 44},
		&wire.Session{Session: info},
		&wire.SessionGone{RequestID: "r1", SessionID: session},
		&wire.PromptReceived{RequestID: "r3", SessionID: session, PromptID: "p1", Seq: 40},
		&wire.PromptQueued{RequestID: "r3", SessionID: session, PromptID: "p2", Position: 1},
		&wire.PromptRemoved{RequestID: "r3", SessionID: session, PromptID: "p2"},
		&wire.PromptInterrupted{RequestID: "r3", SessionID: session, PromptID: "p1", Seq: 40},
		&resolved,
		&wire.Comments{SessionID: session, Version: 7, Count: 3, Open: 2},
		&wire.Granted{Grants: []wire.Grant{{ID: "5f3a11c09f3a11c0", Kind: "token", Name: "ci", Scope: "viewer", SessionID: session, CreatedAt: at}}},
		&wire.Pong{Nonce: "n1", Time: at, MaxSeq: map[string]event.Seq{session: 44}},
		&wire.Heartbeat{MaxSeq: map[string]event.Seq{session: 44}},
		&wire.Error{RequestID: "r6", SessionID: session, Code: wire.CodeAlreadyResolved, Message: "phone has answered", RetryAfterMS: 1000, Needs: []string{"stale"},
			Winner: &wire.Winner{SessionID: session, PermissionID: "perm1", Outcome: "selected", OptionID: "yes", By: "phone", ByID: "4be9771c0a5d2e38", At: &at}},
		&wire.Goodbye{Reason: "the hub is restarting", RetryAfterMS: 1000},
	}
}

// TestEveryFrameHasAGoldenFile pins the JSON of each frame. The web app's tests and
// docs/protocol.md read the same files.
func TestEveryFrameHasAGoldenFile(t *testing.T) {
	for _, side := range []struct {
		dir      string
		known    []wire.Message
		examples []wire.Message
		decode   func([]byte) (wire.Message, error)
	}{
		{"client", wire.ClientMessages(), clientExamples(), wire.DecodeClient},
		{"server", wire.ServerMessages(), serverExamples(), wire.DecodeServer},
	} {
		require.Len(t, side.examples, len(side.known))
		for i, example := range side.examples {
			t.Run(side.dir+" "+example.MessageType(), func(t *testing.T) {
				require.Equal(t, side.known[i].MessageType(), example.MessageType(), "examples are in the order of the registry")
				requireAllFieldsSet(t, reflect.ValueOf(example).Elem())
				frame, err := wire.Encode(example)
				require.NoError(t, err)
				golden := filepath.Join("testdata", side.dir, example.MessageType()+".json")
				if *update {
					require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
					require.NoError(t, os.WriteFile(golden, append(frame, '\n'), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				require.Equal(t, strings.TrimSpace(string(want)), string(frame))

				back, err := side.decode(frame)
				require.NoError(t, err)
				require.Equal(t, example, back)
			})
		}
	}
}

func TestAFrameBuiltAroundABatchEqualsTheEncodedOne(t *testing.T) {
	for _, example := range serverExamples() {
		want, err := wire.Encode(example)
		require.NoError(t, err)
		switch m := example.(type) {
		case *wire.Events:
			have := wire.AppendEvents(nil, m.SessionID, m.Epoch, batchOf(t, m.Events), m.MaxSeq)
			require.JSONEq(t, string(want), string(have))
		case *wire.EventsLoaded:
			have, err := wire.EncodeLoaded(*m, batchOf(t, m.Events))
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(have))
		}
	}
}

func TestAnEmptyPageIsAnEmptyArray(t *testing.T) {
	frame, err := wire.EncodeLoaded(wire.EventsLoaded{SessionID: session, Verdict: wire.VerdictOK}, event.Batch{})
	require.NoError(t, err)
	require.True(t, json.Valid(frame))
	require.True(t, strings.HasSuffix(string(frame), `"events":[]}`), string(frame))
}

func TestBadFramesAreToldApartFromUnknownOnes(t *testing.T) {
	for name, frame := range map[string]string{
		"empty":           ``,
		"not JSON":        `hello`,
		"an array":        `[]`,
		"no type":         `{}`,
		"type not string": `{"type":7}`,
		"cut short":       `{"type":"ping","nonce":"`,
		"two values":      `{"type":"ping","nonce":"n"} {}`,
		"float seq":       `{"type":"load_events","after_seq":1.5}`,
		"huge seq":        `{"type":"load_events","after_seq":99999999999999999999}`,
		"string seq":      `{"type":"load_events","after_seq":"7"}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := wire.DecodeClient([]byte(frame))
			require.ErrorIs(t, err, wire.ErrMalformed)
		})
	}
	_, err := wire.DecodeClient([]byte(`{"type":"from_the_future"}`))
	require.ErrorIs(t, err, wire.ErrUnknownType)
	_, err = wire.DecodeClient([]byte(`{"type":"events"}`))
	require.ErrorIs(t, err, wire.ErrUnknownType, "a client may not send a server message")
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	m, err := wire.DecodeClient([]byte(`{"type":"ping","nonce":"n","from_the_future":{}}`))
	require.NoError(t, err)
	require.Equal(t, &wire.Ping{Nonce: "n"}, m)
}

func FuzzDecodeClient(f *testing.F) {
	for _, m := range clientExamples() {
		frame, err := wire.Encode(m)
		require.NoError(f, err)
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := wire.DecodeClient(frame)
		if err != nil {
			return
		}
		again, err := wire.Encode(m)
		require.NoError(t, err)
		back, err := wire.DecodeClient(again)
		require.NoError(t, err)
		require.Equal(t, m, back)
	})
}

func batchOf(t *testing.T, events []event.Event) event.Batch {
	t.Helper()
	array, err := json.Marshal(events)
	require.NoError(t, err)
	return event.Batch{First: events[0].Seq, Last: events[len(events)-1].Seq, Count: len(events), JSON: array[1 : len(array)-1]}
}

func requireAllFieldsSet(t *testing.T, v reflect.Value) {
	t.Helper()
	for _, f := range reflect.VisibleFields(v.Type()) {
		require.False(t, v.FieldByIndex(f.Index).IsZero(), "%s.%s is not set in its example", v.Type(), f.Name)
	}
}

func TestAStateThatIsEncodedPromptByPromptIsTheSame(t *testing.T) {
	m := wire.State{SessionID: "s", AtSeq: 7, PendingPermissions: []string{}, Queue: []wire.QueueItem{}, Observers: []wire.Observer{}}
	for n := range 3 {
		whole, err := wire.Encode(&m)
		require.NoError(t, err)
		frame, err := wire.AppendState([]byte("before"), m)
		require.NoError(t, err)
		require.Equal(t, "before"+string(whole), string(frame))
		m.Queue = append(m.Queue, wire.QueueItem{PromptID: fmt.Sprint("p", n), Text: "<\"]}\n" + strings.Repeat("x", 5000)})
	}
}
