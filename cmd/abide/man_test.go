package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the man pages")

const manDir = "../../docs/man"

// The man pages are generated from the commands: `make generate` writes them.
func TestTheManPagesAreThoseOfTheCommands(t *testing.T) {
	pages := manPages(t)
	if *update {
		require.NoError(t, os.RemoveAll(manDir))
		require.NoError(t, os.MkdirAll(manDir, 0o755))
		for name, page := range pages {
			require.NoError(t, os.WriteFile(filepath.Join(manDir, name), page, 0o644))
		}
	}
	files, err := os.ReadDir(manDir)
	require.NoError(t, err)
	for _, file := range files {
		require.Contains(t, pages, file.Name(), "run make generate")
	}
	for name, page := range pages {
		written, err := os.ReadFile(filepath.Join(manDir, name))
		require.NoError(t, err, "run make generate")
		require.Equal(t, string(written), string(page), "run make generate: %s", name)
	}
}

// Each command has a description, and those for sessions show an example.
func TestEveryCommandExplainsItself(t *testing.T) {
	for _, cmd := range commands(tree()) {
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		if cmd.Parent() == cmd.Root() && cmd.Name() != "help" && cmd.Name() != "completion" && cmd.Name() != "version" && !cmd.IsAdditionalHelpTopicCommand() {
			require.NotEmpty(t, cmd.GroupID, cmd.CommandPath())
			if cmd.GroupID != cli.GroupHub {
				require.Contains(t, cmd.Example, "abide "+cmd.Name(), cmd.CommandPath())
			}
		}
	}
}

func tree() *cobra.Command {
	root := newProgram(nil, nil, nil, nil).root()
	root.Version = ""
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	return root
}

func commands(of *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{of}
	for _, cmd := range of.Commands() {
		list = append(list, commands(cmd)...)
	}
	return list
}

func manPages(t *testing.T) map[string][]byte {
	pages := map[string][]byte{}
	for _, cmd := range commands(tree()) {
		if cmd.HasParent() && (!cmd.IsAvailableCommand() && !cmd.IsAdditionalHelpTopicCommand() || cmd.Parent().Name() == "completion") {
			continue
		}
		cmd.DisableAutoGenTag = true
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		var page bytes.Buffer
		require.NoError(t, doc.GenMan(cmd, &doc.GenManHeader{
			Title: strings.ToUpper(name), Section: "1", Date: new(time.Time), Source: "abide", Manual: "abide",
		}, &page))
		pages[name+".1"] = asTyped(bytes.Replace(page.Bytes(), []byte(`"Jan 0001"`), []byte(`""`), 1))
	}
	return pages
}

// flagLine is a flag of a man page with its default as Go shows it, and the line about it.
var flagLine = regexp.MustCompile(`(?m)^((?:\\fB-[a-z]\\fP, )?\\fB--[a-z-]+\\fP)(\[?=[^\n]*)\n\t([^\n]*)`)

var namedValue = regexp.MustCompile(`\\fB([^\\]+)\\fR`)

// asTyped writes the flags of a man page as people type them: with the name of their value,
// and without the default, which the text about a flag says where it matters.
func asTyped(page []byte) []byte {
	return flagLine.ReplaceAllFunc(page, func(line []byte) []byte {
		parts := flagLine.FindSubmatch(line)
		flag, about := string(parts[1]), string(parts[3])
		if name := namedValue.FindStringSubmatch(about); name != nil && parts[2][0] != '[' {
			flag += ` \fI` + name[1] + `\fP`
		} else if parts[2][0] != '[' {
			flag += ` \fIVALUE\fP`
		}
		return []byte(flag + "\n\t" + about)
	})
}
