package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/abidehub/abide/session/event"
)

// mostKinds is how many kinds one tool call may be said to be of. No agent has
// reason to say more than two.
const mostKinds = 8

// subject is the subject of a permission request: all facts of its tool call from
// its announcement, its updates and the request. Each field is as it was last said;
// for the kind, earlier values count too. Large values are kept as a digest. A
// subject is never changed: upsert makes another.
type subject struct {
	title string
	kind  event.ToolKind
	kinds []event.ToolKind // every kind it was said to be of, sorted
	input digest           // of the raw input: the whole command
	diffs digest
	paths digest
	// lost is set when more was said than is known here.
	lost bool
}

// digest stands for a value; the zero digest for none.
type digest [sha256.Size]byte

// upsert is the subject once these fields were said, too.
func (s subject) upsert(f event.ToolCallFields) subject {
	if f.Title != "" {
		s.title = f.Title
	}
	if f.Kind != "" {
		s.kind = f.Kind
		if at, said := slices.BinarySearch(s.kinds, f.Kind); !said && len(s.kinds) < mostKinds {
			s.kinds = slices.Insert(slices.Clone(s.kinds), at, f.Kind)
		} else if !said {
			s.lost = true
		}
	}
	if len(f.RawInput) > 0 {
		s.input = inputDigest(f.RawInput)
	}
	if len(f.Content) > 0 {
		s.diffs = diffDigest(f.Content)
	}
	if f.Locations != nil {
		s.paths = pathDigest(f.Locations)
	}
	return s
}

// equal reports whether both say the same.
func (s subject) equal(o subject) bool {
	return s.title == o.title && s.kind == o.kind && s.lost == o.lost && slices.Equal(s.kinds, o.kinds) &&
		s.input == o.input && s.diffs == o.diffs && s.paths == o.paths
}

// identified reports whether it names the exact action: a command or another input,
// a change, or the file that is read or deleted. A title does not: it is the
// model's words.
func (s subject) identified() bool {
	if s.lost {
		return false
	}
	aboutPaths := s.paths != digest{} && (s.kind == "read" || s.kind == "delete")
	return s.input != digest{} || s.diffs != digest{} || aboutPaths
}

// fingerprint is the same for the same thing under the same words.
func (s subject) fingerprint() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %x %x %x", s.kind, s.kinds, s.title, s.input, s.diffs, s.paths))
	return hex.EncodeToString(sum[:])
}

// surely reports whether it is of a kind whichever way one looks at it.
func (s subject) surely(kind event.ToolKind) bool {
	return !s.lost && len(s.kinds) == 1 && s.kinds[0] == kind
}

// perhaps reports whether it may be of a kind.
func (s subject) perhaps(kind event.ToolKind) bool {
	return s.lost || slices.Contains(s.kinds, kind)
}

// subjectOf is the subject of a request, as far as is known by now.
func (f *fold) subjectOf(p event.PermissionRequest) subject {
	s := f.tools.said(p.ToolCallID).upsert(fieldsAsked(p.ToolCall))
	if s.title == "" {
		s.title = p.Title
	}
	return s
}

// fieldsAsked reads the agent's own JSON of a tool call. Names are taken by the
// letter, as a screen takes them: one read for another would let an agent show
// one command and have another compared.
func fieldsAsked(call json.RawMessage) event.ToolCallFields {
	var said map[string]json.RawMessage
	var f event.ToolCallFields
	if json.Unmarshal(call, &said) != nil {
		return f // a call that is none says nothing
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
	_ = json.Unmarshal(raw, &w) // of another type, it says nothing
	return w
}

// value is nil for null, which says nothing.
func value(raw json.RawMessage) json.RawMessage {
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return raw
}

// inputDigest takes an input that holds nothing for none.
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

// diffDigest is of the changes in a tool call's content, paths and all. Its
// other content is output and words.
func diffDigest(content json.RawMessage) digest {
	// The bulk of all content is output: it is not decoded.
	if !bytes.Contains(content, []byte(`"diff"`)) && !bytes.Contains(content, []byte(`\u`)) {
		return digest{}
	}
	var entries []json.RawMessage
	if json.Unmarshal(content, &entries) != nil {
		return sha256.Sum256(content) // stands for content too large for the log's line
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
