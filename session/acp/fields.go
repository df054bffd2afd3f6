package acp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fields is one JSON object of the agent, taken apart key by key. What was not
// taken, or not understood, is left over: then the event keeps the agent's own
// JSON beside what was understood.
type fields struct {
	left map[string]json.RawMessage
	// lossy is set when something below a taken key was not understood.
	lossy bool
}

func objectFields(raw json.RawMessage) (*fields, error) {
	f := &fields{}
	if err := json.Unmarshal(raw, &f.left); err != nil {
		return nil, err
	}
	if f.left == nil {
		return nil, fmt.Errorf("null where an object is expected")
	}
	return f, nil
}

// complete reports whether everything the object says was taken.
func (f *fields) complete() bool { return len(f.left) == 0 && !f.lossy }

// take decodes a key into v and removes it. A null, or a value of another
// type, stays.
func take[T any](f *fields, key string, v *T) bool {
	raw, ok := f.left[key]
	if !ok || isNull(raw) {
		return false
	}
	var decoded T
	if json.Unmarshal(raw, &decoded) != nil {
		return false
	}
	*v = decoded
	delete(f.left, key)
	return true
}

// text takes a string. A lone surrogate has no UTF-8: the string is taken with
// a replacement character, and the object counts as not understood in full.
func (f *fields) text(key string, v *string) bool {
	raw := f.left[key]
	if !take(f, key, v) {
		return false
	}
	if strings.ContainsRune(*v, '\uFFFD') && !bytes.Contains(raw, []byte("\uFFFD")) {
		f.lossy = true
	}
	return true
}

// opt takes a string into a field that events leave out when it is empty: an
// empty one said something that the event does not.
func (f *fields) opt(key string, v *string) {
	if f.text(key, v) && *v == "" {
		f.lossy = true
	}
}

// word takes a string into one of the event package's string types.
func word[T ~string](f *fields, key string, v *T) {
	if len(f.left[key]) > wordBytes {
		return // no word of any protocol: it stays in raw
	}
	var s string
	f.opt(key, &s)
	*v = T(s)
}

// Bounds of what is one line of a screen, or a key of a map: what an agent says
// beyond them stays in raw, whole.
const (
	labelBytes      = 4 << 10
	identifierBytes = 256
	wordBytes       = 64
	listEntries     = 1000
)

// label takes a string that people read in one glance. A longer one is cut.
func (f *fields) label(key string, v *string) bool {
	if !f.text(key, v) {
		return false
	}
	if len(*v) > labelBytes {
		*v = strings.ToValidUTF8((*v)[:labelBytes], "") + "…"
		f.lossy = true
	}
	return true
}

// identifier takes a string that names something of the agent. A longer one is
// replaced by its hash, which names the same thing every time.
func (f *fields) identifier(key string, v *string) bool {
	if !f.text(key, v) {
		return false
	}
	if len(*v) > identifierBytes {
		*v = fmt.Sprintf("sha256-%x", sha256.Sum256([]byte(*v)))
		f.lossy = true
	}
	return true
}

// raw takes a value as it is.
func (f *fields) raw(key string, v *json.RawMessage) bool {
	raw, ok := f.left[key]
	if !ok || isNull(raw) {
		return false
	}
	*v = raw
	delete(f.left, key)
	return true
}

// object takes the object under key apart; f is complete only if that is.
func (f *fields) object(key string, read func(*fields)) bool {
	raw, ok := f.left[key]
	if !ok || isNull(raw) {
		return false
	}
	inner, err := objectFields(raw)
	if err != nil {
		return false
	}
	delete(f.left, key)
	read(inner)
	f.lossy = f.lossy || !inner.complete()
	return true
}

// objects takes an array of objects apart, the first listEntries of them, and
// reports whether it was there.
func (f *fields) objects(key string, read func(*fields)) bool {
	var list []json.RawMessage
	if !take(f, key, &list) {
		return false
	}
	for n, raw := range list {
		if n == listEntries {
			f.lossy = true
			break
		}
		inner, err := objectFields(raw)
		if err != nil {
			f.lossy = true
			continue
		}
		read(inner)
		f.lossy = f.lossy || !inner.complete()
	}
	return true
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// mustJSON encodes what cannot fail to encode: structs of strings and numbers.
func mustJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("acp: encode %T: %v", v, err))
	}
	return data
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
