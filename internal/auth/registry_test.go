package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
)

// clock is a clock that the test advances. It is safe for concurrent use.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

func open(t *testing.T, dir string, c *clock) *auth.Registry {
	t.Helper()
	r, err := auth.Open(dir, slog.New(slog.DiscardHandler), c.now)
	require.NoError(t, err)
	return r
}

func pair(t *testing.T, r *auth.Registry, name string) (string, auth.Grant) {
	t.Helper()
	code, err := r.MintPairingCode()
	require.NoError(t, err)
	secret, grant, err := r.Redeem(code, name, "")
	require.NoError(t, err)
	return secret, grant
}

func TestPairingCodeIsSpentOnce(t *testing.T) {
	r := open(t, t.TempDir(), newClock())
	code, err := r.MintPairingCode()
	require.NoError(t, err)

	var won atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, _, err := r.Redeem(code, "phone", ""); err == nil {
				won.Add(1)
			} else {
				require.ErrorIs(t, err, auth.ErrUnknown)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
}

func TestPairingCodeEndsAfterTwoMinutes(t *testing.T) {
	c := newClock()
	r := open(t, t.TempDir(), c)
	code, err := r.MintPairingCode()
	require.NoError(t, err)
	c.advance(auth.PairingLife)
	_, _, err = r.Redeem(code, "phone", "")
	require.ErrorIs(t, err, auth.ErrUnknown)
}

// Thousands of concurrent wrong codes must not wait for the lock, which this test
// holds.
func TestAWrongPairingCodeIsRefusedWithoutTheFilesLock(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir, newClock())
	lock := flock.New(filepath.Join(dir, "auth.lock"))
	require.NoError(t, lock.Lock())
	defer lock.Close()
	refused := make(chan error)
	go func() {
		for range 3000 {
			_, _, err := r.Redeem("wrong", "eve", "")
			if !errors.Is(err, auth.ErrUnknown) {
				refused <- err
				return
			}
		}
		refused <- nil
	}()
	select {
	case err := <-refused:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		lock.Close()
		<-refused
		t.Fatal("they waited for the lock")
	}
}

func TestEachPairingCodeIsDifferent(t *testing.T) {
	r := open(t, t.TempDir(), newClock())
	printed, err := r.MintPairingCode()
	require.NoError(t, err)
	opened, err := r.MintPairingCode()
	require.NoError(t, err)
	require.NotEqual(t, printed, opened)
	for _, code := range []string{printed, opened} {
		_, _, err := r.Redeem(code, "", "")
		require.NoError(t, err)
	}
}

func TestABrowserPairedAnewIsOneDevice(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	r := open(t, dir, c)
	first, _ := pair(t, r, "Laptop")
	other, _ := pair(t, r, "Phone")
	_, _, err := r.Redeem("wrong", "Laptop", "", first)
	require.ErrorIs(t, err, auth.ErrUnknown)
	_, err = r.Present(auth.KindDevice, first)
	require.NoError(t, err, "a wrong code ends nothing")

	code, err := r.MintPairingCode()
	require.NoError(t, err)
	second, grant, err := r.Redeem(code, "Laptop", "", first)
	require.NoError(t, err)
	for _, r := range []*auth.Registry{r, open(t, dir, c)} {
		_, err = r.Present(auth.KindDevice, first)
		require.ErrorIs(t, err, auth.ErrUnknown)
		require.Len(t, r.Grants(), 2)
		for _, secret := range []string{second, other} {
			_, err = r.Present(auth.KindDevice, secret)
			require.NoError(t, err)
		}
		require.Equal(t, grant.ID, r.Grants()[1].ID)
	}
}

func TestDeviceEndsWhenIdleOrOld(t *testing.T) {
	c := newClock()
	r := open(t, t.TempDir(), c)
	secret, grant := pair(t, r, "Laptop")
	require.Equal(t, auth.Owner, grant.Scope)

	for range 5 { // used every 29 days, it must stay valid
		c.advance(29 * 24 * time.Hour)
		_, err := r.Present(auth.KindDevice, secret)
		require.NoError(t, err)
	}
	c.advance(29 * 24 * time.Hour)
	_, err := r.Present(auth.KindDevice, secret)
	require.NoError(t, err, "174 days")
	c.advance(6 * 24 * time.Hour)
	_, err = r.Present(auth.KindDevice, secret)
	require.ErrorIs(t, err, auth.ErrUnknown, "180 days are the end, however busy it was")

	idle, _ := pair(t, r, "Phone")
	c.advance(30 * 24 * time.Hour)
	_, err = r.Present(auth.KindDevice, idle)
	require.ErrorIs(t, err, auth.ErrUnknown, "30 days unused")
}

