// Package event defines the events of a session.
//
// An event is one durable fact. It looks the same on disk, on the socket, over
// HTTP and in exports:
//
//	{"seq":5,"time":"2026-02-21T14:03:07.123456Z","type":"agent_message","turn":2,"data":{…}}
//
// On disk a checksum follows as the last key (see package store). The package
// is a leaf: it imports only the standard library, and the TypeScript types of
// the web app are generated from it.
package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// Seq is an event's number in its session: from 1, without gaps, never reused.
// Zero means "before the first event". It stays below 2^53, so JavaScript holds
// it exactly.
type Seq int64

// TimeLayout is how an event's time is written: UTC, microseconds.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// Type names a kind of event, in the spelling of the wire and the disk.
type Type string

// Event is one durable fact of a session.
type Event struct {
	Seq  Seq       `json:"seq"`
	Time time.Time `json:"time"`
	Type Type      `json:"type"`
	// Turn is the turn the event belongs to, from 1; 0 outside any turn.
	Turn int `json:"turn,omitempty"`
	// Data is the payload's JSON object. Decode turns it into a Payload.
	Data json.RawMessage `json:"data"`
	// FirstSeq is set on a merged run of chunks, which covers FirstSeq..Seq.
	FirstSeq Seq `json:"first_seq,omitempty"`
	// Unverified marks an event with a wrong checksum on disk that still reads as
	// JSON and has the right seq.
	Unverified bool `json:"unverified,omitempty"`
}

// Payload is the data of one kind of event. Every payload struct is listed in
// Kinds.
type Payload interface {
	EventType() Type
}

// Unknown stands for a payload of a type this program does not know. Its JSON
// is kept whole.
type Unknown struct {
	Type Type
	Raw  json.RawMessage
}

// EventType implements Payload.
func (u Unknown) EventType() Type { return u.Type }

// MarshalJSON writes the payload as it was read.
func (u Unknown) MarshalJSON() ([]byte, error) { return u.Raw, nil }

// Payload decodes the event's data. A type this program does not know gives
// Unknown, never an error; fields it does not know are ignored here and stay in
// Data. The error reports data that does not fit its type.
func (e Event) Payload() (Payload, error) {
	p, err := decode(e.Type, e.Data)
	if err != nil {
		return nil, fmt.Errorf("decode event %d: %w", e.Seq, err)
	}
	return p, nil
}

// Draft is an event before its log has given it a seq. Its Data is compact,
// valid JSON in valid UTF-8, so that a log can write it without looking at it
// again: make drafts with NewDraft or with care.
type Draft struct {
	Type Type
	// Time is when it happened; zero lets the log stamp it.
	Time time.Time
	Turn int
	Data []byte
}

// NewDraft encodes p for a log. Invalid UTF-8 and JSON that cannot stand on one
// line are repaired or refused here, so nothing after it has to check.
func NewDraft(p Payload, turn int, at time.Time) (Draft, error) {
	return new(Encoder).Draft(p, turn, at)
}

// Encoder makes the drafts of payloads that are recorded together: their data lie one
// after the other in one allocation. The zero value is ready.
type Encoder struct{ space []byte }

// NewEncoder returns an encoder with space for these payloads.
func NewEncoder(payloads []Payload) *Encoder {
	size := 0
	for _, p := range payloads {
		size += sizeHint(p)
	}
	return &Encoder{make([]byte, 0, size)}
}

// Draft is NewDraft.
func (e *Encoder) Draft(p Payload, turn int, at time.Time) (Draft, error) {
	data, err := e.encode(p)
	if err != nil {
		return Draft{}, fmt.Errorf("encode %s: %w", p.EventType(), err)
	}
	return Draft{Type: p.EventType(), Time: at, Turn: turn, Data: data}, nil
}

func (e *Encoder) encode(p Payload) ([]byte, error) {
	if size := sizeHint(p); cap(e.space) < size {
		e.space = make([]byte, 0, size)
	}
	data, ok, err := appendPayload(e.space, p)
	if n := len(data); n <= cap(e.space) {
		data, e.space = data[:n:n], e.space[n:n:cap(e.space)]
	} // else it is in memory of its own
	if !ok {
		data, err = marshal(p)
	}
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) { // json.RawMessage passes its bytes through unchecked
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	if len(data) == 0 || data[0] != '{' {
		return nil, fmt.Errorf("payload is not a JSON object")
	}
	return data, nil
}

// marshal encodes a payload of any kind.
func marshal(p Payload) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	// Raw text stays as the agent sent it; HTML is made safe where it is shown.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Batch is a run of events in wire form, as a log hands them out: consecutive,
// ascending, no hole. The zero Batch is empty.
type Batch struct {
	// First and Last are the seqs of the first and last event.
	First, Last Seq
	// Count is the number of JSON objects in JSON; it is Last-First+1 unless
	// runs of chunks were merged.
	Count int
	// JSON holds the events' objects joined by commas: put it between brackets
	// to get an array. It is shared between readers and must not be changed.
	JSON []byte
}

// Empty reports whether the batch holds no event.
func (b Batch) Empty() bool { return b.Count == 0 }

// UpTo is the batch without the events after last. A merged batch has no such part.
func (b Batch) UpTo(last Seq) Batch {
	if b.Last <= last {
		return b
	}
	cut, bytes := Batch{First: b.First, Last: last}, 0
	for g := range b.Headers() {
		if cut.Count == int(last-b.First+1) {
			break
		}
		cut.Count++
		bytes += len(g.JSON) + 1 // and the comma
	}
	cut.JSON = b.JSON[:max(bytes-1, 0)]
	return cut
}

// Events decodes the batch. The live path never does this; tests, folds and
// exports do.
func (b Batch) Events() ([]Event, error) {
	events := make([]Event, 0, b.Count)
	if b.Empty() {
		return events, nil
	}
	array := make([]byte, 0, len(b.JSON)+2)
	array = append(append(append(array, '['), b.JSON...), ']')
	if err := json.Unmarshal(array, &events); err != nil {
		return nil, fmt.Errorf("decode events %d to %d: %w", b.First, b.Last, err)
	}
	return events, nil
}
