package cli

import (
	"context"
	"time"

	"github.com/abidehub/abide/internal/reply"
	"github.com/abidehub/abide/server/wire"
)

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