func TestTokenEndsWhenItExpires(t *testing.T) {
	c := newClock()
	r := open(t, t.TempDir(), c)
	secret, _, err := r.MintToken(auth.TokenRequest{Scope: auth.Owner, Life: time.Hour})
	require.NoError(t, err)
	_, err = r.Present(auth.KindToken, secret)
	require.NoError(t, err)
	_, err = r.Present(auth.KindDevice, secret)
	require.ErrorIs(t, err, auth.ErrUnknown, "a token is not a cookie")
	c.advance(time.Hour)
	_, err = r.Present(auth.KindToken, secret)
	require.ErrorIs(t, err, auth.ErrUnknown)
}

func TestOnlyAnOwnersTokenMayCoverAllSessions(t *testing.T) {
	r := open(t, t.TempDir(), newClock())
	for _, scope := range []auth.Scope{auth.Viewer, auth.Collaborator, "root", ""} {
		_, _, err := r.MintToken(auth.TokenRequest{Scope: scope})
		require.ErrorIs(t, err, auth.ErrInvalid, "%q", scope)
	}
}

func TestAnotherProcessMintsAndRevokesWhileTheHubRuns(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	hub := open(t, dir, c)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- hub.Run(ctx) }()
	defer func() { stop(); <-done }()

	command := open(t, dir, c)
	secret, grant, err := command.MintToken(auth.TokenRequest{Scope: auth.Owner})
	require.NoError(t, err)
	_, err = hub.Present(auth.KindToken, secret)
	require.NoError(t, err, "known at once, without waiting for a look")

	changed := hub.Changed()
	require.NoError(t, command.Revoke(grant.ID))
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Fatal("the hub did not notice")
	}
	_, err = hub.Grant(auth.KindToken, grant.ID)
	require.ErrorIs(t, err, auth.ErrUnknown)
	_, err = hub.Present(auth.KindToken, secret)
	require.ErrorIs(t, err, auth.ErrUnknown)
	require.ErrorIs(t, command.Revoke(grant.ID), auth.ErrNotFound)
}

func TestARevocationByAnotherProcessCountsWithinHalfASecond(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	synctest.Test(t, func(t *testing.T) {
		hub, command := open(t, dir, c), open(t, dir, c)
		secret, grant, err := command.MintToken(auth.TokenRequest{Scope: auth.Owner})
		require.NoError(t, err)
		done := make(chan error, 1)
		ctx, stop := context.WithCancel(t.Context())
		go func() { done <- hub.Run(ctx) }()
		_, err = hub.Present(auth.KindToken, secret)
		require.NoError(t, err)
		changed := hub.Changed()
		require.NoError(t, command.Revoke(grant.ID))
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		select {
		case <-changed:
		default:
			t.Error("the hub did not notice")
		}
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func TestParallelProcessesLoseNoToken(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r := open(t, dir, c)
			for range 4 {
				_, _, err := r.MintToken(auth.TokenRequest{Scope: auth.Owner})
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	require.Len(t, open(t, dir, c).Grants(), 32)
}

// Fault 68, the part of this package.
func TestFilesArePrivateUnderAnyUmask(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := t.TempDir()
	r := open(t, dir, newClock())
	pair(t, r, "phone")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), e.Name())
	}
}

func TestALooseFileIsMadePrivateAgain(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	open(t, dir, c)
	path := filepath.Join(dir, "auth.json")
	require.NoError(t, os.Chmod(path, 0o644))
	open(t, dir, c)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestTheFileHoldsNoSecret(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir, newClock())
	code, err := r.MintPairingCode()
	require.NoError(t, err)
	cookie, _ := pair(t, r, "phone")
	token, _, err := r.MintToken(auth.TokenRequest{Scope: auth.Owner})
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, "auth.json"))
	require.NoError(t, err)
	for _, secret := range []string{code, cookie, token} {
		require.False(t, bytes.Contains(data, []byte(secret)))
	}
}

func TestADamagedFileLetsNobodyInAndIsKept(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	running := open(t, dir, c)
	secret, _ := pair(t, running, "phone")
	path := filepath.Join(dir, "auth.json")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))

	_, err := auth.Open(dir, nil, c.now)
	require.ErrorContains(t, err, "damaged")
	_, err = running.Present(auth.KindDevice, secret)
	require.NoError(t, err, "a credential in memory must stay valid")
	_, _, err = running.MintToken(auth.TokenRequest{Scope: auth.Owner})
	require.Error(t, err, "and nothing is written over it")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "{", string(data))
}

