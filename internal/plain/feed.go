package plain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

// Level is how much of a session a Feed writes.
type Level int

// The levels.
const (
	// Compact is the messages of people and the agent, and the permission requests.
	Compact Level = iota
	// Normal adds one line for each tool call.
	Normal
	// Full adds thoughts, plans, changes and the output of tools.
	Full
)

// Feed writes the events of a session as text, each as it comes: chunks of a
// message are joined, a tool call is one line once it has ended. It holds the
// tool calls of one turn and no text. One goroutine uses it.
type Feed struct {
	w     io.Writer
	level Level
	style Style

	turn transcript.Transcript // of the turn's tool calls and questions
	told map[string]bool       // tool calls of the turn that have their line
	// open is the message being written; "" at the beginning of a line.
	open    string
	newline bool // the open message ends with a line break
	// prompted means that the turn's prompt was written, spoke that the agent said
	// something after it.
	prompted, spoke bool
	cut             event.InterruptReason // why the turn was interrupted; empty if it was not
	begun           bool
}

// NewFeed returns a feed that writes to w.
func NewFeed(w io.Writer, level Level, style Style) *Feed {
	return &Feed{w: w, level: level, style: style, told: map[string]bool{}}
}

// Write writes one event. The error is the writer's.
func (f *Feed) Write(e event.Event) error {
	payload, err := e.Payload()
	if err != nil {
		return f.problem("an event could not be understood: " + string(e.Type))
	}
	switch p := payload.(type) {
	case event.AgentMessage:
		f.spoke = f.spoke || strings.TrimSpace(string(p.Text)) != "" || len(p.Content) > 0
	case event.ToolCall, event.ToolCallUpdate, event.Plan:
		f.spoke = true
	case event.TurnInterrupted:
		f.cut = p.Reason
	}
	switch p := payload.(type) {
	case event.UserPrompt:
		f.prompted, f.spoke = true, false
		return f.prompt(p)
	case event.AgentMessage:
		return f.message("message "+p.MessageID, string(p.Text), p.Content)
	case event.AgentThought:
		if f.level < Full {
			return nil
		}
		return f.message("thought "+p.MessageID, string(p.Text), p.Content)
	case event.ToolCall:
		return f.tool(e, p.ToolCallFields)
	case event.ToolCallUpdate:
		return f.tool(e, p.ToolCallFields)
	case event.PermissionRequest:
		return f.question(e, p)
	case event.PermissionOutcome:
		return f.outcome(e, p)
	case event.Plan:
		return f.plan(p)
	case event.TerminalOutput:
		if f.level < Full {
			return nil
		}
		return f.message("terminal "+p.TerminalID, string(p.Data), nil)
	case event.TurnEnd:
		return f.end(p)
	}
	return f.remark(payload)
}

// End finishes the line that is open.
func (f *Feed) End() error {
	if f.open == "" {
		return nil
	}
	f.open = ""
	if f.newline {
		return nil
	}
	_, err := io.WriteString(f.w, "\n")
	return err
}

// Close writes the turn's unfinished part and ends the line.
func (f *Feed) Close() error {
	if f.level > Compact {
		for _, turn := range f.turn.Turns {
			for _, e := range turn.Entries {
				if e.Tool == nil || f.told[e.Tool.ToolCallID] {
					continue
				}
				if err := f.tellTool(e.Tool); err != nil {
					return err
				}
			}
		}
	}
	return f.End()
}

// line writes a line of its own.
func (f *Feed) line(text string) error {
	if err := f.End(); err != nil {
		return err
	}
	f.begun = true
	_, err := io.WriteString(f.w, text+"\n")
	return err
}

func (f *Feed) problem(text string) error { return f.line(f.style.Red("! " + Line(text))) }

func (f *Feed) prompt(p event.UserPrompt) error {
	f.turn, f.told = transcript.Transcript{}, map[string]bool{}
	if err := f.End(); err != nil {
		return err
	}
	gap := ""
	if f.begun {
		gap = "\n"
	}
	lines := strings.Split(strings.TrimRight(Text(string(p.Text)), "\n"), "\n")
	for i, l := range lines {
		lines[i] = f.style.Bold("› " + l)
	}
	for _, a := range p.Attachments {
		lines = append(lines, f.style.Dim(fmt.Sprintf("  + %s, %d bytes", Line(a.Name), a.Bytes)))
	}
	return f.line(gap + strings.Join(lines, "\n"))
}

func (f *Feed) message(id, text string, block json.RawMessage) error {
	if len(block) > 0 {
		return f.line(f.style.Dim("[" + blockName(block) + "]"))
	}
	text = Text(text)
	if text == "" {
		return nil
	}
	if f.open != id {
		if err := f.End(); err != nil {
			return err
		}
	}
	f.open, f.begun, f.newline = id, true, strings.HasSuffix(text, "\n")
	if strings.HasPrefix(id, "thought ") {
		text = f.style.Dim(text)
	}
	_, err := io.WriteString(f.w, text)
	return err
}

// fold applies an event to the turn's transcript, also after a gap.
func (f *Feed) fold(e event.Event) {
	f.turn.LastSeq = e.Seq - 1
	if e.FirstSeq != 0 {
		f.turn.LastSeq = e.FirstSeq - 1
	}
	_ = f.turn.Apply(e) // it is the next one by the line above
}

