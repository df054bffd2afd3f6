package tape

import (
	"context"
	"encoding/json"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/session/event"
)

// Hub is a session's log as the hub hands it out: an observer.Source.
type Hub struct {
	Hub *client.Hub
	// ID is the session's.
	ID string
}

// Changed implements observer.Source. It never rings: a tape does not grow.
func (Hub) Changed() <-chan struct{} { return nil }

// ReadAfter implements observer.Source.
func (h Hub) ReadAfter(ctx context.Context, after event.Seq, _ int) (event.Batch, error) {
	page, err := h.Hub.EventsAfter(ctx, h.ID, after, 500)
	if err != nil || len(page.Events) == 0 {
		return event.Batch{}, err
	}
	data, err := json.Marshal(page.Events)
	return event.Batch{
		First: page.Events[0].Seq, Last: page.Events[len(page.Events)-1].Seq, Count: len(page.Events), JSON: data[1 : len(data)-1],
	}, err
}
