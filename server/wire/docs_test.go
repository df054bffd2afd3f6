package wire_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var quotation = regexp.MustCompile("(?s)<!-- golden: ([a-z_/.]+) -->\n```json\n(.*?)```\n")

// TestTheProtocolDocumentQuotesTheGoldenFiles keeps docs/protocol.md true:
// every golden file is quoted in it as it is.
func TestTheProtocolDocumentQuotesTheGoldenFiles(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "protocol.md")
	document, err := os.ReadFile(path)
	require.NoError(t, err)
	quoted := map[string]bool{}
	current := quotation.ReplaceAllStringFunc(string(document), func(block string) string {
		name := quotation.FindStringSubmatch(block)[1]
		quoted[name] = true
		source := filepath.Join("testdata", name)
		if name == "events.jsonl" {
			source = filepath.Join("..", "..", "session", "event", "testdata", name)
		}
		golden, err := os.ReadFile(source)
		require.NoError(t, err)
		return "<!-- golden: " + name + " -->\n```json\n" + strings.TrimRight(string(golden), "\n") + "\n```\n"
	})
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(current), 0o644))
	} else {
		require.Equal(t, current, string(document), "run `make generate`")
	}
	for _, m := range clientExamples() {
		require.True(t, quoted["client/"+m.MessageType()+".json"], "%s is not in docs/protocol.md", m.MessageType())
	}
	for _, m := range serverExamples() {
		require.True(t, quoted["server/"+m.MessageType()+".json"], "%s is not in docs/protocol.md", m.MessageType())
	}
	require.True(t, quoted["events.jsonl"])
}
