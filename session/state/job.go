package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
)

// NoteJob is the method of the note about a step of a job. Its raw value is an
// event.JobStep. NoteCheckpoint is that of the note at the end of each round, with an
// event.JobCheckpoint.
const (
	NoteJob        = "abide/job"
	NoteCheckpoint = "abide/checkpoint"
	// NoteJobAnswer is the method of the note about what a job changed, before its end. Its
	// raw value is an event.JobAnswer.
	NoteJobAnswer = "abide/job_answer"
	// NoteJobVerdict is the method of the note about what an auditor says of a job. Its raw
	// value is an event.JobVerdict.
	NoteJobVerdict = "abide/job_verdict"
	// NoteJobResult is the method of the note in the session that delegated a job, about
	// how it ended. Its raw value is a JobReport.
	NoteJobResult = "abide/job_result"
)

// PolicyDenies is why the hub rejects a request of an agent that the policy of its job does
// not allow.
const PolicyDenies = "the job's policy does not allow it"

// JobReport is how a job ended, for the session that delegated it.
type JobReport struct {
	JobID  string          `json:"job_id"`
	Title  string          `json:"title"`
	Status event.JobStatus `json:"status"`
	// Reason is why it was not completed.
	Reason string `json:"reason,omitempty"`
	// Summary is the agent's last message, at most 16 KiB.
	Summary string `json:"summary,omitempty"`
}

// Words says the report to a person or to an agent.
func (r JobReport) Words() string {
	text := fmt.Sprintf("The job “%s” is %s.", r.Title, r.Status)
	if r.Reason != "" {
		text += " " + r.Reason
	}
	if r.Summary != "" {
		text += "\n\n" + r.Summary
	}
	return text
}

// mostReportsKnown is how many reports are known, so that a repeated one is not told again.
const mostReportsKnown = 200

// applyReport returns the ids of the jobs whose ends were told, with that of a note.
func applyReport(told []string, n event.Note) []string {
	var r JobReport
	if json.Unmarshal(n.Raw, &r) != nil || r.JobID == "" {
		return told
	}
	told = append(slices.Clip(told), r.JobID)
	return told[max(0, len(told)-mostReportsKnown):]
}

const (
	// mostRoundFiles limits the files that a checkpoint names.
	mostRoundFiles = 50
	// summaryBytes limits the summary of a job.
	summaryBytes = 16 << 10
)

