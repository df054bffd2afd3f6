package session

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

const (
	// foldName is the file in a session's derived directory that holds its fold.
	foldName = "fold.json"
	// foldFormat is the version of the file. Any change of the fold's fields, or of
	// how it reads an event, needs the next number.
	foldFormat = 2
	// foldEvery is how many events may be folded before the file is written again.
	// After a kill at most as many are read again.
	foldEvery = 1 << 16
)

// foldFile is fold.json. It only saves reading a long log. A file that is missing,
// damaged or of another history is ignored.
type foldFile struct {
	Format int `json:"format"`
	// Epoch and Seq identify the last folded event.
	Epoch string    `json:"epoch"`
	Seq   event.Seq `json:"seq"`
	// CRC is the CRC-32C of Fold.
	CRC  string          `json:"crc"`
	Fold json.RawMessage `json:"fold"`
}

// storedFold is a fold as JSON, with the same fields.
type storedFold struct {
	Turn          int           `json:"turn,omitempty"`
	PromptID      string        `json:"prompt_id,omitempty"`
	PromptSeq     event.Seq     `json:"prompt_seq,omitempty"`
	Open          bool          `json:"open,omitempty"`
	Failed        bool          `json:"failed,omitempty"`
	Login         bool          `json:"login,omitempty"`
	Interruptions interruptions `json:"interruptions,omitzero"`
	Given         int           `json:"given,omitempty"`
	Completed     int           `json:"completed,omitempty"`

	Tools     []storedCall              `json:"tools,omitempty"`
	ToolsSeen int                       `json:"tools_seen,omitempty"`
	ToolsDone []string                  `json:"tools_done,omitempty"`
	Asked     []storedRequest           `json:"asked,omitempty"`
	Settled   []event.PermissionOutcome `json:"settled,omitempty"`
	Rules     []Rule                    `json:"rules,omitempty"`

	Mode     *event.Mode     `json:"mode,omitempty"`
	Config   *event.Config   `json:"config,omitempty"`
	Commands *event.Commands `json:"commands,omitempty"`
	Usage    *event.Usage    `json:"usage,omitempty"`

	AgentSessionID string         `json:"agent_session_id,omitempty"`
	Agent          agentSettings  `json:"agent,omitzero"`
	Before         *agentSettings `json:"before,omitempty"`
	MCPTools       []string       `json:"mcp_tools,omitempty"`
	HalfTold       bool           `json:"half_told,omitempty"`
	Ended          bool           `json:"ended,omitempty"`
	Recorder       recorder       `json:"recorder,omitzero"`
	Title          string         `json:"title,omitempty"`
	FirstPrompt    string         `json:"first_prompt,omitempty"`
	Line           storedLine     `json:"line"`
}

type storedCall struct {
	ID        string        `json:"id"`
	Turn      int           `json:"turn,omitempty"`
	Done      bool          `json:"done,omitempty"`
	Order     int           `json:"order"`
	About     storedSubject `json:"about"`
	ChangedAt event.Seq     `json:"changed_at,omitempty"`
	Delegates bool          `json:"delegates,omitempty"`
}

type storedRequest struct {
	Request event.PermissionRequest `json:"request"`
	Turn    int                     `json:"turn,omitempty"`
	About   storedSubject           `json:"about"`
}

type storedSubject struct {
	Title string           `json:"title,omitempty"`
	Kind  event.ToolKind   `json:"kind,omitempty"`
	Kinds []event.ToolKind `json:"kinds,omitempty"`
	Input digest           `json:"input,omitzero"`
	Diffs digest           `json:"diffs,omitzero"`
	Paths digest           `json:"paths,omitzero"`
	Lost  bool             `json:"lost,omitempty"`
}

type storedLine struct {
	MessageID string `json:"message_id,omitempty"`
	Tail      []byte `json:"tail,omitempty"`
	Fenced    bool   `json:"fenced,omitempty"`
	Within    bool   `json:"within,omitempty"`
	Fixed     string `json:"fixed,omitempty"`
}

