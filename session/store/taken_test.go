package store_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// taking are a person's changes to the file of an open session.
var taking = map[string]func(path string) error{
	"removed": os.Remove,
	"replaced as an editor does": func(path string) error {
		if err := os.WriteFile(path+".other", []byte("edited\n"), 0o600); err != nil {
			return err
		}
		return os.Rename(path+".other", path)
	},
	"renamed, with another in its place": func(path string) error {
		if err := os.Rename(path, path+"~"); err != nil {
			return err
		}
		return os.WriteFile(path, []byte("edited\n"), 0o600)
	},
	"moved away": func(path string) error { return os.Rename(path, path+".bak") },
}

// taken opens a session with ten events and applies take to its file.
func taken(t testing.TB, idle bool, take func(path string) error) (d disk, o opened, before []event.Event) {
	t.Helper()
	d = recorded(t, 10)
	o = d.open(store.Options{TailBytes: 1})
	if !idle {
		_, _, err := o.log.Append(t.Context(), prompt("awake"))
		require.NoError(t, err)
	}
	before = readAll(t, o.log)
	require.NoError(t, take(d.path("events.jsonl")))
	return d, o, before
}

func TestALogWhoseFileWasTakenIsPutBackByReopening(t *testing.T) {
	for name, take := range taking {
		for state, idle := range map[string]bool{"idle": true, "awake": false} {
			t.Run(name+"/"+state, func(t *testing.T) {
				d, o, before := taken(t, idle, take)
				epoch := o.log.Epoch()
				_, _, err := o.log.Append(t.Context(), prompt("into nothing"))
				require.ErrorIs(t, err, journal.ErrFrozen)
				require.NotEmpty(t, o.log.Health().Taken)
				require.Contains(t, o.log.Health().Reason, "removed or replaced while the hub had it open")
				require.NoError(t, o.log.Reopen(t.Context()))
				require.Equal(t, journal.Health{State: journal.HealthOK}, o.log.Health())
				require.Equal(t, epoch, o.log.Epoch())
				_, last, err := o.log.Append(t.Context(), prompt("kept"))
				require.NoError(t, err)
				now := readAll(t, o.log)
				require.Equal(t, before, now[:len(before)])
				require.Equal(t, last, now[len(now)-1].Seq)
				requireStanding(t, d, name)
				d = o.close()
				o = d.open(store.Options{})
				require.Equal(t, now, readAll(t, o.log))
				require.Equal(t, epoch, o.log.Epoch())
				o.close()
			})
		}
	}
}

// requireStanding requires that the file that replaced the log is kept.
func requireStanding(t testing.TB, d disk, name string) {
	t.Helper()
	if name == "removed" || name == "moved away" {
		return
	}
	require.Contains(t, d.quarantined(), []byte("edited\n"))
}

// A hub that shuts down holds the last copy.
func TestAHubThatEndsLeavesTheLastCopyBehind(t *testing.T) {
	for name, take := range taking {
		for state, noticed := range map[string]bool{"noticed": true, "unnoticed": false} {
			t.Run(name+"/"+state, func(t *testing.T) {
				d, o, before := taken(t, true, take)
				if noticed {
					_, _, err := o.log.Append(t.Context(), prompt("into nothing"))
					require.ErrorIs(t, err, journal.ErrFrozen)
				}
				require.NoError(t, o.store.Close())
				o = d.open(store.Options{})
				require.Equal(t, before, readAll(t, o.log)[:len(before)])
				requireStanding(t, d, name)
				requireAppends(t, o.log)
				o.close()
			})
		}
	}
}

// A crash may leave a finished copy before its rename. The next opening finds it.
func TestACopyThatAKillLeftAsideIsTheLog(t *testing.T) {
	d := recorded(t, 10)
	require.NoError(t, os.Rename(d.path("events.jsonl"), d.path(".events-next.jsonl")))
	o := d.open(store.Options{})
	require.Len(t, slices.DeleteFunc(readAll(t, o.log), func(e event.Event) bool { return e.Type != event.TypeAgentMessage }), 9)
	o.close()
}
