package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/internal/reply"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func (p *Program) answer() *cobra.Command {
	var values string
	cmd := p.onSession(&cobra.Command{
		Use:   "answer ID [OPTION]",
		Short: "Answer the question that waits in a session, or print it",
		Long: "Answer the question that waits in a session by an option's number, name or id. Without an option the question is\n" +
			"printed, and at a terminal asked. The first answer counts, wherever it comes from. The values of a form are asked\n" +
			"one by one at a terminal, and given by --values elsewhere.",
		Example: "abide answer -\nabide answer - 1\nabide answer - accept --values '{\"colour\":\"red\"}'",
		Args:    cobra.RangeArgs(1, 2),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, args []string) error {
		if values != "" && !json.Valid([]byte(values)) {
			return Usagef("--values is not JSON")
		}
		asked := time.Now()
		q, seen, err := waiting(ctx, hub, s)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			if p.json {
				return p.PrintJSON(q)
			}
			if err := p.printQuestion(q); err != nil || !p.interactive() {
				return err
			}
			chosen, err := p.ask(ctx, asked, fmt.Sprintf("1-%d: ", len(q.Options)))
			if err != nil || chosen == "" {
				return err
			}
			args = []string{chosen}
		}
		option, err := choose(q, args[0])
		if err != nil {
			return err
		}
		var resolved wire.PermissionResolved
		send := func(c wire.PermissionChoice) (err error) {
			c.SeenSeq = seen
			resolved, err = hub.Settle(ctx, s.SessionID, q.PermissionID, c)
			return err
		}
		if form := reply.FormOf(q, option); form != nil && values == "" && p.interactive() {
			err = p.fill(ctx, asked, form, send)
		} else {
			err = send(wire.PermissionChoice{OptionID: option, Content: json.RawMessage(values)})
		}
		if err != nil || p.json {
			return p.orJSON(resolved, err)
		}
		for _, o := range q.Options {
			if o.OptionID == option {
				p.say("answered: " + plain.Line(o.Name))
			}
		}
		return nil
	})
	cmd.Flags().StringVar(&values, "values", "", "values for a form, a JSON `OBJECT`")
	p.JSONFlag(cmd)
	return cmd
}

// waiting returns the oldest question that waits in a session, and the event as
// of which it does.
func waiting(ctx context.Context, hub *client.Hub, s wire.SessionInfo) (q event.PermissionRequest, at event.Seq, err error) {
	state, err := hub.State(ctx, s.SessionID)
	if err != nil {
		return q, 0, err
	}
	if len(state.PendingPermissions) == 0 {
		if len(state.Agent.AuthMethods) > 0 {
			return q, 0, withCode(ExitNotFound, "no question waits; the agent needs you to log in (`abide open %s`)", tail(s.SessionID))
		}
		return q, 0, withCode(ExitNotFound, "no question waits in %s", s.SessionID)
	}
	q, err = hub.Question(ctx, s.SessionID, state.AtSeq+1, state.PendingPermissions[0])
	if errors.Is(err, client.ErrNoQuestion) {
		err = withCode(ExitNotFound, "question %s is not in the log", state.PendingPermissions[0])
	}
	return q, state.AtSeq, err
}

func (p *Program) printQuestion(q event.PermissionRequest) error {
	style, err := p.style(p.Stdout)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s", plain.Line(q.Title), plain.Asked(q, style))
	for i, o := range q.Options {
		fmt.Fprintf(&b, "  %d  %s\n", i+1, plain.Line(o.Name))
	}
	_, err = fmt.Fprint(p.Stdout, b.String())
	return err
}

// choose is the id of the option that a person means.
func choose(q event.PermissionRequest, name string) (string, error) {
	if id, ok := reply.Option(q, name); ok {
		return id, nil
	}
	return "", Usagef("%q is not one of the %d options (`abide answer ID` prints them)", name, len(q.Options))
}

// fill asks the person for each value, and sends the answer until it fits.
func (p *Program) fill(ctx context.Context, asked time.Time, f *reply.Form, send func(wire.PermissionChoice) error) error {
	for {
		line, err := p.ask(ctx, asked, f.Asks())
		if err != nil {
			return err
		}
		choice, done, err := f.Take(line)
		if done {
			err = send(choice)
		}
		switch {
		case err == nil && done:
			return nil
		case err == nil:
		case !done:
			p.notice("%v", err)
		case reply.Misfit(err):
			p.notice("%v", err)
			f.Again()
		default:
			return err
		}
	}
}
