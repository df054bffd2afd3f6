package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// requireSound requires that a check of the data directory finds nothing.
func requireSound(t testing.TB, root string) store.Report {
	t.Helper()
	r, err := store.Check(context.Background(), root, "")
	require.NoError(t, err)
	for _, p := range r.Problems {
		t.Error(p)
	}
	return r
}

// kinds returns the kinds of problems that a check finds.
func kinds(t testing.TB, d disk) []string {
	t.Helper()
	r, err := store.Check(context.Background(), d.root, d.id)
	require.NoError(t, err)
	var all []string
	for _, p := range r.Problems {
		require.NotEmpty(t, p.String())
		all = append(all, p.Kind)
	}
	return all
}

func TestCheckFindsNothingInASoundDirectory(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	s := open(t, root, store.Options{SegmentBytes: 4096})
	l := create(t, s)
	appendN(t, l, 100)
	_, _, err := l.Append(ctx, message(strings.Repeat("long", 100<<10)))
	require.NoError(t, err)
	require.NoError(t, l.FlushMetadata(ctx))
	beside := requireSound(t, root)
	require.NoError(t, s.Close())
	after := requireSound(t, root)
	require.Equal(t, beside, after, "a check beside a running hub found something else")
	require.EqualValues(t, l.Marks().Visible, after.Events)
}

func TestCheckWorksBesideAHubThatIsWriting(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, store.Options{SegmentBytes: 32 << 10})
	l := create(t, s)
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		for {
			if _, _, err := l.Append(context.Background(), message("more")); err != nil {
				done <- err
				return
			}
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
		}
	}()
	for range 30 {
		requireSound(t, root)
	}
	close(stop)
	require.NoError(t, <-done)
}

