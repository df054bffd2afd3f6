package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var quoted = regexp.MustCompile("`([^`]+)`")

func TestTheNamesOfTheFirstDesignAreFound(t *testing.T) {
	root := "../../.."
	text, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "## The names of the first design\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")

	var words []string
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		if len(cells) != 3 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "`") {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			words = append(words, m[1])
		}
		file := quoted.FindStringSubmatch(cells[2])[1]
		source, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err, "%s", line)
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			require.Regexp(t, `\b`+regexp.QuoteMeta(m[1])+`\b`, string(source), "%s has no %s", file, m[1])
		}
	}
	for _, word := range []string{
		"SessionManager", "BackgroundSession", "SessionWSClient", "lastSentSeq", "MaxSeq", "load_events", "Recorder", "Player",
		"SessionObserver", "lastSeenSeq", "RecordEventWithSeq",
	} {
		require.Contains(t, words, word)
	}
}
