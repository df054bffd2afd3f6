package tsgen_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/abidehub/abide/internal/tools/tsgen"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the generated file")

var target = filepath.Join("..", "..", "..", "frontend", "src", "wire", "gen.ts")

func TestTheGeneratedTypesAreCurrent(t *testing.T) {
	want, err := tsgen.Generate()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(target), 0o755))
		require.NoError(t, os.WriteFile(target, want, 0o644))
	}
	have, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, string(want), string(have), "run `make generate`")
}

func TestNothingIsTypedAny(t *testing.T) {
	source, err := tsgen.Generate()
	require.NoError(t, err)
	require.NotRegexp(t, regexp.MustCompile(`\bany\b`), string(source))
}

func TestEveryKindAndFrameIsAMemberOfItsUnion(t *testing.T) {
	source, err := tsgen.Generate()
	require.NoError(t, err)
	text := string(source)
	for _, kind := range event.Kinds() {
		require.Contains(t, text, "(EventHead & { type: '"+string(kind.EventType())+"'; data: ")
	}
	for union, messages := range map[string][]wire.Message{"ClientMessage": wire.ClientMessages(), "ServerMessage": wire.ServerMessages()} {
		_, members, found := strings.Cut(text, "export type "+union+" = ")
		require.True(t, found)
		members, _, _ = strings.Cut(members, "\n")
		require.Len(t, strings.Split(members, " | "), len(messages))
		for _, m := range messages {
			require.Contains(t, text, "  type: '"+m.MessageType()+"'\n")
		}
	}
}

func TestStringSetsBecomeUnions(t *testing.T) {
	source, err := tsgen.Generate()
	require.NoError(t, err)
	require.Contains(t, string(source), "export type Verdict = 'ok' | 'reset'\n")
	require.Contains(t, string(source), "  stop_reason: StopReason\n")
	require.Contains(t, string(source), "  text: string | BlobRef\n")
}
