// Package snapshot makes and keeps the snapshots of sessions: what a session is, in one small
// file beside its log. A snapshot is made from the log alone, behind it, and can always be
// made again.
package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
	"github.com/abidehub/abide/session/usage"
)

// The bounds of a snapshot, in bytes as JSON. Together they are less than 10 MB.
const (
	talkBytes    = 3 << 20
	messageBytes = 512 << 10
	outputBytes  = 4 << 10 // of one output
	outputsKept  = 150
	filesKept    = 2000
	contentBytes = 64 << 10 // of one file
	contentsKept = 3 << 19
	// callsBytes bounds the contents of all open calls, callsKept their number.
	callsBytes = 1 << 20
	callsKept  = 100
	// itemBytes is what one item takes beside its text.
	itemBytes = 200
)

// Fold makes a Snapshot from the events of one log, in their order. All of it goes to the
// file that spares reading the log from its beginning. One goroutine uses it.
type Fold struct {
	state.Snapshot
	Work work `json:"work"`
}

// work is what the fold needs for the next event beside the snapshot.
type work struct {
	// Format changes with anything that a Fold does otherwise.
	Format int                           `json:"format"`
	Plan   state.Plan                    `json:"plan,omitzero"`
	Used   *usage.Fold                   `json:"used"`
	Unsaid transcript.Unsaid[state.Said] `json:"unsaid,omitzero"`
	// Talk and Contents are what the conversation and the contents of files take.
	Talk     int `json:"talk,omitempty"`
	Contents int `json:"contents,omitempty"`
	// Calls are the open calls that may write files or run commands, oldest first.
	Calls []*call `json:"calls,omitempty"`
}

// call is an open tool call.
type call struct {
	Turn int `json:"turn"`
	// Seq is its first event.
	Seq    event.Seq            `json:"seq"`
	Fields event.ToolCallFields `json:"fields"`
}

const workFormat = 4

// NewFold is the fold of the log with this epoch before its first event.
func NewFold(epoch string) *Fold {
	return &Fold{
		Snapshot: state.Snapshot{
			Version: state.SnapshotVersion, Epoch: epoch,
			AgentContext: state.SnapshotContext{ConversationHistory: []state.Said{}, CompletedTasks: []string{}, Suggestions: []string{}},
			Files:        []state.SnapshotFile{}, Outputs: []state.SnapshotOutput{},
		},
		Work: work{Format: workFormat, Used: usage.NewFold(epoch)},
	}
}

// Wanted reports whether events of a type change a snapshot.
func Wanted(t event.Type) bool {
	switch t {
	case event.TypeUserPrompt, event.TypeTurnStart, event.TypeTurnEnd, event.TypeAgentMessage, event.TypeToolCall, event.TypeToolCallUpdate,
		event.TypePlan, event.TypeFileWrite, event.TypeTerminalOutput, event.TypeUsage, event.TypeAgentStarted, event.TypeError, event.TypeNote:
		return true
	}
	return false
}

// Take folds in the next event. One that was taken before, and one that cannot be read,
// changes nothing.
func (f *Fold) Take(e event.Event) {
	if e.Seq <= f.AtSeq || !Wanted(e.Type) {
		return
	}
	f.AtSeq, f.Timestamp = e.Seq, e.Time
	f.Work.Used.Take(e)
	payload, err := e.Payload()
	if err != nil {
		return
	}
	f.Work.Plan.Apply(payload)
	switch p := payload.(type) {
	case event.UserPrompt:
		f.say(state.Said{Role: state.RoleUser, Timestamp: e.Time, Seq: e.Seq, Turn: e.Turn}, string(p.Text), transcript.Shortened(e))
	case event.AgentMessage:
		f.chunk(e, p)
	case event.TurnStart:
		f.Work.Unsaid.Settle()
	case event.TurnEnd:
		f.Work.Calls = nil // a call does not outlive its turn
		if p.Error != nil {
			f.Metadata.ErrorCount++
		}
	case event.Error:
		f.Metadata.ErrorCount++
	case event.Usage:
		p.Raw = nil
		f.Metadata.Context = &p
	case event.ToolCall:
		f.call(e, p.ToolCallFields)
	case event.ToolCallUpdate:
		f.call(e, p.ToolCallFields)
	case event.FileWrite:
		f.wrote(state.SnapshotFile{Path: p.Path, Hash: p.SHA256, Size: &p.Bytes, LastModified: e.Time, Seq: e.Seq})
	case event.TerminalOutput:
		f.output(e, state.OutputStdout, p.TerminalID, string(p.Data))
	case event.Note:
		if u := transcript.UndoOf(p); u != nil {
			f.undo(*u)
		}
	}
}

