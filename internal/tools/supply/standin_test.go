package main

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// advisories is a stand-in for the two services that know vulnerabilities. It knows of
// one in each: in a function that the program calls, and in a package of the app.
func advisories(t *testing.T) *httptest.Server {
	t.Helper()
	const id, modified = "GO-2026-9999", "2026-01-01T00:00:00Z"
	texts := map[string]string{
		"/index/db.json":      `{"modified":"` + modified + `"}`,
		"/index/modules.json": `[{"path":"github.com/spf13/cobra","vulns":[{"id":"` + id + `","modified":"` + modified + `"}]}]`,
		"/ID/" + id + ".json": `{"schema_version":"1.3.1","id":"` + id + `","modified":"` + modified + `","published":"` + modified + `","summary":"made up","database_specific":{"url":"https://example.org/9999"},
			"affected":[{"package":{"name":"github.com/spf13/cobra","ecosystem":"Go"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
			"ecosystem_specific":{"imports":[{"path":"github.com/spf13/cobra","symbols":["Command.ExecuteContext"]}]}}]}`,
		"/-/npm/v1/security/advisories/bulk": `{"axe-core":[{"id":9999,"url":"https://example.org/9999","title":"made up","severity":"high","vulnerable_versions":"*","cwe":[],"cvss":{"score":9,"vectorString":null}}]}`,
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, zipped := strings.CutSuffix(r.URL.Path, ".gz")
		text, known := texts[path]
		if !known {
			http.NotFound(w, r)
			return
		}
		if zipped {
			z := gzip.NewWriter(w)
			defer z.Close()
			_, _ = z.Write([]byte(text))
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(service.Close)
	return service
}

// askAt makes the checks ask a service.
func askAt(t *testing.T, url string) {
	t.Helper()
	t.Chdir(filepath.Join("..", "..", ".."))
	t.Setenv("ABIDE_VULNDB", url)
	t.Setenv("npm_config_registry", url+"/")
	t.Setenv("npm_config_cache", t.TempDir())
}

func TestAKnownVulnerabilityOfAPackageFailsTheCheck(t *testing.T) {
	askAt(t, advisories(t).URL)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	_, err := vulnerableNPM()
	require.EqualError(t, err, "axe-core (high)")
}

func TestAServiceThatCannotBeReachedIsSaidAndIsNoPass(t *testing.T) {
	service := advisories(t)
	url := service.URL
	service.Close()
	askAt(t, url)
	var out bytes.Buffer
	code := report(&out, []check{
		{"vulnerable Go code", func() (string, error) { return vulnerableGo("true") }},
		{"vulnerable npm packages", vulnerableNPM},
	})
	require.Equal(t, 0, code)
	require.Equal(t, 2, strings.Count(out.String(), "UNKNOWN  vulnerable"), out.String())
	require.Contains(t, out.String(), "2 of 2 checks could not be made: there may be known vulnerabilities")
	require.NotContains(t, out.String(), "ok ")
}

// It reads the whole program, which takes a while.
func TestAKnownVulnerabilityOfTheProgramFailsTheCheck(t *testing.T) {
	if os.Getenv("ABIDE_SOAK") == "" {
		t.Skip("make soak runs it")
	}
	askAt(t, advisories(t).URL)
	tool := filepath.Join(t.TempDir(), "govulncheck")
	out, err := exec.Command("go", "build", "-modfile=internal/tools/lint/go.mod", "-o", tool, "golang.org/x/vuln/cmd/govulncheck").CombinedOutput()
	require.NoError(t, err, string(out))
	var said bytes.Buffer
	require.Equal(t, 1, report(&said, []check{{"vulnerable Go code", func() (string, error) { return vulnerableGo(tool) }}}))
	require.Contains(t, said.String(), "FAILED   vulnerable Go code")
	require.Contains(t, said.String(), "Your code is affected by 1 vulnerability")
}
