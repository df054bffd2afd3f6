package archtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/abidehub/abide/internal/archtest"
	"github.com/stretchr/testify/require"
)

func TestEveryImportIsAPlannedArrow(t *testing.T) {
	packages, err := archtest.Load("../..")
	require.NoError(t, err)
	require.NotEmpty(t, packages)
	require.Empty(t, archtest.Unplanned(packages))
}

func TestEveryPackageOpensWithASentence(t *testing.T) {
	packages, err := archtest.Load("../..")
	require.NoError(t, err)
	require.Empty(t, archtest.Undocumented(packages))
}

func TestAnUnplannedImportIsReported(t *testing.T) {
	for name, p := range map[string]archtest.Package{
		"session must not know the transport":  {Path: "session", Imports: []string{archtest.Module + "/server/wire"}},
		"session must not know ACP":            {Path: "session", Imports: []string{archtest.Module + "/session/acp"}},
		"events are a leaf":                    {Path: "session/event", Imports: []string{archtest.Module + "/session/store"}},
		"the queue needs no library":           {Path: "queue", Imports: []string{"github.com/gofrs/flock"}},
		"only acp speaks the SDK":              {Path: "session", Imports: []string{"github.com/coder/acp-go-sdk"}},
		"a package without a row has no arrow": {Path: "brand/new", Imports: []string{archtest.Module + "/session"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Len(t, archtest.Unplanned([]archtest.Package{p}), 1)
		})
	}
	require.Empty(t, archtest.Unplanned([]archtest.Package{{Path: "server", Imports: []string{archtest.Module + "/session", "net/http", "github.com/coder/websocket"}}}))
}

func TestTheFilesOfTheStoreAreLayers(t *testing.T) {
	layers, cycle, err := archtest.Layers("../../session/store")
	require.NoError(t, err)
	require.Empty(t, cycle, "files that use each other in a circle")
	require.Greater(t, len(layers), 5)
}

func TestACircleOfFilesIsReported(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"leaf.go": "package p\nimport \"fmt\"\ntype Leaf struct{}\nfunc (Leaf) Say() { fmt.Println() }",
		"one.go":  "package p\nfunc one(l Leaf) { l.Say(); two() }",
		"two.go":  "package p\nfunc two() { one(Leaf{}) }",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	layers, cycle, err := archtest.Layers(dir)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"leaf.go"}}, layers)
	require.Equal(t, []string{"one.go", "two.go"}, cycle)
}
