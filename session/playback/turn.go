package playback

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

const (
	// maxFiles bounds the files that a turn lists, and maxCalls the tool calls that
	// are told apart in it.
	maxFiles = 50
	maxCalls = 10_000
	// promptRunes bounds the prompt and the error of a turn.
	promptRunes = 200
)

// Turn is the summary of one prompt's turn.
type Turn struct {
	Turn        int              `json:"turn"`
	Seq         event.Seq        `json:"seq"`
	EndSeq      event.Seq        `json:"end_seq,omitempty"`
	At          time.Time        `json:"at"`
	MS          int64            `json:"ms,omitempty"`
	Prompt      string           `json:"prompt"`
	Actor       string           `json:"actor,omitempty"`
	StopReason  event.StopReason `json:"stop_reason,omitempty"`
	Interrupted bool             `json:"interrupted,omitempty"`
	Error       string           `json:"error,omitempty"`
	Files       []File           `json:"files"`
	// FilesLeftOut counts changes to files beyond those listed.
	FilesLeftOut int `json:"files_left_out,omitempty"`
	// Compared means that the files are the difference of the workspace before the turn and
	// at its end, whatever the agent told.
	Compared       bool  `json:"compared,omitempty"`
	Added          int   `json:"added"`
	Removed        int   `json:"removed"`
	Tools          int   `json:"tools"`
	Commands       int   `json:"commands"`
	CommandsFailed int   `json:"commands_failed"`
	Questions      int   `json:"questions"`
	Tokens         int64 `json:"tokens,omitempty"`
}

// The kinds of tool calls that are told apart.
const (
	kindEdit    event.ToolKind = "edit"
	kindDelete  event.ToolKind = "delete"
	kindMove    event.ToolKind = "move"
	kindExecute event.ToolKind = "execute"
)

// File is a file that a turn changed, in lines. Uncounted means that a change of it was
// too large to compare.
type File struct {
	Path      string `json:"path"`
	Added     int    `json:"added"`
	Removed   int    `json:"removed"`
	Uncounted bool   `json:"uncounted,omitempty"`
}

// change counts lines for a file of the turn. Negative ones take back.
func (t *Turn) change(c File) {
	t.Added, t.Removed = t.Added+c.Added, t.Removed+c.Removed
	for i := range t.Files {
		if f := &t.Files[i]; f.Path == c.Path {
			f.Added, f.Removed, f.Uncounted = f.Added+c.Added, f.Removed+c.Removed, f.Uncounted || c.Uncounted
			return
		}
	}
	if len(t.Files) < maxFiles {
		t.Files = append(t.Files, c)
	} else if c.Added >= 0 && c.Removed >= 0 {
		t.FilesLeftOut++
	}
}

// Compare gives the turn the files that differ between its two states instead of those that
// the agent told of.
func (t *Turn) Compare(files []File) {
	t.Files, t.FilesLeftOut, t.Added, t.Removed, t.Compared = []File{}, 0, 0, 0, true
	for _, f := range files {
		t.change(f)
	}
}

// takeBack is change for lines that were counted before. A file without any other
// change is not counted for the turn.
func (t *Turn) takeBack(f File) {
	t.change(File{Path: f.Path, Added: -f.Added, Removed: -f.Removed})
	for i, listed := range t.Files {
		if listed.Path == f.Path && listed.Added == 0 && listed.Removed == 0 {
			t.Files = append(t.Files[:i:i], t.Files[i+1:]...)
			return
		}
	}
}

// work is the tool calls of a turn, and the questions about them that are open, by the
// permission's id.
type work struct {
	Calls map[string]*callMade `json:"calls"`
	Asked map[string]asked     `json:"asked,omitempty"`
}

