// Package wire defines the frames and the HTTP bodies that a client and the server
// exchange.
//
// A frame is one JSON object in one WebSocket text message, identified by its
// "type". Fields are only ever added, and unknown types and fields are ignored, so
// an old tab works with a new server and the reverse. The TypeScript types are
// generated from the structs here and in package event. testdata/ has a golden
// frame of every kind, which both test suites read.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Version is the protocol's version.
const Version = 1

// Subprotocol is named by both ends at the WebSocket upgrade.
const Subprotocol = "abide.v1"

// Limits of the protocol.
const (
	// MaxClientFrame limits one message from a client, in bytes.
	MaxClientFrame = 1 << 20
	// MaxBacklogFrame limits the events of one backlog frame, in bytes; a single
	// larger event is sent alone.
	MaxBacklogFrame = 256 << 10
	// DefaultPage and MaxPage limit the events of one page.
	DefaultPage = 50
	MaxPage     = 500
)

// Close codes besides those of RFC 6455. A client retries all except Revoked,
// ScopeLost and SessionGone.
const (
	CloseRevoked     = 4001
	CloseScopeLost   = 4003
	CloseSessionGone = 4004
	CloseTooSlow     = 4008
	CloseProtocol    = 4009
)

// Code is an error's name on the wire: a closed set.
type Code string

const (
	CodeInvalid         Code = "invalid"
	CodeNotFound        Code = "not_found"
	CodeConflict        Code = "conflict"
	CodeAlreadyResolved Code = "already_resolved"
	CodeUnauthorized    Code = "unauthorized"
	CodeForbidden       Code = "forbidden"
	CodeTooLarge        Code = "too_large"
	CodeBusy            Code = "busy"
	CodeUnavailable     Code = "unavailable"
	CodeInternal        Code = "internal"
)

// Values lists the set.
func (Code) Values() []string {
	return []string{"invalid", "not_found", "conflict", "already_resolved", "unauthorized", "forbidden", "too_large", "busy", "unavailable", "internal"}
}

// Message is a frame; MessageType is its discriminator.
type Message interface {
	MessageType() string
}

// Encode writes m as one frame, its type first.
func Encode(m Message) ([]byte, error) { return Append(nil, m) }

// Append is Encode at the end of dst.
func Append(dst []byte, m Message) ([]byte, error) {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, m.MessageType()...)
	dst = append(dst, '"')
	body := len(dst)
	to := end{dst}
	if err := json.NewEncoder(&to).Encode(m); err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.MessageType(), err)
	}
	frame := to.bytes[:len(to.bytes)-1] // without the newline
	if len(frame)-body == len("{}") {
		return append(frame[:body], '}'), nil
	}
	frame[body] = ','
	return frame, nil
}

// end appends what is written.
type end struct{ bytes []byte }

func (e *end) Write(p []byte) (int, error) {
	e.bytes = append(e.bytes, p...)
	return len(p), nil
}

// ErrUnknownType means that the program does not know the frame's type; the
// receiver ignores and counts it.
var ErrUnknownType = errors.New("unknown message type")

// ErrMalformed means that a frame is not a JSON object with a string "type", or
// that its fields have wrong types.
var ErrMalformed = errors.New("malformed message")

// Head has the fields of a client's message that are read before the rest is
// decoded.
type Head struct {
	Type      string
	RequestID string
	SessionID string
}

// ReadHead reads the head of a client's frame. It reads the frame once and retains
// no other part. If request_id or session_id is no string it is empty, and
// DecodeClient returns the error.
func ReadHead(frame []byte) (Head, error) {
	var raw struct {
		Type      string    `json:"type"`
		RequestID shortText `json:"request_id"`
		SessionID shortText `json:"session_id"`
	}
	if err := json.Unmarshal(frame, &raw); err != nil {
		return Head{}, fmt.Errorf("%w: %s", ErrMalformed, Fault(err))
	}
	head := Head{Type: raw.Type, RequestID: string(raw.RequestID), SessionID: string(raw.SessionID)}
	if head.Type == "" {
		return head, fmt.Errorf("%w: no type", ErrMalformed)
	}
	return head, nil
}

// shortText is a string; any other JSON is read as an empty one.
type shortText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *shortText) UnmarshalJSON(data []byte) error {
	*t = ""
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(t))
	}
	return nil
}

// DecodeClient decodes a client's frame. It returns a pointer to one of the structs
// of ClientMessages. It checks the form only; the handler of a message validates
// its fields.
func DecodeClient(frame []byte) (Message, error) { return decodeAs(frame, ClientMessages()) }

// DecodeServer decodes a server's frame, for clients written in Go.
func DecodeServer(frame []byte) (Message, error) { return decodeAs(frame, ServerMessages()) }

func decodeAs(frame []byte, known []Message) (Message, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(frame, &head); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrMalformed, Fault(err))
	}
	if head.Type == "" {
		return nil, fmt.Errorf("%w: no type", ErrMalformed)
	}
	for _, m := range known {
		if m.MessageType() != head.Type {
			continue
		}
		if err := json.Unmarshal(frame, m); err != nil {
			return nil, fmt.Errorf("%w: %s: %s", ErrMalformed, head.Type, Fault(err))
		}
		return m, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownType, head.Type)
}

// Fault describes the error of a JSON text to its sender, without this program's
// type names.
func Fault(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s cannot be a %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("expected an object, not a %s", kind.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("not valid JSON at byte %d", syntax.Offset)
	}
	// Valid JSON of the right kinds is refused only by types with their own
	// decoder. Clients send only one of those: a time.
	return `scheduled_at is not a time such as "2026-02-21T14:03:07Z"`
}
