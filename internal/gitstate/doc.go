// Package gitstate tells where a workspace's git repository stands, and runs no
// program that the workspace names.
//
// A repository's configuration may name programs: filters, hooks, a file system
// monitor, diff and merge drivers, transports. So branch and commit are read from
// files (Find, Repository.Head). Where files do not say enough, git runs through
// Git.Run only. It has a minimal environment, no system and no user configuration,
// and each program that the repository's configuration names is replaced, also one
// named in an included file, a worktree's or a submodule's configuration.
//
// The filters are off, so a file that a filter changes (git-lfs, git-crypt) may be
// listed as modified.
package gitstate
