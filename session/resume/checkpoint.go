package resume

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

const (
	// checkpointTail is how many runes of the text and of the thought a checkpoint
	// keeps, counted from the end.
	checkpointTail = 4000
	// checkpointBytes is how much of a log is read at once.
	ReadBytes = 1 << 20
)

// Checkpoint is the state of a turn when it was interrupted. It is computed from
// the turn's events and never stored.
type Checkpoint struct {
	Reason event.InterruptReason
	Phase  event.TurnPhase
	Prompt string
	// Attachments are those of the prompt.
	Attachments []event.Attachment
	// Given says that the agent got the prompt.
	Given bool
	// Round counts the tool batches so far.
	Round int
	// Text and Thought are the ends of the agent's message and thought. TextLen and
	// ThoughtLen are the full lengths in runes.
	Text, Thought       string
	TextLen, ThoughtLen int
	Open, Finished      []event.ToolCallFields
	// Outputs are the ends of what delegated calls said last, by call id.
	Outputs map[string]string
	Plan    []event.PlanEntry
	// Lost are the unanswered permission requests.
	Lost []event.PermissionRequest
	// Seen is the state of the workspace after the last finished tool call, or at
	// the beginning of the turn; nil if unknown.
	Seen *event.WorkspaceSeen
}

// CheckpointOf reads the turn of an interruption from the log. It returns when the turn
// is read, or with the log's error.
func CheckpointOf(ctx context.Context, log observer.Source, i state.OpenInterruption) (Checkpoint, error) {
	from := &turnReader{}
	from.transcript.LastSeq = i.Checkpoint.FromSeq - 1
	err := observer.New(observer.UpTo(log, i.Checkpoint.ToSeq), from, i.Checkpoint.FromSeq-1, ReadBytes).CatchUp(ctx)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("read the interrupted turn: %w", err)
	}
	c := Checkpoint{Reason: i.Reason, Phase: i.Phase, Given: from.given, Seen: from.seen}
	for _, turn := range from.transcript.Turns {
		if turn.Number == i.Turn {
			c.take(turn)
		}
	}
	return c, nil
}

// take computes the checkpoint from the transcript of the turn.
func (c *Checkpoint) take(turn *transcript.Turn) {
	if turn.Prompt != nil {
		c.Prompt, c.Attachments = string(turn.Prompt.Text), turn.Prompt.Attachments
	}
	batch := false
	var text, thought strings.Builder
	for _, entry := range turn.Entries {
		switch entry.Kind {
		case transcript.Tool:
			if !batch {
				c.Round++
			}
			if entry.Tool.Status.Done() {
				c.Finished = append(c.Finished, *entry.Tool)
			} else {
				c.Open = append(c.Open, *entry.Tool)
				c.hear(*entry.Tool)
			}
		case transcript.Message:
			text.WriteString(entry.Text)
		case transcript.Thought:
			thought.WriteString(entry.Text)
		case transcript.Plan:
			c.Plan = entry.Plan
		case transcript.Permission:
			if entry.Outcome == nil {
				c.Lost = append(c.Lost, *entry.Permission)
			}
		}
		batch = entry.Kind == transcript.Tool || batch && entry.Kind == transcript.Permission
	}
	c.Text, c.TextLen = tail(text.String())
	c.Thought, c.ThoughtLen = tail(thought.String())
}

// hear keeps the last output of an open call in a delegated turn.
func (c *Checkpoint) hear(call event.ToolCallFields) {
	if c.Phase != event.PhaseDelegating {
		return
	}
	var entries []struct {
		Content struct{ Text string }
	}
	_ = json.Unmarshal(call.Whole(), &entries) // other content has no text
	for _, e := range slices.Backward(entries) {
		if text := strings.TrimSpace(e.Content.Text); text != "" {
			if c.Outputs == nil {
				c.Outputs = map[string]string{}
			}
			c.Outputs[call.ToolCallID], _ = tail(text)
			return
		}
	}
}

// tail returns the end of a text and the length of the whole in runes.
func tail(text string) (end string, length int) {
	runes := []rune(text)
	return string(runes[max(0, len(runes)-checkpointTail):]), len(runes)
}

// turnReader folds the events of one turn.
type turnReader struct {
	transcript transcript.Transcript
	given      bool
	seen       *event.WorkspaceSeen
}

// Deliver implements observer.Sink.
func (r *turnReader) Deliver(_ context.Context, b event.Batch) error {
	events, err := b.Events()
	if err != nil {
		return err
	}
	for _, e := range events {
		r.given = r.given || e.Type == event.TypeTurnStart
		if p, err := e.Payload(); err == nil && e.Type == event.TypeWorkspaceSeen {
			seen := p.(event.WorkspaceSeen)
			r.seen = &seen
		}
		if err := r.transcript.Apply(e); err != nil {
			return err
		}
	}
	return nil
}
