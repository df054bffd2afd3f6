package acp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// playModels offers models without options, as Gemini does, and refuses one.
func playModels(f *fake) int {
	m := f.expect("initialize")
	f.result(m.ID, `{"protocolVersion":1,"agentCapabilities":{}}`)
	m = f.expect("session/new")
	f.result(m.ID, `{"sessionId":"`+fakeSession+`","models":{"currentModelId":"pro","availableModels":[{"modelId":"pro","name":"Pro"},{"modelId":"flash","name":"Flash","description":"fast"}]}}`)
	for {
		m = f.expect("session/set_model")
		if strings.Contains(string(m.Params), `"modelId":"flash"`) {
			f.result(m.ID, `{}`)
		} else {
			f.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such model"}}`, m.ID)
		}
	}
}

func TestModelsOfAnAgentWithoutOptionsAreAnOption(t *testing.T) {
	s := newSink()
	a := start(t, config(t, "models"), s)
	require.Equal(t, "pro", of[event.AgentStarted](s)[0].Settings.Model)
	offered := of[event.Config](s)
	require.Len(t, offered, 1)
	require.JSONEq(t, `[{"id":"model","name":"Model","category":"model","type":"select","currentValue":"pro",`+
		`"options":[{"value":"pro","name":"Pro"},{"value":"flash","name":"Flash","description":"fast"}]}]`, string(offered[0].Options))
	by := event.Actor{Name: "ann", ID: "d1"}
	require.NoError(t, a.SetConfigOption(context.Background(), "model", "flash", by))
	now := of[event.Config](s)[1]
	require.Contains(t, string(now.Options), `"currentValue":"flash"`)
	require.Equal(t, "ann", now.By)
	require.ErrorContains(t, a.SetConfigOption(context.Background(), "model", "none", by), "no such model")
	require.Len(t, of[event.Config](s), 2)
	notes := of[event.Note](s)
	require.Equal(t, event.Text("The agent refused model none: no such model."), notes[len(notes)-1].Text)
}
