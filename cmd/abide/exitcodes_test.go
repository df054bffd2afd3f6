package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/cli"
)

// Each code of the table is in the help and in docs/cli.md with the same words, and a
// script shows a command that exits with it.
func TestTheTableOfExitCodesIsTheSameEverywhere(t *testing.T) {
	var help bytes.Buffer
	require.Equal(t, cli.ExitDone, run(t.Context(), []string{"help", "exit-codes"}, nil, nil, &help, &help))
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	require.NoError(t, err)
	script, err := os.ReadFile(filepath.Join("testdata", "script", "cli-run.txtar"))
	require.NoError(t, err)
	for i, c := range cli.ExitCodes() {
		require.Equal(t, i, c.Number)
		require.Contains(t, help.String(), fmt.Sprintf("  %d  %s\n", c.Number, c.Meaning))
		require.Contains(t, string(page), fmt.Sprintf("| %d | %s |\n", c.Number, c.Meaning))
		require.Contains(t, string(script), fmt.Sprintf("\nexits %d ", c.Number))
	}
}
