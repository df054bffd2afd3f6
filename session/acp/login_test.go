//go:build linux

package acp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
)

// untilText waits until a login's output contains a text, or it has ended.
func untilText(t *testing.T, l *acp.Login, text string) string {
	t.Helper()
	ctx := bounded(t)
	for seen := -1; ; {
		got, size, ended := l.Output(ctx, seen)
		if strings.Contains(got, text) {
			return got
		}
		require.False(t, ended || ctx.Err() != nil, "%q never came: %q", text, got)
		seen = size
	}
}

func TestALoginTalksToATerminalAndEnds(t *testing.T) {
	cfg := config(t, "demo")
	script := `test -t 0 && test -t 1 || exit 9; exec 3<>/dev/tty; printf 'Code: ' >&3; read code; echo "got $code"; test "$code" = 42`
	for code, failed := range map[string]bool{"42": false, "43": true} {
		l, err := acp.StartLogin(bounded(t), cfg, []string{"env", "A=b", "sh", "-c", script})
		require.NoError(t, err)
		untilText(t, l, "Code: ")
		require.Error(t, l.Type(bounded(t), "two\nlines"))
		require.NoError(t, l.Type(bounded(t), code))
		<-l.Done()
		text, size, ended := l.Output(bounded(t), -1)
		require.True(t, ended)
		require.Equal(t, "Code: "+code+"\ngot "+code+"\n", text)
		require.Equal(t, len(text), size)
		require.Equal(t, failed, l.Failed() != nil)
		require.Error(t, l.Type(bounded(t), "more"))
	}
}

// withMarker lists the processes that are marked as the config's.
func withMarker(t *testing.T, cfg acp.Config) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	var found []string
	for _, path := range paths {
		env, _ := os.ReadFile(path) // it may have ended
		if strings.Contains(string(env), "ABIDE_AGENT="+cfg.HubID+"."+cfg.RunID+"."+cfg.SessionID+"\x00") {
			found = append(found, path)
		}
	}
	return found
}

func TestALoginEndsWithItsContextAndLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(bounded(t))
	cfg := config(t, "demo")
	l, err := acp.StartLogin(ctx, cfg, []string{"sh", "-c", `setsid sh -c 'trap "" HUP TERM; echo child; exec sleep 600' & echo ready; sleep 600`})
	require.NoError(t, err)
	untilText(t, l, "child")
	untilText(t, l, "ready")
	require.NotEmpty(t, withMarker(t, cfg))
	cancel()
	<-l.Done()
	require.Empty(t, withMarker(t, cfg))
	require.Error(t, l.Failed())
}

func TestTheOutputOfALoginIsBounded(t *testing.T) {
	l, err := acp.StartLogin(bounded(t), config(t, "demo"), []string{"sh", "-c", "yes abcdefg | head -c 1000000; echo; echo the end"})
	require.NoError(t, err)
	<-l.Done()
	text, size, ended := l.Output(bounded(t), 0)
	require.True(t, ended)
	require.Greater(t, size, 1_000_000)
	require.LessOrEqual(t, len(text), 64<<10)
	require.True(t, strings.HasSuffix(text, "the end\n"))
}

func TestALineThatTheLoginDoesNotReadWaitsNoLongerThanItsContext(t *testing.T) {
	ending, end := context.WithCancel(bounded(t))
	l, err := acp.StartLogin(ending, config(t, "demo"), []string{"sh", "-c", "stty raw; echo deaf; exec sleep 600"})
	require.NoError(t, err)
	untilText(t, l, "deaf")
	typed := 0
	for {
		ctx, cancel := context.WithTimeout(bounded(t), 50*time.Millisecond)
		err := l.Type(ctx, strings.Repeat("x", 4000))
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			break
		}
		typed++
		require.Less(t, typed, 1000, "the terminal takes all that is typed")
	}
	_, _, ended := l.Output(bounded(t), -1)
	require.False(t, ended)
	end()
	<-l.Done()
	require.ErrorIs(t, l.Type(bounded(t), "more"), acp.ErrGone)
}
