package wire_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/abidehub/abide/server/wire"
	"github.com/stretchr/testify/require"
)

var quotation = regexp.MustCompile("(?s)<!-- golden: ([a-z_/.]+) -->\n```json\n(.*?)```\n")

// TestTheProtocolDocumentQuotesTheGoldenFiles requires that docs/protocol.md quotes
// every golden file exactly.
func TestTheProtocolDocumentQuotesTheGoldenFiles(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "protocol.md")
	document, err := os.ReadFile(path)
	require.NoError(t, err)
	quoted := map[string]bool{}
	current := quotation.ReplaceAllStringFunc(string(document), func(block string) string {
		name := quotation.FindStringSubmatch(block)[1]
		quoted[name] = true
		return "<!-- golden: " + name + " -->\n```json\n" + golden(t, name) + "\n```\n"
	})
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(current), 0o644))
	} else {
		require.True(t, current == string(document), "docs/protocol.md is not current: run `make generate`")
	}
	for _, m := range clientExamples() {
		require.True(t, quoted["client/"+m.MessageType()+".json"], "%s is not in docs/protocol.md", m.MessageType())
	}
	for _, m := range serverExamples() {
		require.True(t, quoted["server/"+m.MessageType()+".json"], "%s is not in docs/protocol.md", m.MessageType())
	}
	require.True(t, quoted["events.jsonl"])
}

// golden returns the content of a golden file. It encodes frames again, because this
// run may be rewriting their files.
func golden(t *testing.T, name string) string {
	t.Helper()
	for side, examples := range map[string][]wire.Message{"client": clientExamples(), "server": serverExamples()} {
		for _, m := range examples {
			if name == side+"/"+m.MessageType()+".json" {
				frame, err := wire.Encode(m)
				require.NoError(t, err)
				return string(frame)
			}
		}
	}
	events, err := os.ReadFile(filepath.Join("..", "..", "session", "event", "testdata", name))
	require.NoError(t, err)
	return strings.TrimRight(string(events), "\n")
}
