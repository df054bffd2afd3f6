// Package gitstate tells where a workspace's git repository stands, writes the files of
// its commits, and runs no program that the workspace names.
//
// A repository's configuration may name programs: filters, hooks, a file system
// monitor, diff and merge drivers, transports. So branch and commit are read from
// files (Find, Repository.Head). Where files do not say enough, git runs with a git
// directory in the repository's place, whose configuration the hub wrote (standIn). git
// reads no configuration of the repository, the system or the user, and checks nothing
// out.
//
// There are no filters, so a file that a filter changes (git-lfs, git-crypt) may be
// listed as modified.
package gitstate
