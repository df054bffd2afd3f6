package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// unusual are phrases of earlier versions that readers stumbled over. The usual
// words are: expired, revoked, interrupted, resumed.
var unusual = regexp.MustCompile(`(?i)\b(is no more|never was|anew|where the hub runs|also when|wants a|in force|take it back|comes? in|may look|cut off|` +
	`opens once|ran out|there is no command|no hub has run|counts this once|says what it takes|(is|was|are) at work|` +
	`not as it must be|as a check then would|keeps coding agents|what lists call)\b`)

func TestTheHelpIsInUsualWords(t *testing.T) {
	for _, cmd := range commands(tree()) {
		require.NotRegexp(t, unusual, cmd.Short+"\n"+cmd.Long, cmd.CommandPath())
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			require.NotRegexp(t, unusual, f.Usage, cmd.CommandPath()+" --"+f.Name)
		})
	}
}

// The texts are the string literals of the code: errors, logs and notes.
func TestTheErrorsAreInUsualWords(t *testing.T) {
	const root = "../.."
	read := 0
	for _, folder := range []string{"cmd", "internal", "observer", "queue", "server", "session"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			read++
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					require.NoError(t, err)
					if found := unusual.FindString(text); found != "" {
						t.Errorf("%s: %q", fset.Position(lit.Pos()), text)
					}
				}
				return true
			})
			return nil
		}))
	}
	require.Greater(t, read, 100)
}
