package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

func TestFault20TwoHubsOnOneDirectory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	l := create(t, s)
	_, err := store.Open(dir, store.Options{})
	var locked *store.LockedError
	require.ErrorAs(t, err, &locked)
	require.Contains(t, locked.Holder, fmt.Sprintf("process %d", os.Getpid()))
	require.Contains(t, err.Error(), dir)
	requireAppends(t, l)
}

func TestFault21ALockFileOfADeadProcessIsNoLock(t *testing.T) {
	dir := t.TempDir()
	// The pid in the file is that of a live process, this one. Only the kernel's
	// lock may count.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LOCK"), fmt.Appendf(nil, "process %d on x since y\n and more", os.Getpid()), 0o600))
	s := open(t, dir, store.Options{})
	text, err := os.ReadFile(filepath.Join(dir, "LOCK"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "\n"))
	require.NotEmpty(t, s.HubID())
}

func TestFault22HugeValuesBecomeBlobsAndHugeLinesAreStillRead(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir(), store.Options{})
	l := create(t, s)
	huge := strings.Repeat("päge\n", 11<<20/6)
	_, _, err := l.Append(ctx, message(huge))
	require.NoError(t, err)
	events := readAll(t, l)
	var ref struct {
		Text event.BlobRef `json:"text"`
	}
	require.NoError(t, json.Unmarshal(events[1].Data, &ref))
	require.EqualValues(t, len(huge), ref.Text.Blob.Bytes)
	require.True(t, strings.HasPrefix(huge, ref.Text.Head))
	require.InDelta(t, 4096, len(ref.Text.Head), 4)
	p, err := events[1].Payload()
	require.NoError(t, err)
	require.EqualValues(t, ref.Text.Head, p.(event.AgentMessage).Text)
	blob, err := l.OpenBlob(ref.Text.Blob.SHA256)
	require.NoError(t, err)
	defer blob.Close()
	var kept bytes.Buffer
	_, err = kept.ReadFrom(blob)
	require.NoError(t, err)
	require.Equal(t, huge, kept.String())

	// The damaged line is longer than every limit.
	d := recorded(t, 3)
	line := fmt.Sprintf(`{"seq":4,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"method":"x","text":%q}}`+"\n", strings.Repeat("x", 3<<19))
	d.write("events.jsonl", append(d.read("events.jsonl"), line...))
	o := d.open(store.Options{})
	require.Len(t, readAll(t, o.log), 4)
	requireAppends(t, o.log)
	o.close()
}

func TestFault23ADirectoryThatCannotBeUsedSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := store.Open(file, store.Options{})
	require.ErrorContains(t, err, file)

	newer := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(newer, "hub.json"), []byte(`{"format":99,"hub_id":"aa"}`), 0o600))
	_, err = store.Open(newer, store.Options{})
	require.ErrorIs(t, err, journal.ErrFormat)

	if os.Geteuid() == 0 {
		t.Log("as root every directory can be written: the rest is left to other users")
		return
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o500))
	_, err = store.Open(filepath.Join(dir, "data"), store.Options{})
	require.ErrorIs(t, err, os.ErrPermission)
}

func TestFault24ASessionRemovedWhileOpenFailsAlone(t *testing.T) {
	ctx := context.Background()
	s, err := store.Open(t.TempDir(), store.Options{})
	require.NoError(t, err)
	gone, other := create(t, s), create(t, s)
	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir(), "sessions", gone.ID())))
	require.Eventually(t, func() bool {
		_, _, err := gone.Append(ctx, message("lost"))
		return err != nil
	}, patience, 10*time.Millisecond, "what is written goes nowhere")
	require.Equal(t, journal.HealthFrozen, gone.Health().State)
	requireAppends(t, other)
	require.NoError(t, s.Delete(ctx, gone.ID()))
	require.Len(t, s.List(), 1)
	require.NoError(t, s.Close())
}

// If the file was removed or replaced, no append may be acknowledged.
func TestFault24NothingIsAcknowledgedInALogWhoseFileWasRemoved(t *testing.T) {
	for name, remove := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".other", []byte("{}\n"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".other", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.TempDir(), store.Options{})
			require.NoError(t, err)
			l := create(t, s)
			_, _, err = l.Append(t.Context(), prompt("p1"))
			require.NoError(t, err)
			require.NoError(t, remove(filepath.Join(s.Dir(), "sessions", l.ID(), "events.jsonl")))
			_, _, err = l.Append(t.Context(), prompt("p2"))
			require.ErrorIs(t, err, journal.ErrFrozen)
			require.Contains(t, l.Health().Reason, "removed")
			require.NoError(t, s.Close(), "the file was not restored")
		})
	}
}

// hub.json may contain any text as its run id.
func TestARunIdThatCannotBeIsToldAndReplaced(t *testing.T) {
	ctx := context.Background()
	for _, id := range []string{"7fffffffffffffff", "7ffffffffffffffe", "0fffffffffffffff", "-000000000000001", "8000000000000000", "none", ""} {
		dir := t.TempDir()
		s, err := store.Open(dir, store.Options{})
		require.NoError(t, err)
		hub := s.HubID()
		l := create(t, s)
		requireAppends(t, l)
		require.NoError(t, s.Close())
		path := filepath.Join(dir, "hub.json")
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(data), s.RunID())
		require.NoError(t, os.WriteFile(path, bytes.Replace(data, []byte(s.RunID()), []byte(id), 1), 0o600))
		report, err := store.Check(ctx, dir, "")
		require.NoError(t, err)
		require.Len(t, report.Problems, 1, id)
		require.Equal(t, "hub.json", report.Problems[0].File)
		require.Contains(t, report.Problems[0].Detail, fmt.Sprintf("no run can have had the id %q", id))

		again, err := store.Open(dir, store.Options{})
		require.NoError(t, err, id)
		require.Regexp(t, "^000[0-9a-f]{13}$", again.RunID(), id)
		require.GreaterOrEqual(t, again.RunID(), s.RunID())
		require.Equal(t, hub, again.HubID())
		require.NoError(t, again.Close())
		report, err = store.Check(ctx, dir, "")
		require.NoError(t, err)
		require.Empty(t, report.Problems)
	}
}

// An agent's marker is hub id, run id and session id, separated by dots.
func TestAHubIdThatCannotBeIsReplaced(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hub.json"), []byte(`{"format":1,"hub_id":"a.b; x","last_run":{}}`), 0o600))
	s := open(t, dir, store.Options{})
	require.Regexp(t, "^[0-9a-f]{16}$", s.HubID())
}
