package client

import (
	"context"
	"net/http"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// BeginRecording makes a session that the caller records. The same key again makes
// no second one.
func (h *Hub) BeginRecording(ctx context.Context, n wire.NewSession, key string) (wire.Recording, error) {
	n.Recorder = true
	var made wire.Recording
	err := h.send(ctx, http.MethodPost, "/api/sessions", keyed(key), n, &made)
	return made, err
}

// Record reports a batch that follows the seq after, and returns the log's end. The
// same again writes nothing twice; an empty batch says that the recorder is there.
func (h *Hub) Record(ctx context.Context, r wire.Recording, after event.Seq, batch []wire.Recorded) (event.Seq, error) {
	body := wire.RecordBatch{RecorderID: r.RecorderID, AfterSeq: after, Events: batch}
	var answer wire.RecordedTo
	err := h.do(ctx, http.MethodPost, session(r.SessionID)+"/record", body, &answer)
	return answer.MaxSeq, err
}

// EndRecording ends a recording and its session.
func (h *Hub) EndRecording(ctx context.Context, r wire.Recording, reason string) error {
	body := wire.EndRecording{RecorderID: r.RecorderID, Reason: reason}
	return h.do(ctx, http.MethodPost, session(r.SessionID)+"/record/end", body, nil)
}
