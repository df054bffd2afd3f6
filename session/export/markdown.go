package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

// markdown writes the session turn by turn, as text that reads well in a pull request.
func (s Session) markdown(ctx context.Context, w io.Writer, r *redactor) error {
	m := &markdown{w: w}
	m.line("# %s\n", oneLine(r.name(s), s.SessionID))
	m.line("%s in `%s` · %s\n", r.text(s.Agent), inline(r.text(s.Workspace)), s.SessionID)
	fold := &transcript.Transcript{LastSeq: s.First - 1}
	err := s.each(ctx, r, func(e event.Event) error {
		if e.Type == event.TypeUserPrompt {
			m.turns(fold)
			fold = &transcript.Transcript{LastSeq: e.Seq - 1} // the written part is not held
		}
		return fold.Apply(e)
	})
	if err != nil {
		return err
	}
	m.turns(fold)
	return m.err
}

// markdown writes until a write fails.
type markdown struct {
	w       io.Writer
	written int // the number of the newest turn written
	err     error
}

func (m *markdown) line(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format+"\n", args...)
	}
}

// turns writes the turns that are not written yet. An update of an older one comes
// too late for its place.
func (m *markdown) turns(t *transcript.Transcript) {
	for _, turn := range t.Turns {
		if turn.Number < m.written {
			continue
		}
		m.written = turn.Number
		m.turn(turn)
	}
}

func (m *markdown) turn(turn *transcript.Turn) {
	if p := turn.Prompt; p != nil {
		// A prompt that fits is the heading; a longer one is quoted, whole, below it.
		if text := strings.TrimSpace(string(p.Text)); text != "" && oneLine(text, "") == text {
			m.line("## %d. %s\n", turn.Number, text)
		} else {
			m.line("## Turn %d\n\n%s\n", turn.Number, quoted(text))
		}
		for _, a := range p.Attachments {
			m.line("- attached: `%s` (%d bytes)\n", inline(a.Name), a.Bytes)
		}
	}
	for _, entry := range turn.Entries {
		m.entry(entry)
	}
	cut := turn.Interrupted
	if cut != nil {
		m.line("> %s\n", cut.Reason.Words())
	}
	if end := turn.End; end != nil && end.Error != nil {
		m.line("> **Failed:** %s\n", oneLine(end.Error.Message, end.Error.Code))
	} else if turn.Silent() {
		m.line("> The agent ended its turn without a word.\n")
	} else if end != nil && end.StopReason != event.StopEndTurn && cut == nil {
		m.line("> **Ended:** %s\n", end.StopReason)
	}
}

func (m *markdown) entry(entry *transcript.Entry) {
	switch entry.Kind {
	case transcript.Message:
		m.line("%s\n", strings.TrimSpace(entry.Text))
	case transcript.Thought:
		if strings.TrimSpace(entry.Text) != "" {
			m.folded("Thought", "", entry.Text)
		}
	case transcript.Tool:
		m.tool(entry.Tool)
	case transcript.Permission:
		m.permission(entry)
	case transcript.Plan:
		for _, step := range entry.Plan {
			mark := " "
			if step.Status == "completed" {
				mark = "x"
			}
			m.line("- [%s] %s", mark, oneLine(step.Content, ""))
		}
		m.line("")
	case transcript.Problem:
		m.line("> **Problem:** %s\n", oneLine(entry.Text, ""))
	}
}

func (m *markdown) tool(tool *event.ToolCallFields) {
	kind := string(tool.Kind)
	if kind == "" {
		kind = "tool"
	}
	title := "`" + inline(oneLine(tool.Title, tool.ToolCallID)) + "`"
	if tool.Status != "" && tool.Status != event.ToolCompleted {
		title += " — " + string(tool.Status)
	}
	m.line("**%s** %s\n", kind, title)
	var entries []struct {
		Type    string          `json:"type"`
		Path    string          `json:"path"`
		Old     json.RawMessage `json:"oldText"`
		New     json.RawMessage `json:"newText"`
		Content struct {
			Text json.RawMessage `json:"text"`
		} `json:"content"`
	}
	_ = json.Unmarshal(tool.Whole(), &entries) // other content is left out
	var shown strings.Builder
	for _, entry := range entries {
		switch entry.Type {
		case "diff":
			change := prefixed("-", textOf(entry.Old)) + prefixed("+", textOf(entry.New))
			m.folded(entry.Path, "diff", change)
		case "content":
			if text := textOf(entry.Content.Text); text != "" {
				shown.WriteString(text)
				m.folded("Output", "", unfenced(text))
			}
		}
	}
	if more := tool.Output(shown.String()); more != "" {
		m.folded("Output", "", more)
	}
}

func (m *markdown) permission(entry *transcript.Entry) {
	answer := "not answered"
	if out := entry.Outcome; out != nil {
		answer = string(out.Outcome)
		for _, option := range entry.Permission.Options {
			if option.OptionID == out.OptionID {
				answer = option.Name
			}
		}
		answer += ", by " + out.By
	}
	m.line("> **Asked:** %s — %s\n", oneLine(entry.Permission.Title, ""), oneLine(answer, ""))
}

// folded writes a text that opens with a click.
func (m *markdown) folded(title, language, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.line("<details><summary>%s</summary>\n\n%s%s\n%s\n%s\n\n</details>\n", escaped(title), fence, language, strings.TrimRight(text, "\n"), fence)
}

// fenced is a text that is one code block: agents send output so.
var fenced = regexp.MustCompile("^```[\\w-]*\n([\\s\\S]*?)\n?```\\s*$")

// unfenced is an output without the fence that an agent put around it.
func unfenced(text string) string {
	if found := fenced.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return text
}

func textOf(raw json.RawMessage) string {
	var text event.Text
	if len(raw) == 0 || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return string(text)
}

func prefixed(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+mark) + "\n"
}

func quoted(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }

func inline(text string) string { return strings.ReplaceAll(text, "`", "'") }

func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", " ").Replace(text)
}

// oneLine is the beginning of a text, or other where there is none.
func oneLine(text, other string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 120 {
		text = string(runes[:119]) + "…"
	}
	if text == "" {
		return other
	}
	return text
}
