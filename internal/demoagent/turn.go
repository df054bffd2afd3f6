package demoagent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/abidehub/abide/session/event"
)

// turn plays one prompt.
type turn struct {
	ctx     context.Context // ends when the client cancels
	agent   *agent
	session *session
	text    string
	stop    sdk.StopReason
	said    int // bytes
	// grown are the calls that a recording has told, by their ids.
	grown map[string]*event.ToolCallFields
}

// pause waits as long as it would take at the natural pace.
func (t *turn) pause(d time.Duration) error {
	if t.agent.options.Speed <= 0 {
		return t.ctx.Err()
	}
	timer := time.NewTimer(time.Duration(float64(d) / (t.agent.options.Speed * t.session.haste())))
	defer timer.Stop()
	select {
	case <-t.ctx.Done():
		return t.ctx.Err()
	case <-timer.C:
		return nil
	}
}

// update sends one update. Updates go out also after the turn was cancelled.
func (t *turn) update(u sdk.SessionUpdate) error {
	t.remember(u)
	return t.agent.conn.SessionUpdate(context.WithoutCancel(t.ctx), sdk.SessionNotification{SessionId: t.session.id, Update: u})
}

// remember keeps an update that is history for the archive.
func (t *turn) remember(u sdk.SessionUpdate) {
	if u.AvailableCommandsUpdate != nil || u.UsageUpdate != nil || u.SessionInfoUpdate != nil || u.CurrentModeUpdate != nil {
		return
	}
	if data, err := json.Marshal(u); err == nil {
		t.session.keep(data)
	}
}

// raw sends an update the SDK has no type for.
func (t *turn) raw(update map[string]any) error {
	return t.agent.wire.notify(sdk.ClientMethodSessionUpdate, map[string]any{"sessionId": t.session.id, "update": update})
}

func (t *turn) nextMessage() string {
	t.session.messages++
	return fmt.Sprintf("%s-m%d", t.session.id, t.session.messages)
}

func (t *turn) nextTool() sdk.ToolCallId {
	t.session.tools++
	return sdk.ToolCallId(fmt.Sprintf("%s-t%d", t.session.id, t.session.tools))
}

// chunk sends one chunk of a message.
func (t *turn) chunk(id, text string) error {
	t.said += len(text)
	return t.update(sdk.SessionUpdate{AgentMessageChunk: &sdk.SessionUpdateAgentMessageChunk{
		Content: sdk.TextBlock(text), MessageId: &id,
	}})
}

// say streams a message word by word.
func (t *turn) say(text string) error {
	id := t.nextMessage()
	return t.stream(text, func(piece string) error { return t.chunk(id, piece) })
}

// think streams a thought word by word.
func (t *turn) think(text string) error {
	id := t.nextMessage()
	return t.stream(text, func(piece string) error {
		return t.update(sdk.SessionUpdate{AgentThoughtChunk: &sdk.SessionUpdateAgentThoughtChunk{
			Content: sdk.TextBlock(piece), MessageId: &id,
		}})
	})
}

func (t *turn) stream(text string, send func(string) error) error {
	for _, piece := range pieces(text) {
		if err := send(piece); err != nil {
			return err
		}
		if err := t.pause(30 * time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// pieces cuts text as a model streams it: a few words at a time.
func pieces(text string) []string {
	words := strings.SplitAfter(text, " ")
	var out []string
	for len(words) > 0 {
		n := min(3, len(words))
		out = append(out, strings.Join(words[:n], ""))
		words = words[n:]
	}
	return out
}

// status moves a tool call on.
func (t *turn) status(id sdk.ToolCallId, s sdk.ToolCallStatus, opts ...sdk.ToolCallUpdateOpt) error {
	return t.update(sdk.UpdateToolCall(id, append([]sdk.ToolCallUpdateOpt{sdk.WithUpdateStatus(s)}, opts...)...))
}

// ask asks for permission, and returns the option that was selected, or "" if
// the request was cancelled.
func (t *turn) ask(call sdk.ToolCallUpdate, options []sdk.PermissionOption) (sdk.PermissionOptionId, error) {
	return t.askIn(t.ctx, call, options)
}

// askIn withdraws the request when ctx ends.
func (t *turn) askIn(ctx context.Context, call sdk.ToolCallUpdate, options []sdk.PermissionOption) (sdk.PermissionOptionId, error) {
	answer, err := t.agent.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{
		SessionId: t.session.id, ToolCall: call, Options: options,
	})
	if err != nil {
		return "", err
	}
	if answer.Outcome.Selected == nil {
		return "", ctx.Err()
	}
	return answer.Outcome.Selected.OptionId, nil
}

// Option ids are the agent's own words; clients show the names.
func permissionOptions() []sdk.PermissionOption {
	return []sdk.PermissionOption{
		{OptionId: "yes", Name: "Allow once", Kind: sdk.PermissionOptionKindAllowOnce},
		{OptionId: "always", Name: "Always allow", Kind: sdk.PermissionOptionKindAllowAlways},
		{OptionId: "no", Name: "Reject", Kind: sdk.PermissionOptionKindRejectOnce},
	}
}

func allowed(option sdk.PermissionOptionId) bool { return option == "yes" || option == "always" }

// usage pretends to count: a token is four bytes.
func (t *turn) usage() *sdk.Usage {
	in, out := 200+len(t.text)/4, t.said/4
	return &sdk.Usage{InputTokens: in, OutputTokens: out, TotalTokens: in + out}
}

// restorePrefix begins a prompt that is a part of a session's record.
const restorePrefix = "[SESSION_RESTORE"

// readRecord takes a part of a session's record. It takes a moment for every
// prompt, as models do.
func (t *turn) readRecord() *sdk.Usage {
	t.ctx = context.WithoutCancel(t.ctx)
	_ = t.pause(300 * time.Millisecond) // nothing ends it
	t.session.used += len(t.text) / 4
	return &sdk.Usage{InputTokens: t.session.used, TotalTokens: t.session.used}
}

// context reports the fill of the context, and the cost.
func (t *turn) context() error {
	t.session.used += 200 + (len(t.text)+t.said)/4
	return t.update(sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{
		Used: t.session.used, Size: 200_000,
		Cost: &sdk.Cost{Amount: float64(t.session.used) / 1e5, Currency: "USD"},
	}})
}

func (t *turn) title(title string) error {
	return t.update(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{Title: &title}})
}