// Settled returns the snapshot with the sums of what it has. The fold and the snapshot share
// their lists.
func (f *Fold) Settled() *state.Snapshot {
	plan, c := f.Work.Plan, &f.AgentContext
	c.CurrentTask, c.CompletedTasks, c.Suggestions = plan.Current, notNil(plan.Done), notNil(plan.Open)
	var sum usage.Sum
	for _, turn := range f.Work.Used.Counted() {
		sum.Add(turn.Sum)
	}
	m := &f.Metadata
	m.DurationMS, m.TokenUsage, m.ToolCalls, m.Costs = sum.MS, sum.Tokens.Total, sum.Calls, sum.Costs
	f.Notice = notice(f.LeftOut)
	return &f.Snapshot
}

func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// notice says what is left out.
func notice(l state.SnapshotLeftOut) string {
	var parts []string
	for _, part := range []struct {
		n         int
		one, many string
	}{
		{l.Conversation, "the oldest message", "the oldest %d messages"},
		{l.Rests, "the rest of a long message", "the rests of %d long messages"},
		{l.Outputs, "the oldest output", "the oldest %d outputs"},
		{l.Files, "the file written first", "the %d files written first"},
		{l.Contents, "the content of a file", "the contents of %d files"},
	} {
		switch {
		case part.n == 1:
			parts = append(parts, part.one)
		case part.n > 1:
			parts = append(parts, fmt.Sprintf(part.many, part.n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Left out for size: " + strings.Join(parts, ", ") + ". They are in the session's log: open the session, or export it."
}

// say adds to the conversation, and leaves out its oldest parts if it gets too long.
func (f *Fold) say(one state.Said, text string, cut bool) {
	c := &f.AgentContext
	c.ConversationHistory = append(c.ConversationHistory, one)
	f.Work.Talk += itemBytes
	f.saying(&c.ConversationHistory[len(c.ConversationHistory)-1], text, cut)
}

// saying adds a text to an entry of the conversation. If cut, the text is the beginning of one
// that is too large for the log's lines: what follows it is left out, too.
func (f *Fold) saying(one *state.Said, text string, cut bool) {
	if one.Cut {
		return
	}
	one.Cut = cut
	if room := messageBytes - len(one.Content); len(text) > room {
		text, one.Cut = wholeRunes(text[:room]), true
	}
	if one.Cut {
		f.LeftOut.Rests++
	}
	one.Content = append(one.Content, text...)
	f.Work.Talk += jsonLen(text)
	f.shorten()
}

// shorten leaves out the oldest parts of a conversation that is too long.
func (f *Fold) shorten() {
	c := &f.AgentContext
	for f.Work.Talk > talkBytes && len(c.ConversationHistory) > 1 {
		f.Work.Talk -= itemBytes + jsonLen(string(c.ConversationHistory[0].Content))
		c.ConversationHistory = c.ConversationHistory[1:]
		f.LeftOut.Conversation++
	}
}

// chunk adds to the message with the chunk's id, or begins one.
func (f *Fold) chunk(e event.Event, p event.AgentMessage) {
	if p.Text == "" {
		return
	}
	talk := f.AgentContext.ConversationHistory
	for i := len(talk) - 1; i >= 0 && talk[i].Turn == e.Turn; i-- {
		if one := &talk[i]; one.Role == state.RoleAssistant && one.MessageID == p.MessageID {
			f.saying(one, string(p.Text), transcript.Shortened(e))
			return
		}
	}
	f.say(state.Said{Role: state.RoleAssistant, Timestamp: e.Time, Seq: e.Seq, Turn: e.Turn, MessageID: p.MessageID}, string(p.Text), transcript.Shortened(e))
}

// undo takes from the conversation, or puts back. What files have after it is not known.
func (f *Fold) undo(u transcript.Undo) {
	c := &f.AgentContext
	c.ConversationHistory = f.Work.Unsaid.Apply(u, c.ConversationHistory, func(s state.Said) event.Seq { return s.Seq })
	f.Work.Talk = 0
	for _, one := range c.ConversationHistory {
		f.Work.Talk += itemBytes + jsonLen(string(one.Content))
	}
	f.shorten()
	if u.Phase == transcript.UndoBegun || !u.What.Files() {
		return
	}
	for i := range f.Files {
		f.forget(i)
		f.Files[i].Hash, f.Files[i].Size, f.Files[i].Blob = "", nil, ""
	}
}

// wrote notes that a file was written, as the latest one.
func (f *Fold) wrote(file state.SnapshotFile) {
	if i := f.index(file.Path); i >= 0 {
		if file.Hash != "" && file.Hash == f.Files[i].Hash && file.Content == nil {
			file.Content = f.Files[i].Content
		}
		f.forget(i)
		f.Files = slices.Delete(f.Files, i, i+1)
	}
	if file.Content != nil {
		f.Work.Contents += jsonLen(*file.Content)
	}
	f.Files = append(f.Files, file)
	for i := 0; f.Work.Contents > contentsKept; i++ {
		if f.Files[i].Content != nil {
			f.forget(i)
			f.LeftOut.Contents++
		}
	}
	if len(f.Files) > filesKept {
		f.forget(0)
		f.Files = f.Files[1:]
		f.LeftOut.Files++
	}
}

// index is the place of a file, -1 if it was not written.
func (f *Fold) index(path string) int {
	return slices.IndexFunc(f.Files, func(have state.SnapshotFile) bool { return have.Path == path })
}

// forget forgets the content of a file.
func (f *Fold) forget(i int) {
	if content := f.Files[i].Content; content != nil {
		f.Work.Contents -= jsonLen(*content)
		f.Files[i].Content = nil
	}
}

// output adds to the newest output of a call or terminal, or begins one.
func (f *Fold) output(e event.Event, kind state.OutputType, of, text string) {
	var to *state.SnapshotOutput
	for i := len(f.Outputs) - 1; i >= 0 && of != ""; i-- {
		if one := &f.Outputs[i]; one.Of == of && one.Type == kind {
			to = one
			break
		}
	}
	if to == nil {
		if text == "" {
			return
		}
		f.Outputs = append(f.Outputs, state.SnapshotOutput{Type: kind, Timestamp: e.Time, Seq: e.Seq, Of: of})
		if len(f.Outputs) > outputsKept {
			f.Outputs = f.Outputs[1:]
			f.LeftOut.Outputs++
		}
		to = &f.Outputs[len(f.Outputs)-1]
	}
	if kind == state.OutputCommand {
		to.Content = nil // a better title
	}
	to.Content = append(to.Content, text...)
	if n := len(to.Content) - outputBytes; n > 0 {
		to.Content, to.Cut = state.LongText(fromRune(string(to.Content[n:]))), true
	}
}

// jsonLen is how many bytes a text takes as JSON, at least about.
func jsonLen(text string) int {
	n := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			n++
		case c < ' ':
			n += 5
		}
	}
	return n
}

// wholeRunes cuts what is no whole rune from the end of a text.
func wholeRunes(text string) string { return strings.ToValidUTF8(text, "") }

// fromRune cuts what is no whole rune from the beginning of a text.
func fromRune(text string) string { return strings.ToValidUTF8(text, "") }
