// Package reply reads what a person types at an agent's question: an option, or the values of
// a form.
package reply

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// The options of a form, and the word that stops filling it in.
const (
	acceptForm  = "accept"
	declineForm = "decline"
	cancelWord  = "cancel"
)

// Option returns the id of the option that a person means: its number, its id, or its name
// in any case.
func Option(q event.PermissionRequest, typed string) (id string, ok bool) {
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1].OptionID, true
	}
	var named []string
	for _, o := range q.Options {
		if o.OptionID == typed {
			return typed, true
		}
		if strings.EqualFold(o.Name, typed) {
			named = append(named, o.OptionID)
		}
	}
	if len(named) == 1 {
		return named[0], true
	}
	return "", false
}

// Form is a form that a person fills in, field by field.
type Form struct {
	// Of is the question that asks for it.
	Of     event.PermissionRequest
	fields []plain.Field
	values map[string]any
	at     int
}

// FormOf begins to fill in the form of a question if the option sends one, else it returns
// nil.
func FormOf(q event.PermissionRequest, option string) *Form {
	fields := plain.Fields(q.Form)
	if option != acceptForm || len(fields) == 0 {
		return nil
	}
	return &Form{Of: q, fields: fields, values: map[string]any{}}
}

// First reports whether the next value is the first one.
func (f *Form) First() bool { return f.at == 0 }

// Field describes the next value in one line.
func (f *Form) Field() string {
	if f.at == len(f.fields) {
		return "" // all values are given
	}
	return f.fields[f.at].String()
}

// Asks are the lines that ask for the next value, the last one open.
func (f *Form) Asks() string {
	line := f.Field() + ": "
	if f.First() {
		line = "one line for each value; `" + cancelWord + "` declines\n" + line
	}
	return line
}

// Take reads the line for the next value. It is done when the answer can be sent.
func (f *Form) Take(line string) (choice wire.PermissionChoice, done bool, err error) {
	if strings.EqualFold(strings.TrimSpace(line), cancelWord) {
		return wire.PermissionChoice{OptionID: declineForm}, true, nil
	}
	if f.at == len(f.fields) {
		return wire.PermissionChoice{}, false, errors.New("the form is sent already")
	}
	field := f.fields[f.at]
	value, err := field.Read(line)
	if err != nil {
		return wire.PermissionChoice{}, false, err
	}
	delete(f.values, field.Name)
	if value != nil {
		f.values[field.Name] = value
	}
	if f.at++; f.at < len(f.fields) {
		return wire.PermissionChoice{}, false, nil
	}
	content, err := json.Marshal(f.values)
	if err != nil {
		return wire.PermissionChoice{}, false, fmt.Errorf("encoding the form: %w", err)
	}
	return wire.PermissionChoice{OptionID: acceptForm, Content: content}, true, nil
}

// Again goes back to the first field. An empty line keeps the value given before.
func (f *Form) Again() {
	f.at = 0
	for i := range f.fields {
		if value, given := f.values[f.fields[i].Name]; given {
			f.fields[i].Default = value
		}
	}
}

// Misfit reports whether the hub refused an answer because it does not fit the form: the
// question stays open.
func Misfit(err error) bool {
	refused := (*client.RefusedError)(nil)
	return errors.As(err, &refused) && refused.Status == http.StatusBadRequest
}
