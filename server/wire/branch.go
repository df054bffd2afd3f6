package wire

// CommitBranch commits files of the workspace on the session's branch.
type CommitBranch struct {
	// Files are files and folders, relative to the workspace; all that differ there when
	// absent.
	Files   []string `json:"files,omitempty"`
	Message string   `json:"message"`
	// Confirm has what a 409 named in needs: turn (a turn is open in the folder), unsigned
	// (git is to sign commits, and the hub does not).
	Confirm []string `json:"confirm,omitempty"`
}

// BranchAct is what an act on a branch did.
type BranchAct struct {
	// Act is commit, update or merge.
	Act string `json:"act"`
	// Branch is the one that moved, from Before to After. Before is absent for the first
	// commit of a repository.
	Branch string `json:"branch"`
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
	// From is the branch that was merged.
	From string `json:"from,omitempty"`
	// Files counts those that differ.
	Files int `json:"files"`
}