// MarshalText implements encoding.TextMarshaler.
func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *digest) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(d) {
		return fmt.Errorf("a digest of %d digits", len(text))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// saveFold writes fold.json.
func saveFold(d store.Derived, epoch string, f *fold) error {
	data, err := encodeFold(epoch, f)
	if err != nil {
		return err
	}
	return d.Write(foldName, data)
}

// loadFold returns the stored fold of the log with this epoch and with visible
// events up to visible, or an empty fold.
func loadFold(d store.Derived, epoch string, visible event.Seq) fold {
	data, err := d.Read(foldName)
	if err != nil {
		return fold{}
	}
	f, of, err := decodeFold(data)
	if err != nil || of != epoch || f.seq > visible {
		return fold{}
	}
	return f
}

func encodeFold(epoch string, f *fold) ([]byte, error) {
	data, err := json.Marshal(f.stored())
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", foldName, err)
	}
	return json.Marshal(foldFile{Format: foldFormat, Epoch: epoch, Seq: f.seq, CRC: foldCRC(data), Fold: data})
}

func decodeFold(data []byte) (f fold, epoch string, err error) {
	var file foldFile
	if err := json.Unmarshal(data, &file); err != nil {
		return fold{}, "", err
	}
	if file.Format != foldFormat || file.CRC != foldCRC(file.Fold) {
		return fold{}, "", fmt.Errorf("%s is of format %d or damaged", foldName, file.Format)
	}
	var s storedFold
	if err := json.Unmarshal(file.Fold, &s); err != nil {
		return fold{}, "", err
	}
	f = s.fold()
	f.seq = file.Seq
	return f, file.Epoch, nil
}

func foldCRC(data []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// stored converts a fold for storing.
func (f *fold) stored() storedFold {
	s := storedFold{
		Turn: f.turn, PromptID: f.promptID, PromptSeq: f.promptSeq, Open: f.open, Failed: f.failed,
		Login: f.login, Interruptions: f.interruptions, Given: f.given, Completed: f.completed,
		Agent: f.agent, Before: f.before, MCPTools: f.mcpTools, HalfTold: f.halfTold,
		ToolsSeen: f.tools.seen, ToolsDone: f.tools.finished,
		Settled: f.permissions.settled, Rules: f.rules,
		Mode: f.mode, Config: f.config, Commands: f.commands, Usage: f.usage,
		AgentSessionID: f.agentSessionID, Ended: f.ended, Recorder: f.recorder, Title: f.title, FirstPrompt: f.firstPrompt,
		Line: storedLine{f.line.messageID, f.line.tail, f.line.fenced, f.line.within, f.line.fixed},
	}
	for _, c := range f.tools.calls {
		s.Tools = append(s.Tools, storedCall{c.id, c.turn, c.done, c.order, c.about.stored(), c.changedAt, c.delegates})
	}
	slices.SortFunc(s.Tools, func(a, b storedCall) int { return cmp.Compare(a.Order, b.Order) })
	for _, r := range f.permissions.open {
		s.Asked = append(s.Asked, storedRequest{r.Request, r.Turn, r.about.stored()})
	}
	return s
}

// fold is the inverse of stored.
func (s *storedFold) fold() fold {
	f := fold{
		turn: s.Turn, promptID: s.PromptID, promptSeq: s.PromptSeq, open: s.Open, failed: s.Failed,
		login: s.Login, interruptions: s.Interruptions, given: s.Given, completed: s.Completed,
		agent: s.Agent, before: s.Before, mcpTools: s.MCPTools, halfTold: s.HalfTold,
		tools:       toolCalls{seen: s.ToolsSeen, finished: s.ToolsDone},
		permissions: permissions{settled: s.Settled},
		rules:       s.Rules,
		mode:        s.Mode, config: s.Config, commands: s.Commands, usage: s.Usage,
		agentSessionID: s.AgentSessionID, ended: s.Ended, recorder: s.Recorder, title: s.Title, firstPrompt: s.FirstPrompt,
		line: lastLine{s.Line.MessageID, s.Line.Tail, s.Line.Fenced, s.Line.Within, s.Line.Fixed},
	}
	if len(s.Tools) > 0 {
		f.tools.calls = make(map[string]*toolCall, len(s.Tools))
	}
	for _, c := range s.Tools {
		f.tools.calls[c.ID] = &toolCall{
			id: c.ID, turn: c.Turn, done: c.Done, order: c.Order, about: c.About.subject(), changedAt: c.ChangedAt, delegates: c.Delegates,
		}
	}
	for _, r := range s.Asked {
		f.permissions.ask(r.Request, r.Turn, r.About.subject())
	}
	return f
}

func (s subject) stored() storedSubject {
	return storedSubject{s.title, s.kind, s.kinds, s.input, s.diffs, s.paths, s.lost}
}

func (s storedSubject) subject() subject {
	return subject{s.Title, s.Kind, s.Kinds, s.Input, s.Diffs, s.Paths, s.Lost}
}