// callMade is a tool call as far as it was counted. Its changes are the turn's only
// while it is completed and its newest answer was no rejection.
type callMade struct {
	Edit     bool   `json:"edit,omitempty"`
	Command  bool   `json:"command,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
	Done     bool   `json:"done,omitempty"`
	Rejected bool   `json:"rejected,omitempty"`
	Title    string `json:"title,omitempty"`
	Changes  []File `json:"changes,omitempty"`
}

// asked is an open question about a call.
type asked struct {
	Call    string   `json:"call"`
	Rejects []string `json:"rejects,omitempty"` // the options that say no
}

// alter changes a call, and counts its changes as it is then.
func (t *Turn) alter(c *callMade, how func()) {
	counted := func() bool { return c.Done && !c.Rejected }
	if counted() {
		for _, change := range c.Changes {
			t.takeBack(change)
		}
	}
	how()
	if counted() {
		for _, change := range c.Changes {
			t.change(change)
		}
	}
}

// ask notes a question about a call.
func (f *Fold) ask(e event.Event, p event.PermissionRequest) {
	calls := f.Works[e.Turn]
	if calls == nil || p.ToolCallID == "" || len(calls.Asked) >= maxCalls {
		return
	}
	question := asked{Call: p.ToolCallID}
	for _, option := range p.Options {
		if strings.HasPrefix(string(option.Kind), "reject") {
			question.Rejects = append(question.Rejects, option.OptionID)
		}
	}
	if calls.Asked == nil {
		calls.Asked = map[string]asked{}
	}
	calls.Asked[p.PermissionID] = question
}

// answered notes whether a call was rejected.
func (f *Fold) answered(e event.Event, p event.PermissionOutcome) {
	calls, turn := f.Works[e.Turn], f.turn(e.Turn)
	if calls == nil || turn == nil {
		return
	}
	question, open := calls.Asked[p.PermissionID]
	delete(calls.Asked, p.PermissionID)
	if c := calls.Calls[question.Call]; open && c != nil && p.OptionID != "" {
		turn.alter(c, func() { c.Rejected = slices.Contains(question.Rejects, p.OptionID) })
	}
}

// tool counts an announcement or an update of a tool call.
func (f *Fold) tool(e event.Event, update event.ToolCallFields) {
	turn := f.turn(e.Turn)
	if turn == nil {
		return
	}
	calls := f.Works[e.Turn]
	if calls == nil {
		if len(f.Works) > 0 && e.Turn < f.newest() {
			return
		}
		calls = &work{Calls: map[string]*callMade{}}
		if f.Works == nil {
			f.Works = map[int]*work{}
		}
		f.Works[e.Turn] = calls
	}
	c := calls.Calls[update.ToolCallID]
	if c == nil {
		if len(calls.Calls) >= maxCalls {
			return
		}
		c = &callMade{}
		calls.Calls[update.ToolCallID] = c
		turn.Tools++
	}
	if update.Title != "" {
		c.Title = label(update.Title, labelRunes)
	}
	f.classify(e, turn, c, update)
	f.finish(e, turn, c, update)
}

// newest is the number of the newest turn with tool calls.
func (f *Fold) newest() int {
	newest := 0
	for turn := range f.Works {
		newest = max(newest, turn)
	}
	return newest
}

// classify counts an edit or a command once, and the lines it changes as it last said.
func (f *Fold) classify(e event.Event, turn *Turn, c *callMade, update event.ToolCallFields) {
	changes := changesIn(update.Content)
	if (len(changes) > 0 || slices.Contains([]event.ToolKind{kindEdit, kindDelete, kindMove}, update.Kind)) && !c.Edit {
		c.Edit = true
		f.mark(e, MarkEdit, c.Title)
	}
	if update.Kind == kindExecute && !c.Command {
		c.Command = true
		turn.Commands++
		f.mark(e, MarkCommand, c.Title)
	}
	if len(changes) == 0 || c.Failed {
		return // a call's proposed change stays, also after later updates
	}
	turn.alter(c, func() { c.Changes = changes })
}

// finish counts how a call ended.
func (f *Fold) finish(e event.Event, turn *Turn, c *callMade, update event.ToolCallFields) {
	failed := update.Status == event.ToolFailed
	if update.Status == event.ToolCompleted && c.Command {
		failed = exitOf(update.RawOutput) != 0
	}
	if update.Status == event.ToolCompleted || update.Status == event.ToolFailed {
		turn.alter(c, func() { c.Done = update.Status == event.ToolCompleted })
	}
	if !failed || c.Failed {
		return
	}
	c.Failed = true
	if c.Command {
		turn.CommandsFailed++
	}
	f.mark(e, MarkError, c.Title)
}

// changesIn reads the changes to files in a tool call's content.
func changesIn(content json.RawMessage) []File {
	var entries []struct {
		Type string          `json:"type"`
		Path string          `json:"path"`
		Old  json.RawMessage `json:"oldText"`
		New  json.RawMessage `json:"newText"`
	}
	if len(content) == 0 || json.Unmarshal(content, &entries) != nil {
		return nil
	}
	var changes []File
	for _, entry := range entries {
		if entry.Type != "diff" {
			continue
		}
		f := File{Path: entry.Path}
		var before, after string // null is a file that was not there
		if (len(entry.Old) == 0 || json.Unmarshal(entry.Old, &before) == nil) && json.Unmarshal(entry.New, &after) == nil {
			f.Added, f.Removed = countLines(before, after)
		} else {
			f.Uncounted = true // a text is in a blob
		}
		changes = append(changes, f)
	}
	return changes
}

// exitOf is the exit code in a command's output, 0 if it does not say.
func exitOf(output json.RawMessage) int {
	type said struct {
		Exit      *int `json:"exit"`
		ExitCode  *int `json:"exitCode"`
		ExitCode2 *int `json:"exit_code"`
		Code      *int `json:"code"`
	}
	var result struct {
		said
		Metadata said `json:"metadata"`
	}
	if len(output) == 0 || json.Unmarshal(output, &result) != nil {
		return 0
	}
	for _, from := range []said{result.said, result.Metadata} {
		for _, code := range []*int{from.Exit, from.ExitCode, from.ExitCode2, from.Code} {
			if code != nil {
				return *code
			}
		}
	}
	return 0
}
