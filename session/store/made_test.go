package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// madeBy returns the fields of the metadata that say how a session was created.
func madeBy(m journal.Metadata) journal.Metadata {
	return journal.Metadata{
		Agent: m.Agent, Workspace: m.Workspace, ProjectRoot: m.ProjectRoot, CreatedBy: m.CreatedBy,
		RequestKey: m.RequestKey, RequestHash: m.RequestHash, CreatedAt: m.CreatedAt, Policy: m.Policy, ForkedFrom: m.ForkedFrom, Adopted: m.Adopted,
	}
}

func TestASessionKnowsWhatMadeItWithoutItsFirstFileAndItsMetadata(t *testing.T) {
	ctx := context.Background()
	withoutComplete := func(d disk) {
		files, err := filepath.Glob(d.path("events-*.jsonl"))
		require.NoError(d.t, err)
		require.NotEmpty(d.t, files)
		for _, path := range files {
			require.NoError(d.t, os.Remove(path))
		}
	}
	for name, lose := range map[string][]func(disk){
		"its metadata":                                  {nil, withoutComplete},
		"and its active file":                           {func(d disk) { require.NoError(d.t, os.Remove(d.path("events.jsonl"))) }, withoutComplete},
		"and the first line of its active file":         {func(d disk) { d.write("events.jsonl", append([]byte("x"), d.read("events.jsonl")[1:]...)) }},
		"and the first line of its first complete file": {spoilFirst},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s := open(t, root, store.Options{SegmentBytes: 2 << 10, KeepBytes: 6 << 10})
			l, err := s.Create(ctx, event.SessionStart{
				Agent: "demo", Workspace: "/w/sub", ProjectRoot: "/w", CreatedBy: "owner", RequestKey: "k1", RequestHash: "0e7c",
				Policy:     &event.Policy{Unattended: event.UnattendedDeny, WaitLimitMS: 5},
				ForkedFrom: &event.Forked{SessionID: "20260221-140307-9f3a11c0", Seq: 7},
				Adopted:    &event.Adopted{AgentSessionID: "a1"},
			})
			require.NoError(t, err)
			want := madeBy(l.Metadata())
			require.Equal(t, "demo", want.Agent)
			appendN(t, l, 200)
			require.Eventually(t, func() bool { return l.Marks().Min > 1 }, patience, 5*time.Millisecond)
			require.NoError(t, s.Close())
			d := disk{t, root, l.ID()}

			for _, lose := range lose { // the second time from the files of the first
				d.withoutMetadata()
				if lose != nil {
					lose(d)
				}
				s = open(t, root, store.Options{})
				l, err = s.Log(ctx, l.ID())
				require.NoError(t, err)
				require.Equal(t, want, madeBy(l.Metadata()))
				appendN(t, l, 1)
				require.NoError(t, s.Close())
			}
		})
	}
}

// spoilFirst damages the first line of the oldest complete file.
func spoilFirst(d disk) {
	files, err := filepath.Glob(d.path("events-*.jsonl"))
	require.NoError(d.t, err)
	require.NotEmpty(d.t, files)
	name := filepath.Base(files[0])
	d.write(name, append([]byte("x"), d.read(name)[1:]...))
}

func TestAnOldLogThatLostWhatMadeItIsReadAndCheckSaysSo(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	s := open(t, root, store.Options{SegmentBytes: 2 << 10, KeepBytes: 6 << 10})
	l, err := s.Create(ctx, event.SessionStart{}) // so that no segment_start names an agent
	require.NoError(t, err)
	appendN(t, l, 200)
	require.Eventually(t, func() bool { return l.Marks().Min > 1 }, patience, 5*time.Millisecond)
	require.NoError(t, s.Close())
	d := disk{t, root, l.ID()}
	d.withoutMetadata()

	told := func() (told int) {
		r, err := store.Check(ctx, root, "")
		require.NoError(t, err)
		for _, p := range r.Problems {
			if p.Kind == store.ProblemStart {
				require.False(t, p.Repairable)
				require.Contains(t, p.Detail, "agent")
				told++
			}
		}
		return told
	}
	require.Equal(t, 1, told())
	s = open(t, root, store.Options{})
	l, err = s.Log(ctx, l.ID())
	require.NoError(t, err)
	m := l.Marks()
	b, err := l.ReadAfter(ctx, m.Min-1, 64<<10)
	require.NoError(t, err)
	require.Equal(t, m.Min, b.First)
	require.NoError(t, s.Close())
	require.Equal(t, 1, told())
}
