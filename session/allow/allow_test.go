package allow_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/allow"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// list is the list of a test, in a workspace with a folder, and links that lead out and in.
func list(t *testing.T, allowed ...event.Allowed) allow.List {
	t.Helper()
	above := t.TempDir()
	workspace := filepath.Join(above, "app")
	require.NoError(t, os.MkdirAll(filepath.Join(workspace, "src", "deep"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(workspace, "docs"), 0o755))
	require.NoError(t, os.Symlink(above, filepath.Join(workspace, "src", "out")))
	require.NoError(t, os.Symlink("src", filepath.Join(workspace, "in")))
	require.NoError(t, os.Symlink(filepath.Join(workspace, "docs"), filepath.Join(workspace, "src", "docs")))
	linked := filepath.Join(above, "link")
	require.NoError(t, os.Symlink(workspace, linked))
	return allow.List{Allowed: allowed, Workspace: linked}
}

func TestAFileIsAllowedBelowItsPlaceAlone(t *testing.T) {
	l := list(t, event.Allowed{Kind: allow.Edit, Path: "src"}, event.Allowed{Kind: allow.Read})
	actual, err := filepath.EvalSymlinks(l.Workspace)
	require.NoError(t, err)
	for path, want := range map[string]bool{
		"src": true, "src/a.go": true, "src/new/deep/a.go": true, "in/a.go": true, "src/../src/a.go": true,
		filepath.Join(l.Workspace, "src/a.go"): true, filepath.Join(actual, "src/a.go"): true,
		"": false, "a.go": false, "docs/a.md": false, "src/../a.go": false, "../app/docs/a": false, "srcs/a.go": false,
		"src/out/b": false, "src/out/app/docs/a": false, "src/docs/a.md": false, "src/deep/../../docs/a": false,
		"/etc/passwd": false, "src/a\x00b": false, filepath.Join(actual, "../b"): false,
	} {
		require.Equal(t, want, l.Files(allow.Edit, path), path)
	}
	require.False(t, l.Files(allow.Edit, "src/a", "docs/b"), "each of them must be allowed")
	require.False(t, l.Files(allow.Edit))
	require.False(t, l.Files(allow.Delete, "src/a"))
	require.True(t, l.Files(allow.Read, "docs/b"))
}

func TestACommandIsAllowedAsAWholeOrByItsWords(t *testing.T) {
	l := list(t, event.Allowed{Kind: allow.Execute, Command: "go test *"}, event.Allowed{Kind: allow.Execute, Command: "make lint"},
		event.Allowed{Kind: allow.Execute, Command: "a && b"})
	for _, c := range []struct {
		words []string
		want  bool
	}{
		{[]string{"go test ./..."}, true}, {[]string{"go", "test", "./..."}, true}, {[]string{"go test"}, true}, {[]string{"bash", "-lc", "go test -run=X ./..."}, true},
		{[]string{"make lint"}, true}, {[]string{"make", "lint"}, true}, {[]string{"/bin/sh", "-c", "make lint"}, true}, {[]string{"a && b"}, true},
		{[]string{"go", "test", "a;b"}, false},
		{[]string{"go test; rm -rf ."}, false}, {[]string{"go test && rm x"}, false}, {[]string{"go test | sh"}, false}, {[]string{"go test $(rm x)"}, false},
		{[]string{"go test `rm x`"}, false}, {[]string{"go test\nrm x"}, false}, {[]string{"go test > /etc/x"}, false}, {[]string{"go test 'a'"}, false}, {[]string{`go test "a"`}, false},
		{[]string{"go testing"}, false}, {[]string{"go  vet"}, false}, {[]string{"FOO=1 go test"}, false}, {[]string{"./go test"}, false}, {[]string{"go"}, false},
		{[]string{"make lint all"}, false}, {[]string{"make", "lint", "all"}, false}, {[]string{"make  lint"}, false}, {[]string{"bash", "-lc", "make lint; x"}, false},
		{[]string{"bash", "-c", "go test", "more"}, false}, {[]string{"a", "&&", "b"}, true}, {nil, false}, {[]string{""}, false},
	} {
		require.Equal(t, c.want, l.Command(c.words, ""), "%q", c.words)
	}
	require.True(t, l.Command([]string{"make lint"}, "src"))
	require.False(t, l.Command([]string{"make lint"}, "/tmp"))
	require.False(t, l.Command([]string{"make lint"}, "src/out"))
}

func TestARequestIsJudgedByAllThatItSays(t *testing.T) {
	l := list(t, append(allow.Preset(event.PresetEdit, nil), event.Allowed{Kind: allow.Execute, Command: "go test *"})...)
	for call, want := range map[string]bool{
		`{"kind":"edit","rawInput":{"path":"a.go"}}`:                                                 true,
		`{"kind":"edit","locations":[{"path":"a.go"}]}`:                                              true,
		`{"kind":"edit","content":[{"type":"diff","path":"a.go","newText":"x"}]}`:                    true,
		`{"kind":"edit","rawInput":{"path":"a.go"},"locations":[{"path":"/etc/passwd"}]}`:            false,
		`{"kind":"edit","rawInput":{"path":"/etc/passwd"},"locations":[{"path":"a.go"}]}`:            false,
		`{"kind":"edit","rawInput":{"path":["a.go"]},"locations":[{"path":"a.go"}]}`:                 false,
		`{"kind":"edit","content":[{"type":"diff","path":"../a.go"}],"locations":[{"path":"a.go"}]}`: false,
		`{"kind":"edit"}`: false,
		`{"kind":"edit",`: false,
		`{"kind":"move","rawInput":{"source":"a","destination":"../b"}}`: false,
		`{"kind":"search","rawInput":{"pattern":"x"}}`:                   true,
		`{"kind":"search","rawInput":{"pattern":"x","path":"/etc"}}`:     false,
		`{"kind":"think"}`: true,
		`{"kind":"fetch","rawInput":{"url":"https://example.com"}}`: false,
		`{"kind":"other"}`: false,
		`{}`:               false,
		`{"kind":"execute","rawInput":{"command":"go test ./..."}}`:                                true,
		`{"kind":"execute","rawInput":{"command":["go","test"],"cwd":"src"}}`:                      true,
		`{"kind":"execute","rawInput":{"command":"go","args":["test"]}}`:                           true,
		`{"kind":"execute","rawInput":{"command":"go test","cwd":"/"}}`:                            false,
		`{"kind":"execute","rawInput":{"command":"go test"},"locations":[{"path":"/etc/passwd"}]}`: false,
		`{"kind":"execute","rawInput":{"command":{"a":"go test"}}}`:                                false,
		`{"kind":"execute","rawInput":{}}`:                                                         false,
	} {
		var f state.Fold
		p := event.PermissionRequest{PermissionID: "p", ToolCallID: "c", ToolCall: json.RawMessage(call)}
		require.Equal(t, want, l.Request(f.SubjectOf(p), p.ToolCall), call)
	}
}

func TestACallOfTwoKindsIsOutside(t *testing.T) {
	l := list(t, allow.Preset(event.PresetEdit, nil)...)
	var f state.Fold
	f.Apply(1, time.Time{}, 1, event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: "c", Kind: "execute", Title: "rm"}})
	p := event.PermissionRequest{PermissionID: "p", ToolCallID: "c", ToolCall: json.RawMessage(`{"kind":"edit","rawInput":{"path":"a.go"}}`)}
	require.False(t, l.Request(f.SubjectOf(p), p.ToolCall))
}

func TestAListThatNobodyCanHaveMeantIsRefused(t *testing.T) {
	for _, a := range []event.Allowed{
		{Kind: "all"}, {}, {Kind: "edit", Path: "../x"}, {Kind: "edit", Path: "/x"}, {Kind: "edit", Command: "x"}, {Kind: "execute"}, {Kind: "execute", Command: " *"},
		{Kind: "execute", Command: "a\nb"}, {Kind: "execute", Command: "npm test; rm *"}, {Kind: "execute", Command: "go test $(x) *"}, {Kind: "execute", Command: "a* *"},
	} {
		require.ErrorIs(t, allow.Check([]event.Allowed{a}), state.ErrInvalid, "%+v", a)
	}
	require.NoError(t, allow.Check(allow.Preset(event.PresetEditTest, []string{"go test *", "make"})))
	require.ErrorIs(t, allow.Check(make([]event.Allowed, 101)), state.ErrInvalid)
}
