package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// errJobOver ends the events of a job.
var errJobOver = errors.New("the job is over")

// events prints the events of a job until it is over.
func (v jobVerbs) events(ctx context.Context, hub *client.Hub, id string, whole bool) error {
	err := hub.JobEvents(ctx, id, whole, func(e wire.JobEvent) error {
		if err := v.event(e); err != nil {
			return err
		}
		if e.Type == wire.JobStatus && event.JobStatus(e.Message).Ended() {
			return errJobOver
		}
		return nil
	})
	if errors.Is(err, errJobOver) || errors.Is(err, context.Canceled) { // Ctrl-C leaves
		return nil
	}
	return err
}

func (v jobVerbs) event(e wire.JobEvent) error {
	if v.asJSON() {
		return v.print(e)
	}
	_, err := fmt.Fprintf(v.out, "%s  %-12s  %-11s  %s\n", e.Timestamp.Local().Format("15:04:05"), e.Source, e.Type, plain.Line(e.Message))
	return err
}
