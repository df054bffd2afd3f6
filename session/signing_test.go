package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/branch"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// signs has the person's git sign, and lets the hub do so. The signature is the name of the
// object that was signed.
func (c copied) signs(t *testing.T) {
	t.Helper()
	named(t, c.project)
	dir := t.TempDir()
	put(t, dir, "gpg", "#!/bin/sh\necho '[GNUPG:] SIG_CREATED ' >&2\necho '-----BEGIN PGP SIGNATURE-----'\ngit hash-object --stdin\necho '-----END PGP SIGNATURE-----'\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "gpg"), 0o755))
	// In a file that the person's includes: only git itself reads it.
	put(t, dir, "signing", "[commit]\n gpgSign = true\n[gpg]\n program = "+filepath.Join(dir, "gpg")+"\n")
	put(t, dir, "config", "[include]\n path = signing\n")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "config"))
}

// isSigned reports whether a commit has a signature, which must be of it.
func (c copied) isSigned(t *testing.T, commit string) bool {
	t.Helper()
	var text strings.Builder
	signature, in := "", false
	for line := range strings.Lines(runGit(t, c.project, "cat-file", "commit", commit) + "\n") {
		in = strings.HasPrefix(line, "gpgsig") || in && strings.HasPrefix(line, " ")
		switch {
		case !in:
			text.WriteString(line)
		case !strings.Contains(line, "-----"):
			signature = strings.TrimSpace(line)
		}
	}
	if signature != "" {
		put(t, c.project, ".git/text", text.String())
		require.Equal(t, runGit(t, c.project, "hash-object", ".git/text"), signature)
	}
	return signature != ""
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
	c.signs(t)
	c.allowSigning(t)
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
		require.True(t, c.isSigned(t, commit))
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
	require.False(t, c.isSigned(t, unsigned), "git is not to sign here")
}

// Without the setting, what git alone reads counts, too.
func TestACommitThatGitWouldSignIsConfirmedWhereverTheConfigurationSaysIt(t *testing.T) {
	c := newCopied(t)
	c.signs(t)
	folder := c.one.Info().Workspace
	runGit(t, folder, "config", "user.name", "Ada") // said here, as git includes another file
	put(t, folder, "a", "a")
	r := branch.Request{Act: branch.Commit, Message: "a", Actor: person("bob")}
	before := runGit(t, folder, "rev-parse", "HEAD")
	_, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.Equal(t, []string{branch.NeedUnsigned}, needsOf(t, err))

	runGit(t, folder, "config", "commit.gpgSign", "perhaps")
	_, err = c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "git does not read its configuration, so nothing was changed: fatal: bad boolean config value 'perhaps'")
	require.Equal(t, before, runGit(t, folder, "rev-parse", "HEAD"))

	runGit(t, folder, "config", "--unset", "commit.gpgSign")
	r.Confirm = []string{branch.NeedUnsigned}
	made, err := c.manager.ActOnBranch(ctxOf(t), c.one.ID(), r)
	require.NoError(t, err)
	require.False(t, c.isSigned(t, made.After))
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
