package session_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/branch"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// signs has the person's git sign with a key of ssh, and lets the hub do so. It returns the
// file that names who may sign.
func (c copied) signs(t *testing.T) (allowed string) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	named(t, c.project)
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput()
	require.NoError(t, err, string(out))
	public, err := os.ReadFile(key + ".pub")
	require.NoError(t, err)
	allowed = filepath.Join(dir, "allowed")
	put(t, dir, "allowed", "ada@example.org "+string(public))
	// In a file that the person's includes: only git itself reads it.
	put(t, dir, "signing", "[commit]\n gpgSign = true\n[gpg]\n format = ssh\n[user]\n signingKey = "+key+"\n[gpg \"ssh\"]\n allowedSignersFile = "+allowed+"\n")
	put(t, dir, "config", "[include]\n path = signing\n")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "config"))
	c.allowSigning(t)
	return allowed
}

func (c copied) allowSigning(t *testing.T) {
	t.Helper()
	now := *c.manager.Settings()
	now.Git = map[string]settings.Git{c.project: {Sign: true}}
	require.NoError(t, c.manager.Configure(now))
}

// With the owner's setting git signs what the hub commits, merges, squashes and rebases, by
// the person's configuration.
func TestTheOwnersGitSignsWhereTheOwnerLetsIt(t *testing.T) {
	c := newCopied(t)
	allowed := c.signs(t)
	folder := c.one.Info().Workspace
	do := func(r branch.Request) string {
		t.Helper()
		r.Actor = person("bob")
		made, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
		require.NoError(t, err)
		return made.After
	}
	signed := func(commit string) {
		t.Helper()
		require.Equal(t, "G ada@example.org", runGit(t, c.project, "-c", "gpg.ssh.allowedSignersFile="+allowed, "log", "-1", "--format=%G? %GS", commit))
	}
	runGit(t, folder, "config", "user.name", "Ada") // said here, as git includes another file
	put(t, folder, "a", "a")
	signed(do(branch.Request{Act: branch.Commit, Message: "a"}))
	put(t, folder, "b", "b")
	signed(do(branch.Request{Act: branch.Commit, Message: "b"}))
	put(t, c.project, "ours", "of main")
	runGit(t, c.project, "add", "ours")
	runGit(t, c.project, "commit", "-q", "-m", "ours")
	last := do(branch.Request{Act: branch.Update, Method: "rebase"})
	signed(last)
	signed(last + "~1")
	signed(do(branch.Request{Act: branch.Merge, Method: "merge"}))
	put(t, folder, "c", "c")
	do(branch.Request{Act: branch.Commit, Message: "c"})
	signed(do(branch.Request{Act: branch.Merge, Method: "squash"}))
	require.Empty(t, runGit(t, c.project, "status", "--porcelain"))
	runGit(t, c.project, "fsck", "--strict")

	runGit(t, folder, "config", "commit.gpgSign", "false")
	put(t, folder, "d", "d")
	unsigned := do(branch.Request{Act: branch.Commit, Message: "d"})
	require.Equal(t, "N", runGit(t, c.project, "log", "-1", "--format=%G?", unsigned), "git is not to sign here")
}

func TestACommitThatCannotBeSignedChangesNothingAndSaysWhy(t *testing.T) {
	c := newCopied(t)
	named(t, c.project)
	c.allowSigning(t)
	folder, dir := c.one.Info().Workspace, t.TempDir()
	put(t, dir, "gpg", "#!/bin/sh\necho 'gpg: no pinentry' >&2\nexit 2\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "gpg"), 0o755))
	runGit(t, c.project, "config", "commit.gpgSign", "true")
	runGit(t, c.project, "config", "gpg.program", filepath.Join(dir, "gpg"))
	put(t, folder, "a", "a")
	before := runGit(t, folder, "rev-parse", "HEAD")
	r := branch.Request{Act: branch.Commit, Message: "a", Key: "k", Actor: person("bob")}
	_, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "git did not sign the commit, so nothing was changed")
	require.ErrorContains(t, err, "gpg failed to sign the data")
	require.False(t, strings.Contains(err.Error(), "\n"))
	require.Equal(t, before, runGit(t, folder, "rev-parse", "HEAD"))
	require.Equal(t, "?? a", runGit(t, folder, "status", "--porcelain"))
	notes, _ := actNotes(t, c.one)
	require.Empty(t, notes)
	runGit(t, c.project, "config", "commit.gpgSign", "false")
	_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.NoError(t, err, "the same request completes it")
}
