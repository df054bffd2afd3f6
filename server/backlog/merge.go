package backlog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// chunk is the data of a message or thought with text only. Other chunks would lose
// data when merged.
type chunk struct {
	MessageID string `json:"message_id"`
	Text      string `json:"text"`
}

// run is a sequence of chunks of one message that becomes one event.
type run struct {
	head  event.Event // of the newest chunk, whose seq is the run's
	first event.Seq
	chunk chunk
	count int
	raw   []byte // of a run of one, which is sent unchanged
}

// Merge joins consecutive chunks of one message. It decodes events, so it is used
// only for the backlog of clients that ask for it. Each run covers FirstSeq..Seq of
// its events and has the time of the last. The batch still covers First..Last.
func Merge(b event.Batch) (event.Batch, error) {
	out := event.Batch{First: b.First, Last: b.Last}
	var buf bytes.Buffer
	var open *run
	flush := func() error {
		if open == nil {
			return nil
		}
		if out.Count > 0 {
			buf.WriteByte(',')
		}
		out.Count++
		err := open.write(&buf)
		open = nil
		return err
	}
	for g := range b.Headers() {
		next, joinable, err := readRun(g.JSON)
		if err != nil {
			return event.Batch{}, err
		}
		if joinable && open != nil && open.takes(next) {
			open.head = next.head
			open.chunk.Text += next.chunk.Text
			open.count++
			continue
		}
		if err := flush(); err != nil {
			return event.Batch{}, err
		}
		open = next
		if !joinable {
			open.chunk.MessageID = "" // no later chunk may join
		}
	}
	if err := flush(); err != nil {
		return event.Batch{}, err
	}
	out.JSON = buf.Bytes()
	return out, nil
}

func readRun(object []byte) (r *run, joinable bool, err error) {
	r = &run{raw: object, count: 1}
	if err := json.Unmarshal(object, &r.head); err != nil {
		return nil, false, fmt.Errorf("merging a backlog: %w", err)
	}
	r.first = r.head.Seq
	if r.head.Type != event.TypeAgentMessage && r.head.Type != event.TypeAgentThought || r.head.Unverified {
		return r, false, nil
	}
	dec := json.NewDecoder(bytes.NewReader(r.head.Data))
	dec.DisallowUnknownFields()
	if dec.Decode(&r.chunk) != nil {
		return r, false, nil // it has more than text
	}
	return r, r.chunk.MessageID != "", nil
}

func (r *run) takes(next *run) bool {
	return r.chunk.MessageID != "" && r.chunk.MessageID == next.chunk.MessageID &&
		r.head.Type == next.head.Type && r.head.Turn == next.head.Turn
}

func (r *run) write(buf *bytes.Buffer) error {
	if r.count == 1 {
		buf.Write(r.raw)
		return nil
	}
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false) // keep text as it is in the log
	if err := enc.Encode(r.chunk); err != nil {
		return fmt.Errorf("merging events %d to %d: %w", r.first, r.head.Seq, err)
	}
	merged := r.head
	merged.FirstSeq = r.first
	merged.Data = bytes.TrimSuffix(data.Bytes(), []byte("\n"))
	encoded, err := json.Marshal(merged)
	if err != nil {
		return fmt.Errorf("merging events %d to %d: %w", r.first, r.head.Seq, err)
	}
	buf.Write(encoded)
	return nil
}
