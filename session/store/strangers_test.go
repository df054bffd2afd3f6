package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// Whose a file is, is said by a line whose checksum is right.
func TestADamagedLineAccusesNobody(t *testing.T) {
	a, b, events, sealed := twins(t)
	_, rest, _ := strings.Cut(string(a.read(sealed[1])), "\n")
	first, _, _ := strings.Cut(string(b.read(sealed[1])), "\n")
	a.write(sealed[1], []byte(strings.Replace(first, `"time":"2`, `"time":"3`, 1)+"\n"+rest))
	require.NotContains(t, problems(t, a), "belongs to")
	o := a.open(store.Options{TailBytes: 1})
	now := readAll(t, o.log)
	for i, e := range events {
		require.NotEqual(t, event.TypeCorrupt, now[i].Type, "seq %d", e.Seq)
	}
	require.Empty(t, o.log.Health().Foreign)
	require.NoError(t, o.store.Close())
}

// Metadata that is lost with the first file of the log in another's hands is rebuilt
// from its own, and from nothing of the other.
func TestMetadataIsNotRebuiltFromAnotherSessionsFile(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, store.Options{SegmentBytes: 2000})
	var both []disk
	for _, agent := range []string{"one", "two"} {
		l, err := s.Create(context.Background(), event.SessionStart{Agent: agent, Workspace: "/" + agent})
		require.NoError(t, err)
		appendN(t, l, 60)
		both = append(both, disk{t: t, root: root, id: l.ID()})
	}
	require.NoError(t, s.Close())
	a, b := both[0], both[1]
	names, err := filepath.Glob(a.path("events-*.jsonl"))
	require.NoError(t, err)
	swap(t, a, b, filepath.Base(names[0]))
	a.withoutMetadata()
	o := a.open(store.Options{SegmentBytes: 2000})
	require.Equal(t, "one", o.log.Metadata().Agent, "as the next of its own files says")
	require.Equal(t, "/one", o.log.Metadata().Workspace)
	require.NoError(t, o.store.Close())
}

// An active file that lost its first line has the epoch of the file before it, if that
// is the log's own.
func TestAnEpochIsNotInheritedFromAnotherSession(t *testing.T) {
	a, b, _, sealed := twins(t)
	theirs := onDisk(t, b).Epoch
	swap(t, a, b, sealed[len(sealed)-1])
	lines := a.lines()
	a.setLines(lines[1:])
	a.withoutMetadata()
	o := a.open(store.Options{SegmentBytes: 2000})
	require.NotEqual(t, theirs, o.log.Epoch())
	for _, e := range readAll(t, o.log) {
		require.NotContains(t, string(e.Data), theirs)
	}
	require.NoError(t, o.store.Close())
}

// What retention had begun to remove is removed by the next start, and of another
// session's file that is there not even then.
func TestRetentionThatAKillCutShortKeepsTheFileOfAnotherSession(t *testing.T) {
	a, b, _, sealed := twins(t)
	swap(t, a, b, sealed[0])
	others := a.read(sealed[0])
	first, _ := bounds(t, a.path(sealed[2]))
	o := a.open(store.Options{SegmentBytes: 2000})
	_, err := o.log.Retain(context.Background(), 1<<20)
	require.NoError(t, err)
	require.NoError(t, o.store.Close())
	f := &faultFS{FS: store.OS()}
	f.set(func(_ int, op, name string) error {
		if op == "rename" && strings.HasPrefix(filepath.Base(name), "events-") || op == "remove" && strings.HasPrefix(filepath.Base(name), "events-") {
			return errCrashed
		}
		return nil
	})
	s, err := store.Open(a.root, store.Options{FS: f, SegmentBytes: 2000})
	require.NoError(t, err)
	l, err := s.Log(context.Background(), a.id)
	require.NoError(t, err)
	_, err = l.Retain(context.Background(), 1)
	require.ErrorIs(t, err, errCrashed)
	_ = s.Close()
	require.FileExists(t, a.path(sealed[0]))
	o = a.open(store.Options{SegmentBytes: 2000})
	require.GreaterOrEqual(t, o.log.Marks().Min, first)
	require.NoError(t, o.store.Close())
	require.NoFileExists(t, a.path(sealed[0]))
	require.Contains(t, a.quarantined(), others)
}

// A quarantine that has the file of a session under the same name already keeps both.
func TestTwoFilesOfAnotherSessionAreBothKept(t *testing.T) {
	a, b, _, _ := twins(t)
	others := b.read("events.jsonl")
	for range 2 {
		a.write("events.jsonl", others)
		o := a.open(store.Options{})
		requireAppends(t, o.log)
		require.NoError(t, o.store.Close())
	}
	require.Equal(t, [][]byte{others, others}, a.quarantined())
}

