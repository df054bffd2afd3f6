package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

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

// filling is a form that a person fills in, field by field.
type filling struct {
	q      event.PermissionRequest
	fields []plain.Field
	values map[string]any
	at     int
}

// filled begins to fill in the form of a question if the option sends one, else it
// returns nil.
func filled(q event.PermissionRequest, option string) *filling {
	fields := plain.Fields(q.Form)
	if option != acceptForm || len(fields) == 0 {
		return nil
	}
	return &filling{q: q, fields: fields, values: map[string]any{}}
}

// asks is the line that asks for the next value.
func (f *filling) asks() string {
	line := f.fields[f.at].String() + ": "
	if f.at == 0 {
		line = "one line for each value; `" + cancelWord + "` declines\n" + line
	}
	return line
}

// take reads the line for the next value. It is done when the answer can be sent.
func (f *filling) take(line string) (choice wire.PermissionChoice, done bool, err error) {
	if strings.EqualFold(strings.TrimSpace(line), cancelWord) {
		return wire.PermissionChoice{OptionID: declineForm}, true, nil
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

// again goes back to the first field. An empty line keeps the value given before.
func (f *filling) again() {
	f.at = 0
	for i := range f.fields {
		if value, given := f.values[f.fields[i].Name]; given {
			f.fields[i].Default = value
		}
	}
}

// misfit reports whether the hub refused an answer because it does not fit the
// form: the question stays open.
func misfit(err error) bool {
	refused := (*client.RefusedError)(nil)
	return errors.As(err, &refused) && refused.Status == http.StatusBadRequest
}

// fill asks the person for each value, and sends the answer until it fits.
func (p *Program) fill(ctx context.Context, asked time.Time, f *filling, send func(wire.PermissionChoice) error) error {
	for {
		line, err := p.ask(ctx, asked, f.asks())
		if err != nil {
			return err
		}
		choice, done, err := f.take(line)
		if done {
			err = send(choice)
		}
		switch {
		case err == nil && done:
			return nil
		case err == nil:
		case !done:
			p.notice("%v", err)
		case misfit(err):
			p.notice("%v", err)
			f.again()
		default:
			return err
		}
	}
}
