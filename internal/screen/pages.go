package screen

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/tape"
	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// pages are the events of a session, some at a time, oldest first.
type pages interface {
	observer.Source
	// before are the newest events before a seq, or of all where that is 0.
	before(ctx context.Context, seq event.Seq) (wire.EventsLoaded, error)
	// after are the oldest events after a seq.
	after(ctx context.Context, seq event.Seq) (wire.EventsLoaded, error)
}

// hubPages are those of a session of the hub.
type hubPages struct {
	tape.Hub
}

func pagesOf(hub *client.Hub, id string) hubPages { return hubPages{tape.Hub{Hub: hub, ID: id}} }

func (p hubPages) before(ctx context.Context, seq event.Seq) (wire.EventsLoaded, error) {
	return p.Hub.Hub.JoinedBefore(ctx, p.ID, seq, pageEvents)
}

func (p hubPages) after(ctx context.Context, seq event.Seq) (wire.EventsLoaded, error) {
	return p.Hub.Hub.JoinedAfter(ctx, p.ID, seq, pageEvents)
}

// filePages are those of a file.
type filePages struct {
	*tape.File
}

func (p filePages) before(ctx context.Context, seq event.Seq) (wire.EventsLoaded, error) {
	if seq == 0 {
		seq = p.Last() + 1
	}
	page, err := p.after(ctx, max(p.First(), seq-pageEvents)-1)
	for i, e := range page.Events {
		if e.Seq >= seq {
			page.Events = page.Events[:i]
			break
		}
	}
	return page, err
}

func (p filePages) after(ctx context.Context, seq event.Seq) (wire.EventsLoaded, error) {
	var page wire.EventsLoaded
	for at := seq; len(page.Events) < pageEvents; {
		b, err := p.ReadAfter(ctx, at, 0)
		if err != nil || b.Count == 0 {
			return page, err
		}
		events, err := b.Events()
		if err != nil {
			return page, fmt.Errorf("read the file: %w", err)
		}
		page.Events = append(page.Events, events...)
		at = b.Last
	}
	page.Events = page.Events[:pageEvents]
	return page, nil
}
