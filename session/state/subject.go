package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/abidehub/abide/session/event"
)

// mostKinds limits the kinds of one tool call. Agents have no reason to give more
// than two.
const mostKinds = 8

// Subject holds all facts of a request's tool call from its announcement, its
// updates and the request. Each field has the last value; Kinds has all values.
// Large values are kept as a digest. A subject is never changed: upsert returns
// another.
type Subject struct {
	Title string         `json:"title,omitempty"`
	Kind  event.ToolKind `json:"kind,omitempty"`
	// Kinds are all kinds given, sorted.
	Kinds []event.ToolKind `json:"kinds,omitempty"`
	// Input is of the raw input, such as the whole command.
	Input digest `json:"input,omitzero"`
	Diffs digest `json:"diffs,omitzero"`
	Paths digest `json:"paths,omitzero"`
	// Lost means that some facts are missing here.
	Lost bool `json:"lost,omitempty"`
}

// digest identifies a value; the zero digest means none.
type digest [sha256.Size]byte

// upsert returns the subject updated with these fields.
func (s Subject) upsert(f event.ToolCallFields) Subject {
	if f.Title != "" {
		s.Title = f.Title
	}
	if f.Kind != "" {
		s.Kind = f.Kind
		if at, said := slices.BinarySearch(s.Kinds, f.Kind); !said && len(s.Kinds) < mostKinds {
			s.Kinds = slices.Insert(slices.Clone(s.Kinds), at, f.Kind)
		} else if !said {
			s.Lost = true
		}
	}
	if len(f.RawInput) > 0 {
		s.Input = inputDigest(f.RawInput)
	}
	if len(f.Content) > 0 {
		s.Diffs = diffDigest(f.Content)
	}
	if f.Locations != nil {
		s.Paths = pathDigest(f.Locations)
	}
	return s
}

// equal reports whether both have the same facts.
func (s Subject) equal(o Subject) bool {
	return s.Title == o.Title && s.Kind == o.Kind && s.Lost == o.Lost && slices.Equal(s.Kinds, o.Kinds) &&
		s.Input == o.Input && s.Diffs == o.Diffs && s.Paths == o.Paths
}

// Identified reports whether the subject identifies the exact action: a command or
// other input, a change, or the file that is read or deleted. A title does not: the
// model chose it.
func (s Subject) Identified() bool {
	if s.Lost {
		return false
	}
	aboutPaths := s.Paths != digest{} && (s.Kind == "read" || s.Kind == "delete")
	return s.Input != digest{} || s.Diffs != digest{} || aboutPaths
}

// Fingerprint returns a hash of all facts.
func (s Subject) Fingerprint() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %x %x %x", s.Kind, s.Kinds, s.Title, s.Input, s.Diffs, s.Paths))
	return hex.EncodeToString(sum[:])
}

// Surely reports whether kind is the only kind given.
func (s Subject) Surely(kind event.ToolKind) bool {
	return !s.Lost && len(s.Kinds) == 1 && s.Kinds[0] == kind
}

// Perhaps reports whether kind may be one of the kinds.
func (s Subject) Perhaps(kind event.ToolKind) bool {
	return s.Lost || slices.Contains(s.Kinds, kind)
}

// fieldsAsked reads the agent's own JSON of a tool call. Names must match exactly,
// as on a screen: with case-insensitive names, an agent could show one command and
// have another one compared.
func fieldsAsked(call json.RawMessage) event.ToolCallFields {
	var said map[string]json.RawMessage
	var f event.ToolCallFields
	if json.Unmarshal(call, &said) != nil {
		return f // an invalid call has no facts
	}
	f.Title, f.Kind = word[string](said["title"]), word[event.ToolKind](said["kind"])
	f.RawInput, f.Content = value(said["rawInput"]), value(said["content"])
	var at []map[string]json.RawMessage
	if json.Unmarshal(said["locations"], &at) == nil && at != nil {
		f.Locations = []event.Location{}
		for _, l := range at {
			f.Locations = append(f.Locations, event.Location{Path: word[string](l["path"])})
		}
	}
	return f
}

func word[T ~string](raw json.RawMessage) (w T) {
	_ = json.Unmarshal(raw, &w) // a value of another type has no facts
	return w
}

// value returns nil for null, which has no facts.
func value(raw json.RawMessage) json.RawMessage {
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return raw
}

// inputDigest treats an empty input as none.
func inputDigest(raw json.RawMessage) digest {
	var input bytes.Buffer
	if json.Compact(&input, raw) != nil {
		return digest{}
	}
	switch input.String() {
	case "null", "{}", "[]", `""`:
		return digest{}
	}
	return sha256.Sum256(input.Bytes())
}

// diffDigest is the digest of the changes in a tool call's content, with their
// paths. Other content is output and text.
func diffDigest(content json.RawMessage) digest {
	// Most content is output: do not decode it.
	if !bytes.Contains(content, []byte(`"diff"`)) && !bytes.Contains(content, []byte(`\u`)) {
		return digest{}
	}
	var entries []json.RawMessage
	if json.Unmarshal(content, &entries) != nil {
		return sha256.Sum256(content) // for content too large for the log's line
	}
	var diffs bytes.Buffer
	for _, entry := range entries {
		var said map[string]json.RawMessage
		if json.Unmarshal(entry, &said) == nil && word[string](said["type"]) == "diff" && json.Compact(&diffs, entry) == nil {
			diffs.WriteByte('\n')
		}
	}
	if diffs.Len() == 0 {
		return digest{}
	}
	return sha256.Sum256(diffs.Bytes())
}

func pathDigest(at []event.Location) digest {
	if len(at) == 0 {
		return digest{}
	}
	var paths []byte
	for _, l := range at {
		paths = fmt.Appendf(paths, "%q\n", l.Path)
	}
	return sha256.Sum256(paths)
}