func TestCheckBesideAHubNamesALostBlobOfAnEventAfterTheCheckpoint(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	l := create(t, open(t, root, store.Options{}))
	require.NoError(t, l.FlushMetadata(ctx))
	dir := filepath.Join(root, "sessions", l.ID())
	checkpoint, err := os.ReadFile(filepath.Join(dir, "metadata.json"))
	require.NoError(t, err)
	_, _, err = l.Append(ctx, message(strings.Repeat("long", 100<<10)))
	require.NoError(t, err)
	require.NoError(t, l.FlushMetadata(ctx))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "metadata.json"), checkpoint, 0o600)) // as before the flush
	requireSound(t, root)
	file, err := os.OpenFile(filepath.Join(dir, "events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"seq":3,"time":"2026-02-2`) // a write in progress
	require.NoError(t, errors.Join(err, file.Close()))
	requireSound(t, root)

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "blobs")))
	report, err := store.Check(ctx, root, "")
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	require.Equal(t, store.ProblemBlob, report.Problems[0].Kind)
	require.EqualValues(t, 2, report.Problems[0].Seq)
}

func TestCheckNamesEachKindOfDamage(t *testing.T) {
	for kind, damage := range map[string]func(d disk){
		store.ProblemTorn:   func(d disk) { d.write("events.jsonl", append(d.read("events.jsonl"), "{"...)) },
		store.ProblemHole:   func(d disk) { l := d.lines(); d.setLines(append(l[:3:3], l[4:]...)) },
		store.ProblemRepeat: func(d disk) { l := d.lines(); d.setLines(append(l, l[4])) },
		store.ProblemUnverified: func(d disk) {
			d.write("events.jsonl", bytes.Replace(d.read("events.jsonl"), []byte("text 3"), []byte("text X"), 1))
		},
		store.ProblemDamaged:  func(d disk) { l := d.lines(); l[3][0] = '['; d.setLines(l) },
		store.ProblemStart:    func(d disk) { l := d.lines(); l[0][0] = '['; d.setLines(l) },
		store.ProblemMode:     func(d disk) { require.NoError(t, os.Chmod(d.path("metadata.json"), 0o644)) },
		store.ProblemMetadata: func(d disk) { d.setLines(d.lines()[:8]) },
		store.ProblemUnreadable: func(d disk) {
			require.NoError(t, os.Remove(d.path("events.jsonl")))
			require.NoError(t, os.Mkdir(d.path("events.jsonl"), 0o700))
		},
		store.ProblemBlob: func(d disk) {
			o := d.open(store.Options{})
			_, _, err := o.log.Append(context.Background(), message(strings.Repeat("x", 300<<10)))
			require.NoError(t, err)
			require.NoError(t, o.store.Close())
			blobs, err := os.ReadDir(d.path("blobs"))
			require.NoError(t, err)
			require.NoError(t, os.Truncate(d.path("blobs/"+blobs[0].Name()), 5))
		},
	} {
		t.Run(kind, func(t *testing.T) {
			d := recorded(t, 10)
			require.Empty(t, kinds(t, d))
			damage(d)
			before := snapshotDir(t, d.dir())
			require.Contains(t, kinds(t, d), kind)
			require.Equal(t, before, snapshotDir(t, d.dir()), "a check changed a file")
		})
	}
}

func TestALineBehindAHigherSeqDoesNotCount(t *testing.T) {
	d := recorded(t, 10)
	lines := d.lines()
	d.setLines([][]byte{lines[0], lines[1], lines[2], lines[5], lines[3], lines[4], lines[6], lines[7], lines[8], lines[9]})
	require.Equal(t, []string{store.ProblemHole, store.ProblemRepeat, store.ProblemRepeat}, kinds(t, d))
	d.withoutMetadata() // otherwise a matching checkpoint is trusted
	o := d.open(store.Options{})
	require.EqualValues(t, 2, o.log.Health().Conflicts)
	require.EqualValues(t, 2, o.log.Health().Holes)
	o.close()
}

// The last line of the file may be invalid, and the checkpoint is after it.
func TestRepairFindsNothingToDoTheSecondTime(t *testing.T) {
	ctx := context.Background()
	other := recorded(t, 10).lines()
	for name, damage := range map[string]func(d disk){
		"a line again":            func(d disk) { l := d.lines(); d.setLines(append(l, l[4])) },
		"another line of its seq": func(d disk) { d.setLines(append(d.lines(), other[6])) },
		"its last line doubled":   func(d disk) { l := d.lines(); d.setLines(append(l, l[9])) },
		"a late line":             func(d disk) { l := d.lines(); d.setLines(append(l[:5:5], append(l[6:10:10], l[5])...)) },
		"edited to its very length": func(d disk) {
			d.write("events.jsonl", bytes.Replace(d.read("events.jsonl"), []byte("text 3"), []byte("text X"), 1))
		},
		"a checkpoint elsewhere": func(d disk) { d.setLines(append([][]byte{[]byte("what\n")}, d.lines()...)) },
	} {
		for _, meta := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				d := recorded(t, 10)
				damage(d)
				if !meta {
					d.withoutMetadata()
				}
				_, err := store.Repair(ctx, d.root, d.id, store.Options{})
				require.NoError(t, err)
				repaired := snapshotDir(t, d.dir())
				r, err := store.Repair(ctx, d.root, d.id, store.Options{})
				require.NoError(t, err)
				require.Empty(t, r.Actions)
				require.Equal(t, repaired, snapshotDir(t, d.dir()))
			})
		}
	}
}

func TestCheckRefusesIDsThatAreNone(t *testing.T) {
	d := recorded(t, 2)
	_, err := store.Check(context.Background(), d.root, "../../etc")
	require.ErrorIs(t, err, journal.ErrInvalidID)
	_, err = store.Check(context.Background(), d.root, "20260101-000000-00000000")
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func TestRepairRepairsWhatCanBeRepairedAndSaysSo(t *testing.T) {
	ctx := context.Background()
	d := recorded(t, 10)
	d.write("events.jsonl", append(d.read("events.jsonl"), "torn"...))
	d.withoutMetadata()
	r, err := store.Repair(ctx, d.root, d.id, store.Options{})
	require.NoError(t, err)
	require.Len(t, r.Actions, 2)
	require.EqualValues(t, 10, r.Events)
	requireSound(t, d.root)
	r, err = store.Repair(ctx, d.root, "", store.Options{})
	require.NoError(t, err)
	require.Empty(t, r.Actions, "the second repair found something to do")

	s := open(t, d.root, store.Options{})
	_, err = store.Repair(ctx, d.root, "", store.Options{})
	var locked *store.LockedError
	require.ErrorAs(t, err, &locked)
	require.Len(t, s.List(), 1)
	_, err = store.Repair(ctx, t.TempDir(), "", store.Options{})
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func TestDamageOfOneSessionStopsNoOther(t *testing.T) {
	d := recorded(t, 10)
	require.NoError(t, os.RemoveAll(d.path("events.jsonl")))
	require.NoError(t, os.Mkdir(d.path("events.jsonl"), 0o700))
	s := open(t, d.root, store.Options{})
	_, err := s.Log(context.Background(), d.id)
	require.Error(t, err)
	require.Len(t, s.List(), 1, "the session is not listed")
	other := create(t, s)
	requireAppends(t, other)
	require.NoError(t, s.Delete(context.Background(), d.id), "the session cannot be deleted")
	require.Equal(t, []event.Type{event.TypeSessionStart, event.TypeAgentMessage}, types(readAll(t, other)))
}

func TestCheckNotesMetadataThatOnlyLagsAfterAKill(t *testing.T) {
	d := recorded(t, 10)
	old := filepath.Join(t.TempDir(), "old")
	require.NoError(t, os.Link(d.path("metadata.json"), old)) // the same inode, as a kill leaves it
	o := d.open(store.Options{})
	appendN(t, o.log, 5)
	o.close()
	require.NoError(t, os.Rename(old, d.path("metadata.json")))
	r, err := store.Check(context.Background(), d.root, d.id)
	require.NoError(t, err)
	require.Empty(t, r.Problems)
	require.Len(t, r.Notes, 1)
	require.True(t, r.OK())
	d.setLines(append([][]byte{[]byte("what\n")}, d.lines()...))
	require.Contains(t, kinds(t, d), store.ProblemMetadata, "the metadata gives a wrong place of the last line")
}

func TestAPipeWhereAFileMustBeStopsNeitherCheckNorTheHub(t *testing.T) {
	for _, name := range []string{"metadata.json", "labels.json", "queue.json", "events.jsonl"} {
		t.Run(name, func(t *testing.T) {
			d := recorded(t, 10)
			require.NoError(t, os.RemoveAll(d.path(name)))
			require.NoError(t, syscall.Mkfifo(d.path(name), 0o600))
			done := make(chan []string, 1)
			go func() { done <- kinds(t, d) }()
			select {
			case found := <-done:
				require.Contains(t, found, store.ProblemStray)
			case <-time.After(patience):
				t.Fatal("check waits for a pipe")
			}
			s := open(t, d.root, store.Options{})
			if l, err := s.Log(context.Background(), d.id); name == "queue.json" {
				require.NoError(t, err)
				require.Len(t, readAll(t, l), 10)
			} else {
				require.ErrorContains(t, err, "not a regular file")
			}
		})
	}
}

// The store refuses to read a directory in place of a file. A check must report it.
func TestADirectoryWhereAFileMustBeIsTold(t *testing.T) {
	d := recorded(t, 3)
	for _, name := range []string{"LOCK", "hub.json", "hub.addr", "auth.json", "auth.lock", "read.json", "rules.json"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(d.root, name)
			was, err := os.ReadFile(path)
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, os.Mkdir(path, 0o700))
			r, checked := store.Check(context.Background(), d.root, "")
			require.NoError(t, checked)
			require.Len(t, r.Problems, 1)
			require.Equal(t, name, r.Problems[0].File)
			require.NoError(t, os.Remove(path))
			if err == nil {
				require.NoError(t, os.WriteFile(path, was, 0o600))
			}
		})
	}
	for _, name := range []string{"metadata.json", "labels.json", "ledger.jsonl", "events.jsonl"} {
		t.Run(name, func(t *testing.T) {
			d := recorded(t, 3)
			require.NoError(t, os.RemoveAll(d.path(name)))
			require.NoError(t, os.Mkdir(d.path(name), 0o700))
			r, err := store.Check(context.Background(), d.root, d.id)
			require.NoError(t, err)
			require.NotEmpty(t, r.Problems)
			for _, p := range r.Problems {
				require.Contains(t, p.String(), name)
			}
		})
	}
}

func TestSessionsMayLieElsewhere(t *testing.T) {
	d := recorded(t, 3)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	sessions := filepath.Join(d.root, "sessions")
	require.NoError(t, os.Rename(sessions, elsewhere))
	require.NoError(t, os.Symlink(elsewhere, sessions))
	requireSound(t, d.root)
	require.NoError(t, os.Chmod(elsewhere, 0o755))
	r, err := store.Check(context.Background(), d.root, "")
	require.NoError(t, err)
	require.Len(t, r.Problems, 1)
	require.Equal(t, store.ProblemMode, r.Problems[0].Kind)
}

func TestACheckOfALogWithoutItsActiveFileReadsTheOthers(t *testing.T) {
	ctx := context.Background()
	d, _, sealed := inFiles(t)
	require.NoError(t, os.Remove(d.path("events.jsonl")))
	r, err := store.Check(ctx, d.root, d.id)
	require.NoError(t, err)
	_, last := bounds(t, sealed[len(sealed)-1])
	require.EqualValues(t, last, r.Events)
	require.Equal(t, []string{store.ProblemStart, store.ProblemHole, store.ProblemMetadata}, kinds(t, d))
	for _, p := range r.Problems {
		require.Equal(t, p.Kind != store.ProblemHole, p.Repairable, p.String())
	}
	_, err = store.Repair(ctx, d.root, d.id, store.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{store.ProblemHole}, kinds(t, d))
}

// gonePast removes a file, as the retention of a running hub does, right after a
// check has listed it.
type gonePast struct {
	store.FS
	name string
	left int // how often the file is opened before
	gone func()
}

func (f *gonePast) Open(name string) (store.File, error) {
	if filepath.Base(name) == f.name {
		if f.left--; f.left < 0 && f.gone != nil {
			f.gone()
			f.gone = nil
		}
	}
	return f.FS.Open(name)
}

func TestAFileThatRetentionRemovesUnderACheckIsNoProblem(t *testing.T) {
	for name, early := range map[string]bool{"before it is opened": false, "before it is listed": true} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			d, _, sealed := inFiles(t)
			hub := d.open(store.Options{SegmentBytes: 2000})
			f := &gonePast{FS: store.OS(), name: filepath.Base(sealed[0])}
			if early {
				f.name, f.left = "events.jsonl", 1 // the metadata was read first
			}
			f.gone = func() {
				_, err := hub.log.Retain(ctx, 4000)
				require.NoError(t, err)
				require.NoFileExists(t, sealed[0])
			}
			r, err := store.CheckOn(ctx, f, d.root, d.id)
			require.NoError(t, err)
			require.Nil(t, f.gone)
			require.Empty(t, r.Problems)
		})
	}
}
