package wire

// CommitBranch commits files of the workspace on the session's branch.
type CommitBranch struct {
	// Files are files and folders, relative to the workspace; all that differ there when
	// absent.
	Files   []string `json:"files,omitempty"`
	Message string   `json:"message"`
	// Confirm has what a 409 named in needs: turn (a turn is open in the folder), unsigned
	// (git is to sign commits, and projects.FOLDER.git.sign does not let the hub).
	Confirm []string `json:"confirm,omitempty"`
}

// UpdateBranch brings the commits of the base to the session's branch.
type UpdateBranch struct {
	// Method is merge or rebase. A merge without commits of its own only moves the branch.
	Method string `json:"method"`
	// Confirm has what a 409 named in needs: turn, unsigned.
	Confirm []string `json:"confirm,omitempty"`
}

// MergeBranch brings the commits of the session's branch to its base.
type MergeBranch struct {
	// Method is merge, which makes a merge commit, squash, which makes one commit of all, or
	// ff, which only moves the base.
	Method string `json:"method"`
	// Message is that of the commit. When absent, a squash has the draft and a merge git's.
	Message string `json:"message,omitempty"`
	// Confirm has what a 409 named in needs: turn, unsigned, uncommitted (files that are not
	// committed stay behind).
	Confirm []string `json:"confirm,omitempty"`
}

// PushBranch pushes the session's branch to the remote's branch of the same name.
type PushBranch struct {
	// Confirm has what a 409 named in needs: turn, uncommitted (files that are not committed
	// are not pushed).
	Confirm []string `json:"confirm,omitempty"`
}

// MakePullRequest makes a pull request of the session's branch, or asks for the page that
// does.
type MakePullRequest struct {
	// Message has the title in its first line, and the text below; the draft of a commit when
	// absent.
	Message string `json:"message,omitempty"`
	// Confirm has what a 409 named in needs: unpushed (the remote does not have the branch as
	// it is here), and turn where a program makes it.
	Confirm []string `json:"confirm,omitempty"`
}

// PullRequestPage is a page of the remote's host.
type PullRequestPage struct {
	URL string `json:"url"`
	// Made means that it is a pull request; else the page makes one.
	Made bool `json:"made"`
}

// DiscardBranch removes the session's own working copy and its branch.
type DiscardBranch struct {
	// Confirm has what a 409 named in needs: uncommitted, commits, sessions, unknown; see
	// Working copies.
	Confirm []string `json:"confirm,omitempty"`
}

// BranchPush says how a branch is pushed.
type BranchPush struct {
	// Remote is the name of the remote.
	Remote string `json:"remote"`
	// Pushed means that the remote has the branch at its commit, as far as is known here.
	Pushed bool `json:"pushed"`
	// Allowed is the project's setting that lets the hub push.
	Allowed bool `json:"allowed"`
	// PullRequests is the program that makes pull requests in this project, gh or glab; absent
	// where the page of the remote's host does.
	PullRequests string `json:"pull_requests,omitempty"`
	// Command does it by hand, in a shell.
	Command string `json:"command,omitempty"`
}

// BranchAct is what an act on a branch did.
type BranchAct struct {
	// Act is commit, update, merge or push.
	Act string `json:"act"`
	// Branch is the one that moved, from Before to After. Before is absent for the first
	// commit of a repository.
	Branch string `json:"branch"`
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
	// From is the branch that was merged.
	From string `json:"from,omitempty"`
	// Remote is the name of the one that it was pushed to: From Before to After there, as far
	// as was known here.
	Remote string `json:"remote,omitempty"`
	// Files counts those that differ.
	Files int `json:"files"`
}
