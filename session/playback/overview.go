package playback

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

// maxTurns bounds the turns of an overview: the newest stay.
const maxTurns = 2000

// Overview is a summary of a session: the density of its events, the marks worth
// going to, and the outcome of each turn. The zero value is a session before its
// first event. One goroutine uses it.
type Overview struct {
	Epoch        string    `json:"epoch"`
	MinSeq       event.Seq `json:"min_seq"`
	AtSeq        event.Seq `json:"at_seq"`
	From         time.Time `json:"from"`
	To           time.Time `json:"to"`
	Time         ByTime    `json:"time"`
	Order        ByEvent   `json:"order"`
	Marks        []Mark    `json:"marks"`
	MarksLeftOut int       `json:"marks_left_out,omitempty"`
	Turns        []*Turn   `json:"turns"`
	TurnsLeftOut int       `json:"turns_left_out,omitempty"`
}

// Fold makes an Overview. All of it goes to the file that spares folding a log from
// its beginning.
type Fold struct {
	Format   int      `json:"format"`
	Overview Overview `json:"overview"`
	Clock    clock    `json:"clock"`
	// Works holds the tool calls of the newest turns, by turn.
	Works map[int]*work `json:"works,omitempty"`
}

// foldFormat changes with anything that a Fold counts otherwise.
const foldFormat = 3

// NewFold is the fold of the log with this epoch before its first event.
func NewFold(epoch string) *Fold {
	return &Fold{Format: foldFormat, Overview: Overview{Epoch: epoch, Marks: []Mark{}, Turns: []*Turn{}}}
}

// ReadFold reads the bytes that Encode wrote for the log with this epoch, which
// ends at last. It reports false for anything else.
func ReadFold(data []byte, epoch string, last event.Seq) (*Fold, bool) {
	f := NewFold(epoch)
	if json.Unmarshal(data, f) != nil || f.Format != foldFormat || f.Overview.Epoch != epoch || f.Overview.AtSeq > last {
		return nil, false
	}
	return f, true
}

// Encode writes the fold down.
func (f *Fold) Encode() ([]byte, error) { return json.Marshal(f) }

// Apply folds in the next batch, which is not merged.
func (f *Fold) Apply(b event.Batch) error {
	for g := range b.Headers() {
		e, err := g.Event()
		if err != nil {
			return err
		}
		f.apply(e)
	}
	f.Overview.AtSeq = max(f.Overview.AtSeq, b.Last)
	return nil
}

func (f *Fold) apply(e event.Event) {
	o := &f.Overview
	if e.Seq <= o.AtSeq {
		return
	}
	if o.MinSeq == 0 {
		o.MinSeq = e.Seq
	}
	f.Clock.tick(e.Time)
	o.AtSeq, o.From, o.To = e.Seq, f.Clock.From, f.Clock.To
	at := f.Clock.To.Sub(f.Clock.From).Milliseconds()
	o.Time.add(at)
	o.Order.add(int64(e.Seq-o.MinSeq), at, f.Clock.PlayedMS)
	switch e.Type {
	case event.TypeAgentMessage, event.TypeAgentThought, event.TypeTerminalOutput, event.TypePlan, event.TypeUsage:
		return // the bulk of a log need not be decoded
	}
	if payload, err := e.Payload(); err == nil {
		f.take(e, payload)
	}
}

func (f *Fold) take(e event.Event, payload event.Payload) {
	switch p := payload.(type) {
	case event.UserPrompt:
		f.begin(e, p)
	case event.TurnEnd:
		f.end(e, p)
	case event.TurnInterrupted:
		f.mark(e, MarkInterruption, string(p.Reason))
		if turn := f.turn(e.Turn); turn != nil {
			turn.Interrupted = true
		}
	case event.PermissionRequest:
		f.mark(e, MarkQuestion, p.Title)
		if turn := f.turn(e.Turn); turn != nil {
			turn.Questions++
		}
		f.ask(e, p)
	case event.PermissionOutcome:
		f.answered(e, p)
	case event.ToolCall:
		f.tool(e, p.ToolCallFields)
	case event.ToolCallUpdate:
		f.tool(e, p.ToolCallFields)
	case event.FileWrite:
		if turn := f.turn(e.Turn); turn != nil {
			turn.change(File{Path: p.Path})
		}
	case event.Error:
		f.mark(e, MarkError, p.Message)
	}
}

// begin opens a turn.
func (f *Fold) begin(e event.Event, p event.UserPrompt) {
	o := &f.Overview
	o.Turns = append(o.Turns, &Turn{Turn: e.Turn, Seq: e.Seq, At: e.Time, Prompt: label(string(p.Text), promptRunes), Actor: p.Actor, Files: []File{}})
	if len(o.Turns) > maxTurns {
		o.Turns[0] = nil
		o.Turns = o.Turns[1:]
		o.TurnsLeftOut++
	}
	for turn := range f.Works {
		if turn < e.Turn-1 {
			delete(f.Works, turn) // an update that is later than this counts no more
		}
	}
	f.mark(e, MarkPrompt, string(p.Text))
}

func (f *Fold) end(e event.Event, p event.TurnEnd) {
	if p.Error != nil {
		f.mark(e, MarkError, p.Error.Message)
	}
	turn := f.turn(e.Turn)
	if turn == nil {
		return
	}
	tokens, _ := event.TokensOf(p.Usage)
	turn.EndSeq, turn.StopReason, turn.Tokens = e.Seq, p.StopReason, tokens.Total
	turn.MS = max(0, e.Time.Sub(turn.At).Milliseconds())
	if p.Error != nil {
		turn.Error = label(p.Error.Message, promptRunes)
	}
}

// turn is the turn with a number, or nil where it is not among the newest.
func (f *Fold) turn(number int) *Turn {
	turns := f.Overview.Turns
	for i := len(turns) - 1; i >= 0 && turns[i].Turn >= number; i-- {
		if turns[i].Turn == number {
			return turns[i]
		}
	}
	return nil
}

func (f *Fold) mark(e event.Event, kind MarkKind, about string) {
	o := &f.Overview
	o.Marks = append(o.Marks, Mark{Seq: e.Seq, Kind: kind, Turn: e.Turn, Label: label(about, labelRunes)})
	for len(o.Marks) > maxMarks {
		kept := thin(o.Marks)
		o.MarksLeftOut += len(o.Marks) - len(kept)
		o.Marks = kept
	}
}

// label is the beginning of a text, as one line.
func label(text string, runes int) string {
	text = strings.Join(strings.Fields(text[:min(len(text), 8*runes)]), " ")
	if all := []rune(strings.ToValidUTF8(text, "")); len(all) > runes {
		return string(all[:runes-1]) + "…"
	}
	return strings.ToValidUTF8(text, "")
}
