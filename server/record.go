package server

import (
	"net/http"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
)

// maxRecordBody limits a recorder's batch, because one event may hold the whole
// output of a tool.
const maxRecordBody = 32 << 20

// recordingMade is the response to the creation of a recorded session.
type recordingMade struct {
	SessionID  string `json:"session_id"`
	Epoch      string `json:"epoch"`
	RecorderID string `json:"recorder_id"`
	// MaxSeq is the after_seq of the first batch.
	MaxSeq event.Seq `json:"max_seq"`
}

func (s *Server) createRecording(c *call, in newSession) error {
	made, err := s.manager.Record(c.r.Context(), session.CreateRequest{
		Agent: in.Agent, Workspace: in.Workspace, Name: in.Name, Prompt: in.Prompt,
		Actor: c.grant.By(), Key: c.r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/api/sessions/"+made.Session.ID())
	return c.reply(http.StatusCreated, recordingMade{made.Session.ID(), made.Session.Log().Epoch(), made.RecorderID, made.MaxSeq})
}

// recordRequest is a batch of events after after_seq.
type recordRequest struct {
	RecorderID string             `json:"recorder_id"`
	AfterSeq   event.Seq          `json:"after_seq,omitempty"`
	Events     []session.Recorded `json:"events,omitempty"`
}

// recordAnswer has the last seq of the log.
type recordAnswer struct {
	MaxSeq event.Seq `json:"max_seq"`
}

func recordRoute(_ *Server, c *call) error {
	var in recordRequest
	if err := c.readUpTo(&in, maxRecordBody); err != nil {
		return err
	}
	own, err := c.session()
	if err != nil {
		return err
	}
	last, err := own.Record(c.r.Context(), in.RecorderID, in.AfterSeq, in.Events)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, recordAnswer{last})
}

// recordEnd ends a recording.
type recordEnd struct {
	RecorderID string `json:"recorder_id"`
	Reason     string `json:"reason,omitempty"`
}

func recordEndRoute(s *Server, c *call) error {
	var in recordEnd
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
