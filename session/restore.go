package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

const (
	// noteRestore is the method of the notes about the beginning and end of a
	// restore.
	noteRestore = "abide/restore"
	// answerBytes limits how much of an agent's answer to a segment is kept.
	answerBytes = 4 << 10
	// takenAfter is how long a segment stays with an agent that fails if it is
	// interrupted at once.
	takenAfter = time.Second
)

// restore sends the session so far to a new agent session, before the prompt that
// resumes a turn. It sends segment by segment and cancels each at once, because no
// answer is wanted. It belongs to the engine and is not stored: after a crash the
// resume is offered again.
type restore struct {
	wanted      bool
	mayFallBack bool // auto: use this way if the agent cannot resume its session
	segments    resume.Segments
	tokens      int // of all segments
	told        int // of the sent ones
	next        int
	open        string    // id of the segment that the agent has; empty between two
	since       time.Time // since when the agent has it
	interrupted bool      // it was cancelled
	// patient means that cancelling at once failed, as with OpenCode: each segment
	// then stays with the agent for takenAfter before it is cancelled.
	patient bool
	answer  []byte // to the open segment
	// counted is the agent's own count of tokens; 0 if it reports none.
	counted int64
	// uncounted means that all was sent, and that the agent has reported no count since.
	uncounted bool
}

// restoring returns the restore for State; nil if none is running.
func (t *turnRun) restoring() *state.Restore {
	r := &t.restore
	if !t.telling() {
		return nil
	}
	return &state.Restore{
		Way: event.WaySegmented, Done: r.next, Total: len(r.segments.List), Tokens: r.tokens,
		Percent: r.told * 100 / max(1, r.tokens),
	}
}

// restorer performs a restore.
type restorer struct {
	*foldedLog
	agent     *agentSlot
	turn      *turnRun
	helpers   *helpers
	questions *questions
	ends      turnEnder
}

// restored reports whether the restore is complete, and performs its next due step.
func (s *restorer) restored(now time.Time) bool {
	r := &s.turn.restore
	switch s.turn.phase {
	case turnWaiting:
		if !r.wanted && (!r.mayFallBack || s.agent.resumed != "" || !s.resumeSettings().SegmentedFallback) {
			return true
		}
		s.read()
	case turnTelling:
		if r.open != "" {
			s.watchSegment(now)
		} else if r.next < len(r.segments.List) {
			s.tellSegment(now)
		} else {
			return s.finish()
		}
	case turnTold:
		return true
	}
	return false
}

// read reads the log in a helper goroutine.
func (s *restorer) read() {
	s.turn.become(turnReading)
	promptID, proc, to, limit := s.fold.PromptID, s.agent.proc, s.fold.PromptSeq-1, s.resumeSettings().Segment()
	s.helpers.run(func() {
		segments, err := resume.SegmentsOf(context.Background(), s.log, s.log.Marks().Min, to, limit)
		s.helpers.post(func() {
			r := &s.turn.restore
			if s.fold.PromptID != promptID || s.agent.proc != proc || s.turn.phase != turnReading || !s.fold.Open {
				return
			}
			if err != nil {
				s.fail("the session could not be read: "+err.Error(), nil)
				return
			}
			s.turn.become(turnTelling)
			r.segments, r.tokens = segments, segments.Tokens()
			s.dirty = true
			text := fmt.Sprintf("The agent began a new session. It gets this one in %s, about %d tokens, and then the prompt.", resume.CountSegments(len(segments.List)), r.tokens)
			if left := segments.Omitted; left > 0 {
				text += fmt.Sprintf(" The oldest part, of %s, is left out.", resume.CountSegments(left))
			}
			_, _ = s.write(s.entries(event.Note{Method: noteRestore, Text: event.Text(text)})...) // if the log is blocked, the note is omitted
		})
	})
}

// tellSegment sends the next segment to the agent and cancels it.
func (s *restorer) tellSegment(now time.Time) {
	r := &s.turn.restore
	text, n := r.segments.Text(r.next), r.next+1
	raw, err := json.Marshal(map[string]any{"segment": n, "of": len(r.segments.List), "tokens": r.segments.TokensOf(r.next), "text": text})
	if err != nil {
		s.fail(err.Error(), nil)
		return
	}
	said := fmt.Sprintf("Segment %d of %d was sent.", n, len(r.segments.List))
	if _, err := s.write(s.entries(event.Note{Method: transcript.NoteSegment, Text: event.Text(said), Raw: raw})...); err != nil {
		return // the log is blocked or frozen; proceed tries again
	}
	r.open, r.since, r.interrupted = fmt.Sprintf("restore-%s-%d", s.fold.PromptID, n), now, false
	if r.patient {
		r.open += "-again"
	}
	if err := s.agent.proc.Prompt(event.UserPrompt{PromptID: r.open, Text: event.Text(text)}); err != nil {
		s.fail("the agent did not take it", nil)
		return
	}
	if r.patient {
		s.wake(now.Add(takenAfter))
		return
	}
	s.interruptSegment(now)
}

// interruptSegment cancels the segment that the agent has.
func (s *restorer) interruptSegment(now time.Time) {
	if err := s.agent.proc.Cancel(); err != nil {
		s.fail("the agent did not take it", nil)
		return
	}
	s.turn.restore.interrupted = true
	s.wake(now.Add(deafAfter))
}

// watchSegment cancels a segment when its time has come, and gives up if the agent
// does not end it.
func (s *restorer) watchSegment(now time.Time) {
	since := s.turn.restore.since
	if at := since.Add(takenAfter); !s.turn.restore.interrupted {
		if now.Before(at) {
			s.wake(at)
		} else {
			s.interruptSegment(now)
		}
		return
	}
	if s.agent.heard.After(since) {
		since = s.agent.heard
	}
	if at := since.Add(deafAfter); now.Before(at) {
		s.wake(at)
		return
	}
	s.fail("the agent did not answer the cancel", nil)
}