// Job is how far a job is, according to the log.
type Job struct {
	Given event.Job `json:"given"`
	// Step is the last one; its Status is empty before the job starts.
	Step event.JobStep `json:"step,omitzero"`
	// StartedAt and FinishedAt are zero before.
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	// Unheld says what of its policy and its caps does not hold.
	Unheld []string `json:"unheld,omitempty"`
	// Lock is where it works, if that is in a folder itself; nil outside of repositories.
	Lock *event.JobLock `json:"lock,omitempty"`
	// By is the actor of the step, where that was a person.
	By string `json:"by,omitempty"`

	// Rounds counts the checkpoints; Last is the newest one's line.
	Rounds int    `json:"rounds,omitempty"`
	Last   string `json:"last,omitempty"`
	// RoundOver means that a round ended of which there is no checkpoint yet.
	RoundOver bool `json:"round_over,omitempty"`
	// Round is the present round.
	Round Round `json:"round,omitzero"`
	// Tokens is the most that the agent's context had, Cost the latest report. Updated means
	// that the agent reports its context while it works; else the end of a turn does.
	Tokens  int64   `json:"tokens,omitempty"`
	Updated bool    `json:"updated,omitempty"`
	Cost    float64 `json:"cost,omitempty"`
	// Output counts the bytes that the agent and its tools said.
	Output int64 `json:"output,omitempty"`
	// Denied counts the requests that its policy refused, and what the hub refused to do for
	// the agent.
	Denied int `json:"denied,omitempty"`
	// End is the end of the latest turn; nil while it is open, and before the first.
	End *event.TurnEnd `json:"end,omitempty"`
	// Again means that the latest turn ended with an error of the model's provider after which
	// the job tries once more by itself. Tries counts these since the last round that ended.
	Again bool `json:"again,omitempty"`
	Tries int  `json:"tries,omitempty"`
	// Answer is the beginning of the agent's newest message.
	Answer    string `json:"answer,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	// Ran are the newest commands that ended.
	Ran []event.JobCommand `json:"ran,omitempty"`
	// Became is what the job changed; nil before it is to end.
	Became *event.JobAnswer `json:"became,omitempty"`
	// Verdicts are the newest ones of auditors.
	Verdicts []event.JobVerdict `json:"verdicts,omitempty"`
}

// Verdict returns that about the result of a turn, or about the job before its start if turn
// is 0; nil if there is none.
func (j *Job) Verdict(turn int) *event.JobVerdict {
	for i := range j.Verdicts {
		if j.Verdicts[i].Turn == turn {
			return &j.Verdicts[i]
		}
	}
	return nil
}

// Round is what was done since the last checkpoint.
type Round struct {
	Files    []string `json:"files,omitempty"`
	Commands int      `json:"commands,omitempty"`
	Failures int      `json:"failures,omitempty"`
	// Calls counts the calls that ended, Titles are those of the first ones.
	Calls  int      `json:"calls,omitempty"`
	Titles []string `json:"titles,omitempty"`
}

// JobLineOf is a job before its first event, in lists.
func JobLineOf(j event.Job) event.JobLine {
	return event.JobLine{Status: event.JobQueued, Title: FirstSentence(j.Task), Priority: j.Priority, DelegatedBy: j.DelegatedBy, ScheduleID: j.ScheduleID, Attempts: j.Attempts, AttemptOf: j.AttemptOf, Retention: j.Retention}
}

// GoesOn reports whether the job's latest turn ended with an error of the model's provider after
// which the hub tries again or fails the job, and no person is asked. Its session is running
// then.
func (j *Job) GoesOn() bool {
	return j.Step.Status == event.JobRunning && j.End != nil && ofProvider(*j.End)
}

// Status returns where a job is whose session has a status.
func (j *Job) Status(session Status) event.JobStatus {
	switch {
	case j.Step.Status.Ended() || j.Step.Status == event.JobStopping:
		return j.Step.Status
	case j.Step.Status == "":
		return event.JobQueued
	case session == StatusNeedsYou || session == StatusInterrupted || session == StatusPaused || session == StatusDamaged:
		return event.JobParked
	}
	return event.JobRunning
}

// Line returns the job for lists. waits says what a parked job waits for.
func (j *Job) Line(session Status, waits string) event.JobLine {
	line := JobLineOf(j.Given)
	line.Status, line.Reason, line.Rounds, line.Last = j.Status(session), j.Step.Reason, j.Rounds, j.Last
	if line.Status == event.JobParked && j.Step.Status != event.JobParked {
		line.Reason = waits
	}
	if at := j.StartedAt; !at.IsZero() {
		line.StartedAt = &at
	}
	if at := j.FinishedAt; !at.IsZero() {
		line.FinishedAt = &at
	}
	return line
}

// Over returns the cap that the job has reached; empty if there is none. events counts
// those of its log.
func (j *Job) Over(now time.Time, events int64) (limit, words string) {
	given := j.Given.Caps
	for _, c := range []struct {
		name       string
		limit, now float64
		one, words string
	}{
		{"wall_s", float64(given.WallS), now.Sub(j.StartedAt).Seconds(), "second", "seconds"},
		{"rounds", float64(given.Rounds), float64(j.Rounds), "round", "rounds"},
		{"tokens", float64(given.Tokens), float64(j.Tokens), "token", "tokens"},
		{"cost", given.Cost, j.Cost, "of cost", "of cost"},
		{"events", float64(given.Events), float64(events), "event", "events"},
		{"output_bytes", float64(given.OutputBytes), float64(j.Output), "byte of output", "bytes of output"},
	} {
		if c.limit > 0 && c.now >= c.limit {
			if c.limit == 1 {
				c.words = c.one
			}
			return c.name, fmt.Sprintf("It reached its limit of %v %s (%s).", c.limit, c.words, c.name)
		}
	}
	return "", ""
}

// Checkpoint returns that of the round that is over.
func (j *Job) Checkpoint() event.JobCheckpoint {
	r := j.Round
	line := strings.Join(r.Titles, "; ")
	if more := r.Calls - len(r.Titles); more > 0 {
		line += fmt.Sprintf("; %d more", more)
	}
	return event.JobCheckpoint{
		N: j.Rounds + 1, Files: r.Files, Commands: r.Commands, Failures: r.Failures, Tokens: j.Tokens, Line: Cut(OneLine(line), LineRunes),
	}
}

// apply applies an event of the job's session.
func (j *Job) apply(at time.Time, p event.Payload, tools *ToolCalls) {
	switch p := p.(type) {
	case event.AgentMessage:
		j.roundOver(tools)
		j.Output += int64(len(p.Text))
		j.answer(p)
	case event.ToolCall:
		if !p.Status.Done() {
			j.roundOver(tools)
		}
		j.call(p.ToolCallFields, tools)
	case event.ToolCallUpdate:
		j.call(p.ToolCallFields, tools)
	case event.UserPrompt:
		j.End, j.Became, j.Again = nil, nil, false
		if j.Step.Status == event.JobParked {
			j.Step = event.JobStep{Status: event.JobRunning}
		}
	case event.TurnEnd:
		j.roundOver(tools)
		j.End = &event.TurnEnd{StopReason: p.StopReason, By: p.By, ByID: p.ByID, Error: p.Error}
		if j.Again = j.Tries < mostTries && passes(p); j.Again {
			j.Tries++
		}
		if !j.Updated {
			j.Tokens = max(j.Tokens, ContextOf(p.Usage))
		}
	case event.Usage:
		j.Updated = true
		j.Tokens = max(j.Tokens, p.Context())
		if p.Cost.Counts() {
			j.Cost = max(j.Cost, p.Cost.Amount)
		}
	case event.PermissionOutcome:
		if p.By == ByHub && p.Reason == PolicyDenies {
			j.Denied++
		}
	case event.Error:
		if p.Code == event.CodeForbidden {
			j.Denied++
		}
	case event.Note:
		j.statement(at, p)
	}
}

// ContextOf returns the tokens in the agent's context according to the usage that came with
// the end of a turn; 0 if unknown. OpenCode reports it there alone.
func ContextOf(usage json.RawMessage) int64 {
	t, _ := event.TokensOf(usage) // an unknown form counts as none
	return t.Input + t.Read + t.Write + t.Output
}

// roundOver notes that the model answers again after calls that ended.
func (j *Job) roundOver(tools *ToolCalls) {
	j.RoundOver = j.RoundOver || j.Round.Calls > 0 && len(tools.Unfinished()) == 0
}

// answer keeps the beginning of the newest message.
func (j *Job) answer(p event.AgentMessage) {
	if p.MessageID != j.MessageID {
		j.Answer, j.MessageID = "", p.MessageID
	}
	text := string(p.Text)
	if room := summaryBytes - len(j.Answer); len(text) > room {
		for text = text[:max(0, room)]; !utf8.ValidString(text); {
			text = text[:len(text)-1]
		}
	}
	j.Answer += text
}

// call counts a call that ends, once. The call is in tools already.
func (j *Job) call(f event.ToolCallFields, tools *ToolCalls) {
	j.Output += int64(len(f.Content) + len(f.ContentAdded) + len(f.RawOutput))
	if !f.Status.Done() {
		return
	}
	about := tools.said(f.ToolCallID)
	r := &j.Round
	if r.Calls++; len(r.Titles) < 3 && about.Title != "" {
		r.Titles = append(slices.Clip(r.Titles), Cut(OneLine(about.Title), 80))
	}
	if about.Kind == "execute" && about.Title != "" {
		j.ran(event.JobCommand{Command: Cut(OneLine(about.Title), LineRunes), Failed: f.Status == event.ToolFailed})
	}
	if f.Status == event.ToolFailed {
		r.Failures++
		return
	}
	switch about.Kind {
	case "execute":
		r.Commands++
	case "edit", "delete", "move":
		for _, l := range f.Locations {
			if len(r.Files) < mostRoundFiles && !slices.Contains(r.Files, l.Path) {
				r.Files = append(slices.Clip(r.Files), l.Path)
			}
		}
	}
}

// mostRan limits the commands that are known, mostVerdicts the verdicts.
const (
	mostRan      = 50
	mostVerdicts = 20
)

// ran notes a command that ended. Of several runs the last counts.
func (j *Job) ran(c event.JobCommand) {
	j.Ran = slices.DeleteFunc(slices.Clone(j.Ran), func(o event.JobCommand) bool { return o.Command == c.Command })
	j.Ran = append(j.Ran, c)
	j.Ran = j.Ran[max(0, len(j.Ran)-mostRan):]
}

// statement applies a note of the hub about the job.
func (j *Job) statement(at time.Time, n event.Note) {
	switch n.Statement() {
	case NoteCheckpoint:
		var c event.JobCheckpoint
		if json.Unmarshal(n.Raw, &c) == nil {
			j.Rounds, j.Last, j.Round, j.RoundOver, j.Tries = c.N, c.Line, Round{}, false, 0
		}
	case NoteJobAnswer:
		var a event.JobAnswer
		if json.Unmarshal(n.Raw, &a) == nil {
			j.Became = &a
		}
	case NoteJobVerdict:
		var v event.JobVerdict
		if json.Unmarshal(n.Raw, &v) == nil {
			j.Verdicts = append(slices.Clip(j.Verdicts), v)
			j.Verdicts = j.Verdicts[max(0, len(j.Verdicts)-mostVerdicts):]
		}
	case NoteJob:
		var s event.JobStep
		if json.Unmarshal(n.Raw, &s) != nil {
			return
		}
		j.Step, j.By = s, n.By
		switch {
		case s.Status == event.JobRunning && j.StartedAt.IsZero():
			j.StartedAt, j.Unheld, j.Lock = at, s.Unheld, s.Lock
		case s.Status.Ended():
			j.FinishedAt = at
		}
	}
}
