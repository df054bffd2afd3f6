package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATraceHasEveryMessageInOrderAndNoPathOfThisMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	asked := `{"id":1,"method":"session/new","params":{"cwd":"` + here + `"}}` + "\n"
	var out bytes.Buffer
	code, err := run(file, "/home/dev/project", []string{"sh", "-c", `read line; echo no message; echo '{"id":1,"result":{}}'; exit 3`}, strings.NewReader(asked), &out)
	require.NoError(t, err)
	require.Equal(t, 3, code)
	require.Equal(t, "no message\n{\"id\":1,\"result\":{}}\n", out.String(), "every byte passes")
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, `{"t":N,"dir":"c>a","msg":{"id":1,"method":"session/new","params":{"cwd":"/home/dev/project"}}}`+"\n"+
		`{"t":N,"dir":"a>c","msg":{"id":1,"result":{}}}`+"\n",
		regexp.MustCompile(`"t":\d+`).ReplaceAllString(string(written), `"t":N`))
}