func TestDeviceNamesAreFitForALine(t *testing.T) {
	r := open(t, t.TempDir(), newClock())
	_, grant := pair(t, r, "  Eve\x1b[2J\n\u202epohone \xff ")
	require.Equal(t, "Eve[2Jpohone", grant.Name)
}

func TestADeviceNamedAsAnotherGetsANumber(t *testing.T) {
	r := open(t, t.TempDir(), newClock())
	var names []string
	for _, asked := range []string{"Chrome on Linux", "Chrome on Linux", " Chrome on\n Linux", "Safari", "", ""} {
		_, grant := pair(t, r, asked)
		names = append(names, grant.Name)
	}
	require.Equal(t, []string{"Chrome on Linux", "Chrome on Linux 2", "Chrome on Linux 3", "Safari", "", ""}, names,
		"a device without a name goes by its id")

	long := strings.Repeat("é", 70)
	_, first := pair(t, r, long)
	_, second := pair(t, r, long)
	require.Equal(t, strings.Repeat("é", 64), first.Name)
	require.Equal(t, strings.Repeat("é", 62)+" 2", second.Name)

	code, err := r.MintPairingCode()
	require.NoError(t, err)
	old, _ := pair(t, r, "Kitchen")
	_, again, err := r.Redeem(code, "Kitchen", "", old)
	require.NoError(t, err)
	require.Equal(t, "Kitchen", again.Name, "a browser that pairs once more keeps its name")
}

func TestScopes(t *testing.T) {
	for _, c := range []struct {
		name  string
		grant auth.Grant
		verb  auth.Verb
		on    string
		may   bool
	}{
		{"owner manages the hub", auth.Grant{Scope: auth.Owner}, auth.Manage, "", true},
		{"owner of one session manages it", auth.Grant{Scope: auth.Owner, SessionID: "s1"}, auth.Manage, "s1", true},
		{"owner of one session does not manage the hub", auth.Grant{Scope: auth.Owner, SessionID: "s1"}, auth.Manage, "", false},
		{"collaborator acts", auth.Grant{Scope: auth.Collaborator, SessionID: "s1"}, auth.Act, "s1", true},
		{"collaborator acts nowhere else", auth.Grant{Scope: auth.Collaborator, SessionID: "s1"}, auth.Act, "s2", false},
		{"collaborator does not manage", auth.Grant{Scope: auth.Collaborator, SessionID: "s1"}, auth.Manage, "s1", false},
		{"viewer reads", auth.Grant{Scope: auth.Viewer, SessionID: "s1"}, auth.Read, "s1", true},
		{"viewer does not act", auth.Grant{Scope: auth.Viewer, SessionID: "s1"}, auth.Act, "s1", false},
		{"viewer reads nothing else", auth.Grant{Scope: auth.Viewer, SessionID: "s1"}, auth.Read, "s12", false},
		{"no scope may nothing", auth.Grant{}, auth.Read, "s1", false},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.may, c.grant.May(c.verb, c.on)) })
	}
}

func TestOnlySoManyTokensAreKept(t *testing.T) {
	dir := t.TempDir()
	_, _, err := open(t, dir, newClock()).MintToken(auth.TokenRequest{Scope: auth.Owner, Name: "one"})
	require.NoError(t, err)
	path := filepath.Join(dir, "auth.json")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var kept map[string]any
	require.NoError(t, json.Unmarshal(data, &kept))
	one := kept["tokens"].([]any)[0].(map[string]any)
	var all []any
	for i := range 1000 {
		another := maps.Clone(one)
		another["id"] = fmt.Sprintf("%016x", i)
		another["hash"] = fmt.Sprintf("%064x", i)
		all = append(all, another)
	}
	kept["tokens"] = all
	data, err = json.Marshal(kept)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	r := open(t, dir, newClock())
	_, _, err = r.MintToken(auth.TokenRequest{Scope: auth.Owner, Name: "one more"})
	require.ErrorIs(t, err, auth.ErrInvalid)
	require.NoError(t, r.Revoke(fmt.Sprintf("%016x", 7)))
	_, _, err = r.MintToken(auth.TokenRequest{Scope: auth.Owner, Name: "one more"})
	require.NoError(t, err)
}
