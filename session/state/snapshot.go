package state

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// SnapshotVersion is the version of a Snapshot's form.
const SnapshotVersion = 1

// Snapshot is what a session is as of AtSeq of its log, in one piece. It is at most 10 MB;
// what is left out for that is in the log.
type Snapshot struct {
	Version int `json:"version"`
	// Timestamp is the time of the last event that changed it.
	Timestamp    time.Time       `json:"timestamp"`
	Epoch        string          `json:"epoch"`
	AtSeq        event.Seq       `json:"at_seq"`
	AgentContext SnapshotContext `json:"agent_context"`
	// Files are those that were written, the latest last.
	Files []SnapshotFile `json:"files"`
	// Outputs are the latest commands and what they wrote, oldest first.
	Outputs  []SnapshotOutput `json:"outputs"`
	Metadata SnapshotMetadata `json:"metadata"`
	LeftOut  SnapshotLeftOut  `json:"left_out,omitzero"`
	// Notice says for a person what is left out, and where it is.
	Notice string `json:"notice,omitempty"`
}

// SnapshotContext is what was said, and what the agent's plan is.
type SnapshotContext struct {
	// ConversationHistory has the prompts and answers, oldest first, without what an undo
	// took back.
	ConversationHistory []Said `json:"conversation_history"`
	// CurrentTask is the entry of the agent's latest plan that it works on, CompletedTasks
	// are those that are complete, and Suggestions the others.
	CurrentTask    string   `json:"current_task,omitempty"`
	CompletedTasks []string `json:"completed_tasks"`
	Suggestions    []string `json:"suggestions"`
}

// Role is who said something.
type Role string

const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Values lists the set.
func (Role) Values() []string { return []string{string(RoleUser), string(RoleAssistant)} }

// Said is one prompt, or one message of the agent with all its chunks.
type Said struct {
	Role    Role     `json:"role"`
	Content LongText `json:"content"`
	// Cut means that Content is only the beginning.
	Cut bool `json:"cut,omitempty"`
	// Timestamp and Seq are those of its first event.
	Timestamp time.Time `json:"timestamp"`
	Seq       event.Seq `json:"seq"`
	Turn      int       `json:"turn"`
	MessageID string    `json:"message_id,omitempty"`
}

// LongText is text that grows piece by piece.
type LongText []byte

// MarshalText implements encoding.TextMarshaler.
func (t LongText) MarshalText() ([]byte, error) { return t, nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *LongText) UnmarshalText(text []byte) error {
	*t = append(LongText(nil), text...)
	return nil
}

// SnapshotFile is a file that was written, as far as the log has it.
type SnapshotFile struct {
	Path string `json:"path"`
	// Hash is the SHA-256 of the whole file in hex, and Size its bytes. Both are absent if the
	// log has a part of the file only, as with most agents that write files themselves.
	Hash string `json:"hash,omitempty"`
	Size *int64 `json:"size,omitempty"`
	// LastModified and Seq are those of the event.
	LastModified time.Time `json:"last_modified"`
	Seq          event.Seq `json:"seq"`
	// Content is the whole file if the log has it and it is at most 64 KiB, and Blob the name
	// of the session's blob if it is above 256 KiB.
	Content *string `json:"content,omitempty"`
	Blob    string  `json:"blob,omitempty"`
}

// OutputType is what an output is.
type OutputType string

const (
	OutputCommand OutputType = "command"
	// OutputStdout is what a command wrote. Agents do not tell standard error apart.
	OutputStdout OutputType = "stdout"
)

// Values lists the set.
func (OutputType) Values() []string { return []string{string(OutputCommand), string(OutputStdout)} }

// SnapshotOutput is a command, or the end of what one wrote, at most 4 KiB.
type SnapshotOutput struct {
	Type    OutputType `json:"type"`
	Content LongText   `json:"content"`
	// Cut means that Content is only the end.
	Cut       bool      `json:"cut,omitempty"`
	Timestamp time.Time `json:"timestamp"`
	Seq       event.Seq `json:"seq"`
	// Of is the call or the terminal.
	Of string `json:"of,omitempty"`
}

// SnapshotMetadata are the numbers of a session.
type SnapshotMetadata struct {
	// DurationMS is how long its turns took, TokenUsage what they used, in tokens, as far as
	// the agent says, and ToolCalls how many calls they made.
	DurationMS int64 `json:"duration_ms"`
	TokenUsage int64 `json:"token_usage"`
	ToolCalls  int   `json:"tool_calls"`
	// ErrorCount counts errors and failed turns.
	ErrorCount int `json:"error_count"`
	// Context is how full the agent's context is; absent if it does not say.
	Context *event.Usage `json:"context,omitempty"`
	Costs   []event.Cost `json:"costs,omitempty"`
}

// SnapshotLeftOut counts what is left out: the oldest prompts and messages, the rests of those
// that are Cut, the oldest outputs, files, and contents of files.
type SnapshotLeftOut struct {
	Conversation int `json:"conversation,omitempty"`
	Rests        int `json:"rests,omitempty"`
	Outputs      int `json:"outputs,omitempty"`
	Files        int `json:"files,omitempty"`
	Contents     int `json:"contents,omitempty"`
}
