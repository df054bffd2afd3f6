package state_test

import (
	"testing"

	"github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

func TestOneLineHasSingleBlanksAndNothingThatCannotBeSeen(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " ": "", "Read main.go": "Read main.go", " a": "a", "a ": "a", "a  b": "a b", "a\tb\nc": "a b c",
		"a\x00b": "ab", "a\u00a0b": "a b", "é  è": "é è", "a\x7fb": "ab", "~!": "~!",
	} {
		require.Equal(t, want, state.OneLine(text), "%q", text)
	}
}
