package api

import (
	"net/http"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/recorded"
)

// maxRecordBody limits a recorder's batch, because one event may hold the whole
// output of a tool.
const maxRecordBody = 32 << 20

func (s *API) createRecording(c *call, in wire.NewSession) error {
	made, err := s.manager.Record(c.r.Context(), session.CreateRequest{
		Agent: in.Agent, Workspace: in.Workspace, Name: in.Name, Prompt: in.Prompt, Worktree: worktreeOf(in.Worktree),
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

// recordRows are the routes of this file.
func recordRows() section {
	return section{
		title: "Recordings",
		about: []string{
			"`POST /api/sessions` with `recorder` begins a recording. Other verbs that write get 409 until it ends. A batch has at most 32 MiB. 30 s of silence close the session as after a crash.",
			"The hub writes `session_start`, `session_end`, `epoch`, `segment_start`, `log_truncated` and notes of method `abide/…` itself, and refuses a second open turn.",
		},
		rows: []route{
			{
				"POST", one + "/record", auth.Credential, auth.Manage, false, recordRoute,
				doc{
					summary: "Write a batch of events that the session's recorder reports after after_seq, all or nothing. The same batch after the same seq again writes nothing twice; another one there is 409. An empty batch says that the recorder is there; after 30 s of silence the session is closed.",
					in:      wire.RecordBatch{}, out: wire.RecordedTo{}, status: 200,
				},
			},
			{
				"POST", one + "/record/end", auth.Credential, auth.Manage, false, inSessionWith(recordEndRoute),
				doc{summary: "End a recording: what is open is closed, session_end is written. The same again changes nothing.", in: wire.EndRecording{}, out: wire.SessionInfo{}, status: 200},
			},
		},
	}
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
	batch := make([]recorded.Event, len(in.Events))
	for i, e := range in.Events {
		batch[i] = recorded.Event(e)
	}
	last, err := own.Record(c.r.Context(), in.RecorderID, in.AfterSeq, batch)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.RecordedTo{MaxSeq: last})
}

func recordEndRoute(s *API, c *call, own *session.BackgroundSession, in wire.EndRecording) error {
	if err := own.EndRecording(c.r.Context(), in.RecorderID, in.Reason, c.grant.By()); err != nil {
		return err
	}
	return sessionRoute(s, c, own)
}
