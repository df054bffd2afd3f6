package snapshot

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

const kindExecute event.ToolKind = "execute"

// call takes what an event says of a tool call. When the call is complete, its changes of
// files and its output count.
func (f *Fold) call(e event.Event, said event.ToolCallFields) {
	said.Raw, said.RawInput, said.RawOutput, said.OutputGrown, said.Locations = nil, nil, nil, nil, nil
	calls := &f.Work.Calls
	i := slices.IndexFunc(*calls, func(c *call) bool { return c.Turn == e.Turn && c.Fields.ToolCallID == said.ToolCallID })
	if i < 0 {
		*calls = append(*calls, &call{Turn: e.Turn, Seq: e.Seq, Fields: event.ToolCallFields{ToolCallID: said.ToolCallID}})
		if len(*calls) > callsKept {
			*calls = (*calls)[1:]
		}
		i = len(*calls) - 1
	}
	began, fields := (*calls)[i].Seq, &(*calls)[i].Fields
	fields.Upsert(said)
	if added := string(fields.ContentAdded); len(added) > 4*outputBytes { // only the end of an output counts
		fields.ContentAdded = event.Text(fromRune(added[len(added)-2*outputBytes:]))
	}
	f.boundCalls()
	command := fields.Kind == kindExecute
	if command {
		f.output(e, state.OutputCommand, key(e.Turn, said.ToolCallID), fields.Title)
	}
	if fields.Status != event.ToolCompleted && fields.Status != event.ToolFailed {
		return
	}
	for _, part := range parts(fields.Whole()) {
		switch {
		case part.Type == "diff" && fields.Status == event.ToolCompleted:
			f.changed(e, began, part)
		case command && part.Content.Text != "":
			f.output(e, state.OutputStdout, key(e.Turn, said.ToolCallID), string(part.Content.Text))
		}
	}
	*calls = slices.Delete(*calls, i, i+1)
}

// boundCalls forgets the contents of the oldest open calls if they are too long together.
func (f *Fold) boundCalls() {
	left := callsBytes
	for _, c := range slices.Backward(f.Work.Calls) {
		if left -= len(c.Fields.Content); left < 0 {
			c.Fields.Content = nil
		}
	}
}

// key names a call in the whole session: an agent's ids may come again in a later turn.
func key(turn int, id string) string { return fmt.Sprintf("%d/%s", turn, id) }

// part is one entry of a call's content.
type part struct {
	Type    string          `json:"type"`
	Path    string          `json:"path"`
	Old     *event.Text     `json:"oldText"`
	New     json.RawMessage `json:"newText"`
	Content struct {
		Text event.Text `json:"text"`
	} `json:"content"`
}

func parts(content json.RawMessage) (list []part) {
	_ = json.Unmarshal(content, &list) // unreadable content says nothing
	return list
}

// changed notes a change of a file by a call that began at an event. The log has the whole
// file if the change made it, or if it had the whole file before.
func (f *Fold) changed(e event.Event, began event.Seq, p part) {
	if p.Path == "" {
		return
	}
	file := state.SnapshotFile{Path: p.Path, LastModified: e.Time, Seq: e.Seq}
	var text string
	var ref event.BlobRef
	made := p.Old == nil || *p.Old == ""
	switch {
	case json.Unmarshal(p.New, &text) == nil:
		if !made {
			text, made = f.edited(p.Path, string(*p.Old), text)
		}
		if made {
			file = whole(file, text)
		}
	case made && json.Unmarshal(p.New, &ref) == nil && ref.Blob.SHA256 != "":
		file.Hash, file.Size, file.Blob = ref.Blob.SHA256, &ref.Blob.Bytes, ref.Blob.SHA256
	}
	if i := f.index(p.Path); i >= 0 && file.Hash == "" && f.Files[i].Seq >= began {
		return // the hub wrote it for this call, and knows more
	}
	f.wrote(file)
}

// edited is the text of a file after a change, if its text before is known and has the old
// text once.
func (f *Fold) edited(path, before, after string) (string, bool) {
	i := f.index(path)
	if i < 0 || f.Files[i].Content == nil {
		return "", false
	}
	text := *f.Files[i].Content
	if strings.Count(text, before) != 1 {
		return "", false
	}
	return strings.Replace(text, before, after, 1), true
}

// whole is a file with its whole text.
func whole(file state.SnapshotFile, text string) state.SnapshotFile {
	size := int64(len(text))
	file.Hash, file.Size = fmt.Sprintf("%x", sha256.Sum256([]byte(text))), &size
	if len(text) <= contentBytes {
		file.Content = &text
	}
	return file
}
