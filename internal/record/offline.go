package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// toStore records into a data directory whose LOCK it holds.
type toStore struct {
	recorder *store.Recorder
	log      *store.Log
	turn     int
	prompt   string // of the open turn
}

// Offline begins a recording in a data directory where no hub runs.
func Offline(ctx context.Context, dir, agent, workspace, name string) (Destination, error) {
	r, err := store.OpenRecorder(dir, store.Options{})
	if err != nil {
		return nil, err
	}
	log, err := r.Create(ctx, event.SessionStart{Agent: agent, Workspace: workspace, CreatedBy: actor})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if name != "" {
		err = log.Label(func(m *store.Metadata) { m.Name, m.Named = name, true })
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &toStore{recorder: r, log: log}, nil
}

func (d *toStore) Put(ctx context.Context, events [][]byte) error {
	drafts := make([]event.Draft, 0, len(events))
	for _, line := range events {
		var e struct {
			Type event.Type
			Data json.RawMessage
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return &FinalError{fmt.Errorf("read an event that waited: %w", err)}
		}
		switch e.Type {
		case event.TypeUserPrompt:
			var p event.UserPrompt
			if json.Unmarshal(e.Data, &p) == nil {
				d.turn, d.prompt = d.turn+1, p.PromptID
			}
		case event.TypeTurnEnd:
			d.prompt = ""
		}
		drafts = append(drafts, event.Draft{Type: e.Type, Turn: d.turn, Data: e.Data})
	}
	if len(drafts) == 0 {
		return nil
	}
	if _, _, err := d.log.Append(ctx, drafts...); err != nil {
		return &FinalError{fmt.Errorf("write events: %w", err)}
	}
	return nil
}

func (d *toStore) End(ctx context.Context, reason string) error {
	var last []event.Payload
	if d.prompt != "" {
		last = append(last, event.TurnEnd{PromptID: d.prompt, StopReason: event.StopAgentExit})
	}
	var drafts []event.Draft
	for _, p := range append(last, event.SessionEnd{Reason: reason, By: actor}) {
		draft, err := event.NewDraft(p, d.turn, time.Now())
		if err != nil {
			return errors.Join(err, d.recorder.Close())
		}
		drafts = append(drafts, draft)
	}
	_, _, err := d.log.Append(ctx, drafts...)
	if err == nil {
		d.log.UpdateMetadata(func(m *store.Metadata) { m.Status = "ended" }) // a hub lists it so
	}
	return errors.Join(err, d.recorder.Close())
}
