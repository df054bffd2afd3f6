package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/store"
)

func TestCheckAndRepairPrintNoControlCharacter(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;owned\x07\x7f\u009b31m\u202e\rx"
	data := t.TempDir()
	require.NoError(t, os.Chmod(data, 0o700))
	s, err := store.Open(data, store.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	sessions := filepath.Join(data, "sessions")
	one := filepath.Join(sessions, "20260221-140307-9f3a11c0")
	for _, dir := range []string{filepath.Join(data, "a"+evil), filepath.Join(sessions, "b"+evil), one, filepath.Join(one, "c"+evil)} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	line := `{"seq":1,"time":"2026-02-21T14:03:07Z","type":"` + evil + `","data":{}}` + "\n" + evil + "\n"
	for _, name := range []string{"events.jsonl", "metadata.json", "queue.json", "d" + evil} {
		require.NoError(t, os.WriteFile(filepath.Join(one, name), []byte(line), 0o600))
	}
	for _, args := range [][]string{{"check"}, {"check", "--json"}, {"repair"}, {"repair", "--json"}, {"check", "e" + evil}, {"repair", "e" + evil}} {
		var out, said bytes.Buffer
		run(t.Context(), append(args, "--data", data), []string{"HOME=" + t.TempDir()}, strings.NewReader(""), &out, &said)
		text := out.String() + said.String()
		require.NotEmpty(t, text)
		bad := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) })
		require.Negative(t, bad, "abide %q: %q", args, text)
		if len(args) == 1 && args[0] == "check" {
			require.Contains(t, text, "owned", "the check does not name what it found")
		}
	}
}
