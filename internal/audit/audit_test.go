package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/stretchr/testify/require"
)

func TestRecordsAreNumberedWithoutGapsAcrossWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 25 {
				if audit.Open(dir).Append(audit.Record{Verb: audit.TokenMade, By: "ann", ByID: "1"}) != nil {
					t.Fail()
				}
			}
		})
	}
	group.Wait()
	records, err := audit.Open(dir).After(0, 1000)
	require.NoError(t, err)
	require.Len(t, records, 100)
	for i, r := range records {
		require.EqualValues(t, i+1, r.Seq)
		require.False(t, r.Time.IsZero())
	}
	rest, err := audit.Open(dir).After(98, 1)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	require.EqualValues(t, 99, rest[0].Seq)
	info, err := os.Stat(filepath.Join(dir, "grants.jsonl"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestALineThatACrashCutOffIsReadPast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trail := audit.Open(dir)
	require.NoError(t, trail.Append(audit.Record{Verb: audit.TokenMade}))
	f, err := os.OpenFile(filepath.Join(dir, "grants.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"seq":2,"verb":"tok`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, trail.Append(audit.Record{Verb: audit.AccessRevoked}))
	records, err := trail.After(0, 10)
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.EqualValues(t, 2, records[1].Seq)
	require.Equal(t, audit.AccessRevoked, records[1].Verb)
}

func TestTheFileIsBoundedAndItsPredecessorKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trail := audit.Open(dir)
	line := fmt.Sprintf(`{"seq":41,"verb":"token_made","detail":%q}`+"\n", strings.Repeat("x", 400))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "audit.jsonl"), []byte(strings.Repeat(line, 8<<20/len(line))), 0o600))
	for range 3 {
		require.NoError(t, trail.Append(audit.Record{Verb: audit.SignInFailed, Detail: strings.Repeat("\x00", 5000)}))
	}
	current, err := os.Stat(filepath.Join(dir, "audit.jsonl"))
	require.NoError(t, err)
	require.Less(t, current.Size(), int64(1<<20))
	records, err := trail.After(41, 10)
	require.NoError(t, err)
	require.Len(t, records, 3, "the seq must continue in the new file")
	require.EqualValues(t, 44, records[2].Seq)
}

func TestAnswersOfOneCredentialAreBoundedByTheHourAndGrantsAreNot(t *testing.T) {
	t.Parallel()
	// In memory where there is such a place: the disk of a busy machine takes minutes for two thousand records.
	dir, err := os.MkdirTemp("/dev/shm", "abide-audit-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	synctest.Test(t, func(t *testing.T) {
		trail := audit.Open(dir)
		answer := func(by string) {
			require.NoError(t, trail.Append(audit.Record{Verb: audit.PermissionAnswer, By: by, ByID: by, Detail: strings.Repeat("é", 5000)}))
		}
		for range 1500 {
			answer("collaborator")
		}
		answer("owner")
		require.NoError(t, trail.Append(audit.Record{Verb: audit.AccessRevoked, By: "collaborator", ByID: "collaborator"}))
		records, err := trail.After(0, 10_000)
		require.NoError(t, err)
		require.Len(t, records, 1000+1+1)
		require.Equal(t, strings.Repeat("é", 150), records[0].Detail)
		require.Equal(t, audit.AccessRevoked, records[1001].Verb)

		time.Sleep(time.Hour)
		answer("collaborator")
		records, err = trail.After(1002, 10_000)
		require.NoError(t, err)
		require.Len(t, records, 2)
		require.Equal(t, audit.LeftOut, records[0].Verb)
		require.Equal(t, "collaborator", records[0].ByID)
		require.Equal(t, "500 more records in the hour from 2000-01-01T00:00:00Z, the last one permission_answer", records[0].Detail)
		require.Equal(t, audit.PermissionAnswer, records[1].Verb)

		for range 1001 { // an agent asks, and the owner's rule answers
			require.NoError(t, trail.Append(audit.Record{Verb: audit.RuleAnswer, By: "owner", ByID: "owner", SessionID: "s"}))
		}
		answer("owner")
		require.NoError(t, trail.Close())
		records, err = trail.After(1002+2+1000, 10_000)
		require.NoError(t, err)
		require.Len(t, records, 2)
		require.Equal(t, audit.PermissionAnswer, records[0].Verb, "an agent's requests do not use up what its owner may write")
		require.Equal(t, "s", records[1].SessionID)
		require.Contains(t, records[1].Detail, "1 more records")
		info, err := os.Stat(filepath.Join(dir, "grants.jsonl"))
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(200))
	})
}