// What a line calls a session is text from a file, and becomes no path and no words.
func TestAFileOfWhatIsNoSessionIsKeptUnderNoNameOfItsOwn(t *testing.T) {
	const evil = `../../<script>`
	a, _, _, sealed := twins(t)
	body := fmt.Sprintf(`{"seq":1,"time":"2026-02-21T14:03:07.123456Z","type":"session_start","data":{"format":1,"session_id":%q,"epoch":"00000000000000aa","agent":"x","workspace":"/w"}`, evil)
	a.write(sealed[0], sealedLine(body))
	require.Contains(t, problems(t, a), "belongs to another session")
	require.NotContains(t, problems(t, a), "script")
	_, err := store.Repair(context.Background(), a.root, a.id, store.Options{})
	require.NoError(t, err)
	require.FileExists(t, a.path("quarantine/of-unknown-1-"+sealed[0]))
}

// A check says of the active file what becomes of it, and goes no further.
func TestACheckSaysWhatBecomesOfAnActiveFileOfAnotherSession(t *testing.T) {
	a, b, _, _ := twins(t)
	swap(t, a, b, "events.jsonl")
	said := problems(t, a)
	require.Contains(t, said, "it is moved to quarantine when the session is opened")
	require.Contains(t, said, "this session's own is sessions/"+b.id+"/events.jsonl")
	require.NotContains(t, said, "session_start")
}

// The whole log under another id had that one before, unless this one has files of its
// own or most are another's.
func TestOfARenamedSessionWithoutMetadataMostFilesSayWhoseItIs(t *testing.T) {
	a, b, events, sealed := twins(t)
	swap(t, a, b, sealed[1])
	c := a
	c.id = "20200101-000000-00000000"
	require.NoError(t, os.Rename(a.dir(), c.dir()))
	c.withoutMetadata()
	first, last := bounds(t, c.path(sealed[1]))
	require.Contains(t, problems(t, c), fmt.Sprintf("seq %d: start: it belongs to session %q", first, b.id))
	require.Contains(t, problems(t, c), fmt.Sprintf("session_start is of session %q", a.id))
	o := c.open(store.Options{TailBytes: 1})
	requireNothingOf(t, b, readAll(t, o.log), events, first, last)
	require.NoError(t, o.store.Close())
}

// One file of its own says that the log never had the id of the others.
func TestFilesOfAnotherSessionAreThatHoweverManyTheyAre(t *testing.T) {
	a, b, _, sealed := twins(t)
	for _, name := range append(sealed[1:], "events.jsonl") {
		swap(t, a, b, name)
	}
	a.withoutMetadata()
	for _, name := range sealed[1:] {
		require.Contains(t, problems(t, a), fmt.Sprintf("%s/%s", a.id, name))
		require.Contains(t, problems(t, a), "this session's own is sessions/"+b.id+"/"+name)
	}
	require.Equal(t, len(sealed), strings.Count(problems(t, a), fmt.Sprintf("it belongs to session %q", b.id)))
}

// A file of which the other session has one too was copied: this one's own is nowhere.
func TestACheckNamesNoOtherPlaceOfAFileThatWasCopiedOver(t *testing.T) {
	a, b, _, sealed := twins(t)
	a.write(sealed[1], b.read(sealed[1]))
	require.Contains(t, problems(t, a), fmt.Sprintf("belongs to session %q", b.id))
	require.NotContains(t, problems(t, a), "this session's own is")
}

func TestAPowerCutLosesNothingOfTheFileOfAnotherSession(t *testing.T) {
	ctx := context.Background()
	disk := newMemFS()
	opts := store.Options{FS: disk, SegmentBytes: 2000}
	s, err := store.Open("/data", opts)
	require.NoError(t, err)
	one, two := create(t, s), create(t, s)
	appendN(t, one, 30)
	appendN(t, two, 30)
	require.NoError(t, s.Close())
	path := func(l *store.Log) string { return filepath.Join("/data/sessions", l.ID(), "events.jsonl") }
	others, err := disk.ReadFile(path(two))
	require.NoError(t, err)
	disk.change(path(one), func([]byte) []byte { return others })
	_, err = store.Repair(ctx, "/data", one.ID(), opts)
	require.NoError(t, err)
	for n := range uint64(40) {
		kept := 0
		for _, data := range disk.powerCut(rand.New(rand.NewPCG(n, n))).files() {
			if data == string(others) {
				kept++
			}
		}
		require.GreaterOrEqual(t, kept, 2, "the other session's own, and what was set aside")
	}
}

func TestASearchPassesOverTheFileOfAnotherSession(t *testing.T) {
	a, b, _, sealed := twins(t)
	swap(t, a, b, "events.jsonl")
	swap(t, a, b, sealed[1])
	for name, want := range map[string]bool{"events.jsonl": true, sealed[1]: true, sealed[0]: false} {
		foreign, err := store.IsForeign(a.dir(), name)
		require.NoError(t, err)
		require.Equal(t, want, foreign, name)
	}
	// Under another id its own files are its own, as the metadata's epoch says.
	c := b
	c.id = "20200101-000000-00000000"
	require.NoError(t, os.Rename(b.dir(), c.dir()))
	c.write("metadata.json", []byte(strings.ReplaceAll(string(c.read("metadata.json")), b.id, c.id)))
	foreign, err := store.IsForeign(c.dir(), sealed[0])
	require.NoError(t, err)
	require.False(t, foreign)
}
