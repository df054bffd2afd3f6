package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// The choices and outcomes are kept as they are sent.
type (
	Kind    = wire.NotifyKind
	Choice  = wire.NotifyChoice
	Quiet   = wire.QuietHours
	Outcome = wire.Delivery
)

// The kinds of events that a person can select, and those of other messages.
const (
	Permission  Kind = "permission"
	Form        Kind = "form"
	TurnOver    Kind = "turn_over"
	Failed      Kind = "failed"
	Interrupted Kind = "interrupted"
	// Job is the end of a job; for a webhook each change of its status.
	Job Kind = "job"

	// Withdrawn removes a message of the same tag.
	Withdrawn Kind = "withdrawn"
	// Test is a test message requested in the settings.
	Test Kind = "test"
)

// Kinds lists the kinds of events.
func Kinds() []Kind { return []Kind{Permission, Form, TurnOver, Failed, Interrupted, Job} }

// waits reports whether the hub waits for an answer.
func waits(k Kind) bool { return k == Permission || k == Form }

const (
	maxTitle = 80
	// maxBody is in runes; the payload must fit one push record of 4 KiB.
	maxBody = 480
)

// Note is a message about one session.
type Note struct {
	SessionID string    `json:"session_id"`
	Kind      Kind      `json:"kind"`
	Seq       event.Seq `json:"seq"`
	At        time.Time `json:"at"`
	Title     string    `json:"title"`
	Body      string    `json:"body"`
	// PermissionID and Options belong to a permission request. If the text was cut
	// there are no options: a person must be able to read what they allow.
	PermissionID string   `json:"permission_id,omitempty"`
	Options      []Option `json:"options,omitempty"`
	// JobStatus is that of a note about a job.
	JobStatus event.JobStatus `json:"job_status,omitempty"`
}

// found is the result of an event: a message to send, or one that is settled.
type found struct {
	note    *Note
	settled []Kind
	// permission is the settled question, and the actor.
	permission, by string
	// restarted means that the hub's end settled it.
	restarted bool
	// quiet means that the note is for webhooks alone.
	quiet bool
	// next is another pending request of the session.
	next *Note
}

// Option is an answer that a notification offers.
type Option struct {
	OptionID string `json:"option_id"`
	Label    string `json:"label"`
}

// Payload is the body of a push or a webhook.
type Payload struct {
	// ID is the same for each attempt at one delivery.
	ID        string    `json:"id"`
	Kind      Kind      `json:"kind"`
	SessionID string    `json:"session_id,omitempty"`
	Seq       event.Seq `json:"seq,omitempty"`
	Tag       string    `json:"tag"`
	Title     string    `json:"title"`
	Body      string    `json:"body"`
	// Badge is how many sessions need a person.
	Badge  int     `json:"badge"`
	Answer *Answer `json:"answer,omitempty"`
	// JobStatus is that of a job, with Kind Job.
	JobStatus event.JobStatus `json:"job_status,omitempty"`
}

// Answer lets a notification answer one permission request, once.
type Answer struct {
	Token   string   `json:"token"`
	Options []Option `json:"options"`
}

// question makes the note of a permission request or a form.
func question(e event.Event, r event.PermissionRequest) Note {
	note := Note{Kind: Permission, Seq: e.Seq, At: e.Time, PermissionID: r.PermissionID}
	if len(r.Form) > 0 || r.URL != "" {
		note.Kind = Form
		note.Body, _ = fit(legible(r.Title), maxBody)
		return note
	}
	text := legible(r.Title)
	if asked := legible(asks(r.ToolCall)); asked != "" && !strings.Contains(text, asked) {
		text = strings.TrimSpace(text + "\n" + asked)
	}
	body, whole := fit(text, maxBody)
	note.Body = body
	if whole {
		note.Options = onceOptions(r.Options)
	}
	return note
}

// onceOptions returns the first options that allow and reject once.
func onceOptions(options []event.PermissionOption) []Option {
	var list []Option
	for _, want := range []struct {
		kind  event.PermissionKind
		label string
	}{{event.AllowOnce, "Allow once"}, {event.RejectOnce, "Reject"}} {
		for _, o := range options {
			if o.Kind == want.kind {
				list = append(list, Option{o.OptionID, want.label})
				break
			}
		}
	}
	return list
}

// asks returns the action of a tool call as JSON: its complete input, not the
// model's description.
func asks(call json.RawMessage) string {
	var fields struct {
		RawInput  json.RawMessage `json:"rawInput"`
		Locations []struct {
			Path string `json:"path"`
		} `json:"locations"`
	}
	if json.Unmarshal(call, &fields) != nil {
		return ""
	}
	var command struct {
		Command string `json:"command"`
	}
	var input map[string]json.RawMessage
	if json.Unmarshal(fields.RawInput, &input) == nil && len(input) > 0 {
		if json.Unmarshal(fields.RawInput, &command) == nil && command.Command != "" && len(input) == 1 {
			return command.Command
		}
		var compact bytes.Buffer
		if json.Compact(&compact, fields.RawInput) == nil {
			return compact.String()
		}
	}
	var paths []string
	for _, l := range fields.Locations {
		paths = append(paths, l.Path)
	}
	return strings.Join(paths, "\n")
}

// legible replaces each character that is invisible or reorders the text by its
// name. Line feeds stay.
func legible(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '\n':
			b.WriteRune(r)
		case r == '\t':
			b.WriteRune(' ')
		case unseen(r):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r == '\u2800' || unicode.Is(unicode.Zs, r) && r != ' ' && r != '\u00a0'
}

// fit cuts a text to a number of runes and lines, and says how much is missing. It
// does not cut within a replaced character's name.
func fit(text string, most int) (cut string, whole bool) {
	if blank := strings.Contains(text, strings.Repeat(" ", 20)) || strings.Count(text, "\n") > 8; !blank && utf8.RuneCountInString(text) <= most {
		return text, true
	}
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= most {
		return string(runes), false
	}
	end := most
	for i := most - 1; i > most-10; i-- {
		if runes[i] == '[' {
			end = i
			break
		}
	}
	return fmt.Sprintf("%s… (and %d characters more: open the session to read them)", string(runes[:end]), len(runes)-end), false
}
