package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestASessionHasExactlyTheEventsAskedForAndIsSound(t *testing.T) {
	for _, n := range []string{"1", "3", "501", "502", "503", "1777"} {
		t.Run(n, func(t *testing.T) {
			dir := t.TempDir()
			var out bytes.Buffer
			require.NoError(t, run(t.Context(), []string{"--data", dir, "--events", n}, &out))
			s, err := store.Open(dir, store.Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			l, err := s.Log(t.Context(), strings.TrimSpace(out.String()))
			require.NoError(t, err)
			require.Equal(t, n, fmt.Sprint(l.Marks().Visible))
			batch, err := l.ReadAfter(t.Context(), 0, 16<<20)
			require.NoError(t, err)
			events, err := batch.Events()
			require.NoError(t, err)
			open := 0
			for _, e := range events {
				switch e.Type {
				case event.TypeTurnStart:
					open++
				case event.TypeTurnEnd:
					open--
				}
			}
			require.Zero(t, open, "every turn has its end")
			report, err := s.Check(t.Context(), "")
			require.NoError(t, err)
			require.Empty(t, report.Problems)
		})
	}
}

func TestWithoutADirectoryNothingIsWritten(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), nil, &bytes.Buffer{}), "--data")
}
