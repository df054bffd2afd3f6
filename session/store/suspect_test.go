package store_test

import (
	"bytes"
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

func TestADeviceThatFailedToSyncALogThatWasOpenedIsNotBelievedTheNextTime(t *testing.T) {
	ctx := context.Background()
	d := recorded(t, 10)
	m := d.read("metadata.json")
	i := bytes.LastIndex(m, []byte(`,"crc"`))
	d.write("metadata.json", append(m[:i:i], `,"writer":{"boot_id":"one","run_id":"x"}}`...))
	f := &faultFS{FS: store.OS()}
	s := open(t, d.root, store.Options{FS: f, BootID: "one"})
	f.set(nthOf(1, "datasync", "events.jsonl", syscall.EIO))
	before, err := os.Stat(d.path("events.jsonl"))
	require.NoError(t, err)
	_, err = s.Log(ctx, d.id)
	require.ErrorIs(t, err, syscall.EIO)
	require.True(t, onDisk(t, d).Frozen, "a kill now loses nothing of that")
	l, err := s.Log(ctx, d.id)
	require.NoError(t, err)
	require.Equal(t, store.HealthOK, l.Health().State)
	after, err := os.Stat(d.path("events.jsonl"))
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after), "the log goes on in a fresh file")
	requireAppends(t, l)
}
