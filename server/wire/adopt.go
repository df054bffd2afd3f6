package wire

import "time"

// PastSessions is a page of the sessions that an agent stores.
type PastSessions struct {
	Sessions []PastSession `json:"sessions"`
	// NextCursor asks for the next page; it is absent on the last.
	NextCursor string `json:"next_cursor,omitempty"`
	// LeftOut counts the entries of the agent's page that are not in this one.
	LeftOut int `json:"left_out,omitempty"`
}

// PastSession is a session that an agent stores.
type PastSession struct {
	// AgentSessionID is the agent's id of it.
	AgentSessionID string `json:"agent_session_id"`
	Folder         string `json:"folder,omitempty"`
	Title          string `json:"title,omitempty"`
	// UpdatedAt is absent if the agent does not tell it.
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
	// SessionID is the session that continues it already.
	SessionID string `json:"session_id,omitempty"`
	// Refused says why it cannot be continued in its folder.
	Refused string `json:"refused,omitempty"`
}

// Adopt names the session of an agent to continue.
type Adopt struct {
	AgentSessionID string `json:"agent_session_id"`
	// Workspace is where it goes on; absent means the folder that the agent tells.
	Workspace string `json:"workspace,omitempty"`
}
