package archtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/abidehub/abide/internal/tools/archtest"
	"github.com/stretchr/testify/require"
)

func TestEveryImportIsAPlannedArrow(t *testing.T) {
	packages, err := archtest.Load("../../..")
	require.NoError(t, err)
	require.NotEmpty(t, packages)
	require.Empty(t, archtest.Unplanned(packages))
}

func TestEveryPackageOpensWithASentence(t *testing.T) {
	packages, err := archtest.Load("../../..")
	require.NoError(t, err)
	require.Empty(t, archtest.Undocumented(packages))
}

func TestAnUnplannedImportIsReported(t *testing.T) {
	for name, p := range map[string]archtest.Package{
		"session must not know the transport":  {Path: "session", Imports: []string{archtest.Module + "/server/wire"}},
		"session must not know the files":      {Path: "session", Imports: []string{archtest.Module + "/session/store"}},
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

// TestTheCirclesOfFilesOnlyShrink holds the number of files in the largest circle of
// each package. A number in the table is only ever lowered. The files of the other
// packages are layers, or make a circle of at most five.
func TestTheCirclesOfFilesOnlyShrink(t *testing.T) {
	allowed := map[string]int{
		"cmd/abide":          14,
		"internal/cli":       17,
		"internal/config":    8,
		"internal/demoagent": 11,
		"internal/notify":    9,
		"server":             12,
		"session":            19,
		"session/acp":        16,
		"session/resume":     0,
		"session/rule":       0,
		"session/state":      0,
		"session/store":      0,
	}
	packages, err := archtest.Load("../../..")
	require.NoError(t, err)
	for _, p := range packages {
		circle, err := archtest.Circle("../../../" + p.Path)
		require.NoError(t, err)
		limit, listed := allowed[p.Path]
		delete(allowed, p.Path)
		if !listed {
			limit = 5
		}
		require.LessOrEqual(t, len(circle), limit, "%s: a file joined the circle %v", p.Path, circle)
		if listed {
			require.Equal(t, limit, len(circle), "%s: the circle has shrunk: lower its number in this table", p.Path)
		}
	}
	require.Empty(t, allowed, "packages of this table that do not exist: remove them")
}

func TestTheLargestCircleIsFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"above.go": "package p\nfunc above() { a(); x() }",
		"a.go":     "package p\nfunc a() { b() }",
		"b.go":     "package p\nfunc b() { c() }",
		"c.go":     "package p\nfunc c() { a(); x() }",
		"x.go":     "package p\nfunc x() { y() }",
		"y.go":     "package p\nfunc y() { x(); leaf() }",
		"leaf.go":  "package p\nfunc leaf() {}",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	circle, err := archtest.Circle(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"a.go", "b.go", "c.go"}, circle)
}