// segmentEnded handles the agent's answer to a segment. After an error nothing has
// changed, and the caller repeats the call.
func (s *restorer) segmentEnded(p event.TurnEnd) error {
	r := &s.turn.restore
	if p.Error != nil && !r.patient {
		// The cancel itself may have caused the failure: send the segment again.
		r.patient, r.open, r.answer = true, "", nil
		return nil
	}
	if p.Error != nil && !r.interrupted {
		s.fail(p.Error.Message, p.Error)
		return nil
	}
	if len(r.answer) > 0 {
		raw, err := json.Marshal(map[string]any{"segment": r.next + 1, "of": len(r.segments.List), "answer": strings.ToValidUTF8(string(r.answer), "")})
		if err != nil {
			return err
		}
		said := fmt.Sprintf("The agent answered segment %d.", r.next+1)
		if _, err := s.write(s.entries(event.Note{Method: transcript.NoteSegment, Text: event.Text(said), Raw: raw})...); err != nil {
			return err
		}
	}
	s.counts(state.ContextOf(p.Usage))
	r.told += r.segments.TokensOf(r.next)
	r.next++
	r.open, r.answer, s.dirty = "", nil, true
	return nil
}

// finish records the number of segments sent and the agent's own count.
func (s *restorer) finish() bool {
	r := &s.turn.restore
	counted := r.counted
	text := fmt.Sprintf("The agent got the session in %s: about %d tokens by estimate", resume.CountSegments(len(r.segments.List)), r.tokens)
	if counted > 0 {
		text += fmt.Sprintf(", %d by its own count.", counted)
	} else {
		text += "."
	}
	if !s.sum(text, counted) {
		return false
	}
	s.turn.become(turnTold)
	r.uncounted, r.segments, s.dirty = counted == 0, resume.Segments{}, true
	return true
}

// sum records what a restore came to. It reports false if the log does not take it.
func (s *restorer) sum(text string, counted int64) bool {
	r := &s.turn.restore
	raw, _ := json.Marshal(map[string]int64{"segments": int64(r.next), "tokens": int64(r.tokens), "counted": counted}) // numbers never fail
	_, err := s.write(s.entries(event.Note{Method: noteRestore, Text: event.Text(text), Raw: raw})...)
	return err == nil
}

// counts takes the agent's own count of tokens. The first one after a restore that had none is
// recorded beside the estimate.
func (s *restorer) counts(counted int64) {
	r := &s.turn.restore
	switch {
	case counted <= 0:
	case s.turn.telling():
		r.counted = counted
	case r.uncounted:
		text := fmt.Sprintf("The agent counts %d tokens. The session was about %d by estimate.", counted, r.tokens)
		r.uncounted = !s.sum(text, counted)
	}
}

// cancel ends a restore on a person's request. The resume is offered again, because
// the turn has not begun.
func (s *restorer) cancel() error {
	r := &s.turn.restore
	s.turn.cut = event.CutPaused
	by := s.turn.stoppedBy
	text := fmt.Sprintf("%s ended telling the agent the session, after %d of %s.", by.Name, r.next, resume.CountSegments(len(r.segments.List)))
	note := event.Note{Method: noteRestore, Text: event.Text(text), By: by.Name, ByID: by.ID}
	return s.ends.end(s.entries(note), event.StopInterrupted, nil)
}

// fail interrupts the turn again, so that a person decides.
func (s *restorer) fail(why string, failure *event.Failure) {
	r := &s.turn.restore
	s.turn.cut = event.CutAgentRestart
	if failure != nil {
		s.turn.cut = event.CutProviderError
	}
	text := fmt.Sprintf("Sending the session to the agent ended after %d of %s: %s.", r.next, resume.CountSegments(len(r.segments.List)), strings.TrimSuffix(why, "."))
	s.ends.endOrLater(s.entries(event.Note{Method: noteRestore, Text: event.Text(text)}), event.StopInterrupted, nil)
}

// aside separates an agent's answer to a segment from its other output, which is
// recorded as usual.
func (t *turnRun) aside(payloads []event.Payload, drafts []event.Draft) (rest []event.Payload, kept []event.Draft, answer []byte) {
	if !t.telling() {
		return payloads, drafts, nil
	}
	for i, p := range payloads {
		switch p := p.(type) {
		case event.AgentMessage:
			answer = append(answer, p.Text...)
		case event.AgentThought, event.Plan, event.TerminalOutput, event.ToolCallUpdate:
		case event.ToolCall:
			answer = append(answer, "\nTool call: "+p.Title+"\n"...)
		default:
			rest, kept = append(rest, p), append(kept, drafts[i])
		}
	}
	return rest, kept, answer
}

// heard keeps the beginning of an answer.
func (r *restore) heard(answer []byte) {
	r.answer = append(r.answer, answer[:min(len(answer), answerBytes-len(r.answer))]...)
}

// refuse rejects a permission request during a segment: the agent must not act on
// it.
func (s *restorer) refuse(p event.PermissionRequest) error {
	s.turn.restore.heard([]byte("\nAsked for permission: " + p.Title + "\n"))
	s.questions.tellAgent(event.PermissionOutcome{PermissionID: p.PermissionID, Outcome: event.OutcomeCancelled, By: state.ByHub, Reason: "the session is being sent to the agent"})
	return nil
}

// segmentEstimate is the estimated size of a segmented restore of one interruption.
type segmentEstimate struct {
	of               string
	segments, tokens int
}
