package wire

import (
	"time"

	"github.com/abidehub/abide/session/event"
)

// Folder is a folder in which a session may run.
type Folder struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Branch is the branch of the repository that the folder is a worktree of.
	Branch string `json:"branch,omitempty"`
	// Repository means that the folder is a repository's worktree.
	Repository bool `json:"repository"`
}

// FolderContent is a folder below one of those that sessions may run in.
type FolderContent struct {
	Folder
	// Parent is absent for the topmost one that may be shown.
	Parent  string   `json:"parent,omitempty"`
	Folders []Folder `json:"folders"`
	// LeftOut counts the folders that are not listed.
	LeftOut int `json:"left_out,omitempty"`
}

// NewFolder names a folder to be made.
type NewFolder struct {
	Path string `json:"path"`
}

// FolderPlace says whether sessions may run in a folder.
type FolderPlace struct {
	Path string `json:"path"`
	// Shown is the path for people, with ~ for the home directory.
	Shown string `json:"shown"`
	// Allowed means that sessions may run there.
	Allowed bool `json:"allowed"`
	// Repository means that it is in a git repository, so that a session there can have a
	// worktree.
	Repository bool `json:"repository,omitempty"`
	// MayAllow means that POST /api/folder/allow can allow it.
	MayAllow bool `json:"may_allow,omitempty"`
	// Why is the reason if sessions may not run there.
	Why string `json:"why,omitempty"`
}

// FileKind is the kind of a directory entry.
type FileKind string

const (
	KindFolder FileKind = "folder"
	KindFile   FileKind = "file"
	KindLink   FileKind = "link"
	KindOther  FileKind = "other"
)

// Values lists the set.
func (FileKind) Values() []string { return []string{"folder", "file", "link", "other"} }

// FileEntry is one name in a folder.
type FileEntry struct {
	Name string   `json:"name"`
	Kind FileKind `json:"kind"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// Unreadable means that the name is no UTF-8, which JSON cannot carry.
	Unreadable bool `json:"unreadable,omitempty"`
}

// FileList is a folder of a workspace.
type FileList struct {
	Path    string      `json:"path"`
	Entries []FileEntry `json:"entries"`
	// LeftOut counts the entries that are not listed.
	LeftOut int `json:"left_out,omitempty"`
}

// Completions are the files that match the typed text, the best first.
type Completions struct {
	Paths []string `json:"paths"`
}

// ChangedFile is a file that differs from the commit.
type ChangedFile struct {
	// Path is relative to the folder.
	Path string `json:"path"`
	// Code is git's two letters: index and worktree; "??" is untracked.
	Code string `json:"code"`
}

// Changes is where a folder's repository stands.
type Changes struct {
	// Repository is false if there is none; then the rest is empty.
	Repository bool          `json:"repository"`
	Branch     string        `json:"branch,omitempty"`
	Commit     string        `json:"commit,omitempty"`
	Files      []ChangedFile `json:"files"`
	LeftOut    int           `json:"left_out,omitempty"`
	// Unknown is the reason if the changed files are not known.
	Unknown string `json:"unknown,omitempty"`
	// NewPullRequest is the page of a known host that opens one for the branch.
	NewPullRequest string `json:"new_pull_request,omitempty"`
}

// Branch is the state of the branch of a session's repository.
type Branch struct {
	// Repository is false if there is none; then the rest is empty.
	Repository bool `json:"repository"`
	// Branch is absent where HEAD is a commit.
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Base is the branch that it comes from, or else the repository's main one; absent if
	// that is a commit. BaseCommit is where it is now; absent if there is no base.
	Base       string `json:"base,omitempty"`
	BaseCommit string `json:"base_commit,omitempty"`
	// Compared means that Ahead and Behind are known: the commits that only the branch has,
	// and those that only the base has.
	Compared bool `json:"compared"`
	Ahead    int  `json:"ahead"`
	Behind   int  `json:"behind"`
	// Merged means that the base has all changes of the branch, though perhaps not its commits:
	// it was merged or squashed. A merge of its commits that added nothing since is not counted
	// as conflicts.
	Merged bool `json:"merged,omitempty"`
	// Uncommitted counts files, and untracked folders as one.
	Uncommitted int `json:"uncommitted"`
	// Conflicts are the files, at most 100, that would conflict if the base was merged now.
	Conflicts        []string `json:"conflicts"`
	ConflictsLeftOut int      `json:"conflicts_left_out,omitempty"`
	// ConflictsUnknown is the reason if they are not known.
	ConflictsUnknown string `json:"conflicts_unknown,omitempty"`
	// Remote is where the repository comes from, without user and password, and Web its
	// page.
	Remote string `json:"remote,omitempty"`
	Web    string `json:"web,omitempty"`
	// NewPullRequest is the page of a known host that opens one for the branch.
	NewPullRequest string `json:"new_pull_request,omitempty"`
	// Push says how it is pushed; absent without a branch or a remote.
	Push *BranchPush `json:"push,omitempty"`
	// Worktree is the session's own copy; absent if it has none.
	Worktree *event.Worktree `json:"worktree,omitempty"`
	// Unknown is the reason if the counts are not known.
	Unknown string `json:"unknown,omitempty"`
	// Signing says what a commit gets that is made here, where git is to sign commits: signed,
	// by the owner's git (projects.FOLDER.git.sign), or unsigned, which is confirmed. Absent
	// where git does not sign.
	Signing string `json:"signing,omitempty"`
	// Acts are those that this client may do: commit, update, merge, push.
	Acts []string `json:"acts"`
	// Draft is a message for a commit or a squash, from the first prompt since the latest
	// commit and the agent's last words.
	Draft string `json:"draft,omitempty"`
	// CheckedAt is when this was found. It is at most some seconds old.
	CheckedAt time.Time `json:"checked_at,omitzero"`
}

// FileChange is a file in the commit and as it is now, each side a text of at most
// 2 MiB.
type FileChange struct {
	// Before is its text in the commit, absent if the commit has no such file.
	Before *string `json:"before,omitempty"`
	// After is its present text, absent if there is no such file.
	After *string `json:"after,omitempty"`
	// Unknown is the reason if the texts are not known; then both are absent.
	Unknown string `json:"unknown,omitempty"`
}
