package blobs

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

const (
	// MaxValue is the largest value in a line, in bytes. A larger one becomes a
	// blob.
	MaxValue = 256 << 10
	// headBytes is how much of such a value stays in the line as text.
	headBytes = 4 << 10
	// worthMoving is larger than the reference that replaces a value.
	worthMoving = headBytes + 512
	// mostMoved limits the values moved from one payload, because each blob is a
	// file.
	mostMoved = logfile.MaxLine / headBytes
	// maxData leaves room for the envelope in a line of logfile.MaxLine bytes.
	maxData = logfile.MaxLine - 1<<10
	// maxDepth limits how deep a payload is searched.
	maxDepth = 200
)

// ErrTooLarge means that a payload is too large for a line and has no large value.
var ErrTooLarge = errors.New("too large for a line")

// Shrink moves the large values of a payload, a JSON object, into blobs: every
// string over 256 KiB at any depth, and then the largest members until the line
// fits. It returns the new payload, which names the blobs that put stored. It does
// not change the given payload. An error is that of put, or ErrTooLarge, or the
// payload is invalid JSON.
func Shrink(data []byte, put func(mediaType string, data []byte) (event.Blob, error)) ([]byte, error) {
	w := mover{blob: put}
	out, err := w.value(data, 0)
	if err != nil {
		return nil, fmt.Errorf("move large values to blobs: %w", err)
	}
	if len(out) > maxData {
		if out, err = w.members(out); err != nil {
			return nil, fmt.Errorf("move large values to blobs: %w", err)
		}
	}
	return out, nil
}

// mover replaces large values of one payload.
type mover struct {
	blob func(mediaType string, data []byte) (event.Blob, error)
}

// member is a name in a JSON object and its encoded value.
type member struct {
	name  string
	value []byte
}

// value returns v with its large strings replaced. It does not look into small
// values.
func (w *mover) value(v []byte, depth int) ([]byte, error) {
	if len(v) <= MaxValue || depth > maxDepth {
		return v, nil
	}
	switch v[0] {
	case '"':
		return w.text(v, "")
	case '{':
		return w.object(v, depth)
	case '[':
		return w.array(v, depth)
	}
	return v, nil
}

func (w *mover) object(v []byte, depth int) ([]byte, error) {
	members, err := splitObject(v)
	if err != nil {
		return nil, err
	}
	// A block of binary content has its media type next to its base64 data.
	media := ""
	for _, m := range members {
		if m.name == "mimeType" || m.name == "media_type" {
			_ = json.Unmarshal(m.value, &media) // not a string: no media type
		}
	}
	for i, m := range members {
		if len(m.value) > MaxValue && m.value[0] == '"' && m.name == "data" {
			members[i].value, err = w.text(m.value, media)
		} else {
			members[i].value, err = w.value(m.value, depth+1)
		}
		if err != nil {
			return nil, err
		}
	}
	return joinObject(members), nil
}

func (w *mover) array(v []byte, depth int) ([]byte, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(v, &items); err != nil {
		return nil, err
	}
	out := []byte{'['}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		moved, err := w.value(item, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, moved...)
	}
	return append(out, ']'), nil
}

// text moves one string. If a media type is next to it, base64 is decoded.
func (w *mover) text(v []byte, media string) ([]byte, error) {
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		return nil, err
	}
	if media != "" {
		if raw, err := base64.StdEncoding.Strict().DecodeString(s); err == nil && base64.StdEncoding.EncodeToString(raw) == s {
			return w.put(media, raw, s)
		}
	}
	return w.put("text/plain; charset=utf-8", []byte(s), s)
}

// put stores a value and returns the reference that replaces it.
func (w *mover) put(media string, data []byte, text string) ([]byte, error) {
	blob, err := w.blob(media, data)
	if err != nil {
		return nil, err
	}
	head := text[:min(len(text), headBytes)]
	for len(head) > 0 && !utf8.ValidString(head) {
		head = head[:len(head)-1] // do not cut a character
	}
	return quote(event.BlobRef{Blob: blob, Head: head}), nil
}

// quote encodes v, which cannot fail. It does not escape HTML, because the place
// that shows it does.
func quote(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("blobs: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
}

// members replaces the payload's largest members, one by one, until it fits.
func (w *mover) members(v []byte) ([]byte, error) {
	members, err := splitObject(v)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(members[b].value), len(members[a].value)) })
	size := len(v)
	for moved, i := range order {
		m := &members[i]
		if size <= maxData || moved == mostMoved || len(m.value) <= worthMoving {
			break
		}
		size -= len(m.value)
		if m.value, err = w.put("application/json", m.value, string(m.value)); err != nil {
			return nil, err
		}
		size += len(m.value)
	}
	if size > logfile.MaxLine {
		// Thousands of small members: the names alone are too much.
		return nil, fmt.Errorf("%w: a payload of %d bytes has no large value", ErrTooLarge, size)
	}
	return joinObject(members), nil
}

// splitObject splits an object into its members, in order, duplicates too.
func splitObject(v []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(v))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		members = append(members, member{name: name.(string), value: value})
	}
	return members, nil
}

func joinObject(members []member) []byte {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(m.name)...), ':'), m.value...)
	}
	return append(out, '}')
}
