package known_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/known"
)

func TestTheAgentsOfARegistryAreRead(t *testing.T) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	here := runtime.GOOS + "-" + arch
	list, err := known.ReadRegistry([]byte("\ufeff" + `{"version":"1.0.0","extensions":[],"agents":[
		{"id":"node-agent","name":"Node Agent","version":"1.2.3","license":"MIT","distribution":{
			"npx":{"package":"@scope/node-agent@1.2.3","args":["--acp"],"env":{"NO_UPDATE":"1"}},
			"binary":{"` + here + `":{"archive":"https://example.com/a.tar.gz","cmd":"./node-agent"}}}},
		{"id":"python-agent","name":"Python Agent","distribution":{"uvx":{"package":"python-agent","args":["serve"]}}},
		{"id":"binary-agent","name":"","distribution":{"binary":{"` + here + `":{"archive":"https://example.com/b.tar.gz","cmd":"./dist/binary-agent","args":["acp"],"env":{"A":"b"}}}}},
		{"id":"elsewhere","name":"x","distribution":{"binary":{"plan9-mips":{"archive":"https://example.com/c","cmd":"./c"}}}},
		{"id":"Not An Id","name":"x","distribution":{"npx":{"package":"x"}}},
		{"id":"flag","name":"x","distribution":{"npx":{"package":"--call=sh"}}},
		{"id":"future","name":"x","distribution":{"docker":{"image":"x"}}}
	]}`))
	require.NoError(t, err)
	require.Equal(t, []known.Agent{
		{
			Name: "node-agent", Title: "Node Agent", Programs: []string{"npx"}, Args: []string{"-y", "@scope/node-agent@1.2.3", "--acp"},
			Env: map[string]string{"NO_UPDATE": "1"}, Install: "install Node.js: it brings npx, which fetches @scope/node-agent@1.2.3",
		},
		{
			Name: "python-agent", Title: "Python Agent", Programs: []string{"uvx"}, Args: []string{"python-agent", "serve"},
			Install: "install uv: it brings uvx, which fetches python-agent",
		},
		{
			Name: "binary-agent", Title: "binary-agent", Programs: []string{"binary-agent"}, Args: []string{"acp"}, Env: map[string]string{"A": "b"},
			Install: "download https://example.com/b.tar.gz and put binary-agent into the PATH",
		},
	}, list)
	for _, wrong := range []string{"", "[]", `{"agents":[]}`, `{"agents":"x"}`, "<html>", strings.Repeat(" ", known.MaxRegistry+1)} {
		_, err := known.ReadRegistry([]byte(wrong))
		require.Error(t, err)
	}
}
