package api

import (
	"net/http"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
)

// maxRecordBody limits a recorder's batch, because one event may hold the whole
// output of a tool.
const maxRecordBody = 32 << 20

func (s *API) createRecording(c *call, in wire.NewSession) error {
	made, err := s.manager.Record(c.r.Context(), session.CreateRequest{
		Agent: in.Agent, Workspace: in.Workspace, Name: in.Name, Prompt: in.Prompt,
		Actor: c.grant.By(), Key: c.r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/api/sessions/"+made.Session.ID())
	return c.reply(http.StatusCreated, wire.Recording{
		SessionID: made.Session.ID(), Epoch: made.Session.Log().Epoch(), RecorderID: made.RecorderID, MaxSeq: made.MaxSeq,
	})
}

func recordRoute(_ *API, c *call) error {
	var in wire.RecordBatch
	if err := c.readUpTo(&in, maxRecordBody); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	batch := make([]session.Recorded, len(in.Events))
	for i, e := range in.Events {
		batch[i] = session.Recorded(e)
	}
	last, err := own.Record(c.r.Context(), in.RecorderID, in.AfterSeq, batch)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.RecordedTo{MaxSeq: last})
}

func recordEndRoute(s *API, c *call) error {
	var in wire.EndRecording
	if err := c.read(&in); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	if err := own.EndRecording(c.r.Context(), in.RecorderID, in.Reason, c.grant.By()); err != nil {
		return err
	}
	return sessionRoute(s, c)
}
