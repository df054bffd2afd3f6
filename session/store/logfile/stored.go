package logfile

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
)

// ParseStored reads a line without its newline that must be byte for byte as a log
// writes it. It reports false for any other, also if Parse accepts it: a wrong
// checksum, an object that is not JSON or UTF-8, or an envelope that is no event's.
func ParseStored(line []byte) (Line, event.Type, bool) {
	p, ok := parseVerified(line)
	if !ok || !utf8.Valid(p.Body) {
		return Line{}, "", false
	}
	object := append(append(make([]byte, 0, len(p.Body)+1), p.Body...), '}')
	if !json.Valid(object) {
		return Line{}, "", false
	}
	kind, ok := typeIn(object)
	return p, kind, ok
}

// typeIn returns the type of the event in a valid JSON object. An object that is not
// in the exact form of a log, such as one with a type that is quoted, is decoded.
func typeIn(object []byte) (event.Type, bool) {
	for h := range (event.Batch{JSON: object}).Headers() {
		if e, err := h.Event(); h.Type != "" && len(h.JSON) == len(object) {
			return e.Type, err == nil
		}
		break
	}
	var e event.Event
	if err := json.Unmarshal(object, &e); err != nil || e.Type == "" || e.Turn < 0 || e.FirstSeq != 0 || len(e.Data) == 0 || e.Data[0] != '{' {
		return "", false
	}
	_, err := StampOf(e.Time)
	return e.Type, err == nil
}

// AppendStored appends the line of an event's object, as a log stores it, with its
// newline. The checksum follows from the object alone.
func AppendStored(dst, object []byte) []byte {
	start := len(dst)
	dst, _ = AppendCRC(append(dst, object[:len(object)-1]...), start)
	return dst
}

// Type is the type of the event; empty if the line is not in the exact form of a log.
func (p Line) Type() event.Type { return bodyType(p.Body) }
