package wire

// Worktrees are the working copies that abide made.
type Worktrees struct {
	Worktrees []WorkingCopy `json:"worktrees"`
	// States are those of files that are kept for undo, by session.
	States []StatesSize `json:"states"`
}

// StatesSize is what the states of files of a session take.
type StatesSize struct {
	SessionID string `json:"session_id"`
	States    int    `json:"states"`
	// Bytes are those of objects that only states have.
	Bytes int64 `json:"bytes"`
}

// WorkingCopy is a git worktree that abide made.
type WorkingCopy struct {
	Folder string `json:"folder"`
	// Repository is the folder that it is a copy of; absent if that is not known.
	Repository string `json:"repository,omitempty"`
	// Branch is the one that is checked out, Base the one that it comes from.
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"`
	// Sessions work in it; empty for an orphan.
	Sessions []CopyUse `json:"sessions"`
	// Unfinished means that its making or removing was interrupted, and Gone that its
	// folder is no longer there.
	Unfinished bool `json:"unfinished,omitempty"`
	Gone       bool `json:"gone,omitempty"`
	// Bytes is its size; Partly means that it has more, which were not counted in time.
	Bytes  int64 `json:"bytes"`
	Partly bool  `json:"partly,omitempty"`
	// Uncommitted counts files, and Commits those that neither the base nor the remote has.
	Uncommitted int `json:"uncommitted"`
	Commits     int `json:"commits"`
	// UncommittedNames are the first of the files.
	UncommittedNames []string `json:"uncommitted_names,omitempty"`
	// Unknown is the reason if they are not known.
	Unknown string `json:"unknown,omitempty"`
	// Safe means that nothing is lost if it is removed, and that its sessions are over. Its
	// branch then stays if it has commits of its own.
	Safe bool `json:"safe"`
	// Removed means that the request removed it.
	Removed bool `json:"removed,omitempty"`
}

// CopyUse is a session that works in a working copy.
type CopyUse struct {
	SessionID string `json:"session_id"`
	Name      string `json:"name"`
	// Over means that it is ended or archived.
	Over bool `json:"over"`
	// Trashed means that it lies in the trash.
	Trashed bool `json:"trashed,omitempty"`
}

// RemoveWorktree removes a working copy.
type RemoveWorktree struct {
	Folder string `json:"folder"`
	// Discard removes its branch, too, with commits that are nowhere else.
	Discard bool `json:"discard,omitempty"`
	// Confirm has what a 409 named in needs: uncommitted, commits, sessions (they are
	// ended), unknown.
	Confirm []string `json:"confirm,omitempty"`
}