// find returns the newest entry of the turn that fits.
func (f *Feed) find(fits func(*transcript.Entry) bool) *transcript.Entry {
	for i := len(f.turn.Turns) - 1; i >= 0; i-- {
		entries := f.turn.Turns[i].Entries
		for j := len(entries) - 1; j >= 0; j-- {
			if fits(entries[j]) {
				return entries[j]
			}
		}
	}
	return nil
}

func (f *Feed) tool(e event.Event, update event.ToolCallFields) error {
	if f.level == Compact {
		return nil
	}
	f.fold(e)
	entry := f.find(func(e *transcript.Entry) bool { return e.Tool != nil && e.Tool.ToolCallID == update.ToolCallID })
	if entry == nil || f.told[update.ToolCallID] || !entry.Tool.Status.Done() {
		return nil
	}
	return f.tellTool(entry.Tool)
}

func (f *Feed) tellTool(t *event.ToolCallFields) error {
	f.told[t.ToolCallID] = true
	text := Line(t.Title)
	if text == "" {
		text = Line(t.ToolCallID)
	}
	switch t.Status {
	case event.ToolCompleted:
		text = f.style.Dim("• ") + text
	case event.ToolFailed:
		text = f.style.Red("✗ ") + text + f.style.Red(" (failed)")
	default:
		text = f.style.Dim("… ") + text + f.style.Dim(" (not finished)")
	}
	if err := f.line(text); err != nil || f.level < Full {
		return err
	}
	detail := toolDetail(t.Whole(), f.style)
	if more := t.Output(texts(t.Whole())); more != "" {
		detail += "  " + strings.ReplaceAll(strings.TrimRight(Text(more), "\n"), "\n", "\n  ") + "\n"
	}
	if detail != "" {
		return f.line(strings.TrimRight(detail, "\n") + "\n")
	}
	return nil
}

func (f *Feed) question(e event.Event, p event.PermissionRequest) error {
	f.fold(e)
	var names []string
	for i, o := range p.Options {
		names = append(names, fmt.Sprintf("%d %s", i+1, Line(o.Name)))
	}
	text := f.style.Yellow("? " + Line(p.Title))
	if f.level > Compact {
		var known *event.ToolCallFields
		call := callOf(p)
		if entry := f.find(func(e *transcript.Entry) bool {
			return e.Tool != nil && call.ToolCallID != "" && e.Tool.ToolCallID == call.ToolCallID
		}); entry != nil {
			known = entry.Tool
		}
		text += "\n" + asked(p, known, f.style)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return f.line(text + "  " + f.style.Dim(strings.Join(names, " · ")))
}

func (f *Feed) outcome(e event.Event, p event.PermissionOutcome) error {
	f.fold(e)
	choice := string(p.Outcome)
	entry := f.find(func(e *transcript.Entry) bool {
		return e.Permission != nil && e.Permission.PermissionID == p.PermissionID
	})
	if entry != nil {
		for _, o := range entry.Permission.Options {
			if o.OptionID == p.OptionID {
				choice = o.Name
			}
		}
	}
	return f.line(f.style.Dim("  → " + Line(choice) + " (" + Line(p.By) + ")"))
}

func (f *Feed) plan(p event.Plan) error {
	if f.level < Full {
		return nil
	}
	for _, e := range p.Entries {
		mark := map[event.PlanStatus]string{"completed": "x", "in_progress": "-"}[e.Status]
		if mark == "" {
			mark = " "
		}
		if err := f.line(f.style.Dim("[" + mark + "] " + Line(e.Content))); err != nil {
			return err
		}
	}
	return nil
}

func (f *Feed) end(p event.TurnEnd) error {
	spoke, prompted, cut := f.spoke, f.prompted, f.cut
	f.spoke, f.prompted, f.cut = false, false, ""
	if err := f.Close(); err != nil || p.StopReason == event.StopEndTurn && (spoke || !prompted) {
		return err
	}
	if p.StopReason == event.StopEndTurn {
		return f.line(f.style.Dim("— the agent ended its turn without a word"))
	}
	if p.StopReason == event.StopCancelled {
		return f.line(f.style.Dim("— " + Line(p.Words(cut))))
	}
	return f.problem(p.Words(cut))
}

// remark writes a line that is not part of the conversation.
func (f *Feed) remark(payload event.Payload) error {
	switch p := payload.(type) {
	case event.Error:
		return f.problem(p.Message)
	case event.Corrupt:
		return f.problem("an event could not be read: " + p.Reason)
	case event.LogTruncated:
		return f.problem(fmt.Sprintf("events %d to %d are lost", p.From, p.To))
	case event.SessionEnd:
		return f.line(f.style.Dim("— the session was ended"))
	case event.Epoch:
		return f.line(f.style.Dim("— the log goes on as another one: " + Line(p.Reason)))
	case event.Note:
		said := f.level == Normal && p.Stated() && p.Statement() != transcript.NoteSegment && !p.Background()
		if p.Text != "" && (f.level == Full || said) {
			return f.line(f.style.Dim("— " + Line(string(p.Text))))
		}
	case event.Title:
		if f.level == Full {
			return f.line(f.style.Dim("— called: " + Line(p.Title)))
		}
	case event.AgentExit:
		if f.level == Full {
			return f.line(f.style.Dim("— the agent ended: " + Line(p.Cause())))
		}
	}
	return nil
}
