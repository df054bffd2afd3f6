package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/abidehub/abide/internal/audit"
	"github.com/stretchr/testify/require"
)

func TestRecordsAreNumberedWithoutGapsAcrossWriters(t *testing.T) {
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
	info, err := os.Stat(filepath.Join(dir, "audit.jsonl"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestALineThatACrashCutOffIsReadPast(t *testing.T) {
	dir := t.TempDir()
	trail := audit.Open(dir)
	require.NoError(t, trail.Append(audit.Record{Verb: audit.TokenMade}))
	f, err := os.OpenFile(filepath.Join(dir, "audit.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
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
