package known

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"runtime"
	"strings"
)

// MaxRegistry bounds a registry, in bytes.
const MaxRegistry = 8 << 20

// registry is the JSON of a registry of the protocol's project.
type registry struct {
	Agents []struct {
		ID           string `json:"id"`
		Name         string `json:"name"`
		Distribution struct {
			Npx, Uvx *struct {
				Package string            `json:"package"`
				Args    []string          `json:"args"`
				Env     map[string]string `json:"env"`
			}
			Binary map[string]struct {
				Archive string            `json:"archive"`
				Cmd     string            `json:"cmd"`
				Args    []string          `json:"args"`
				Env     map[string]string `json:"env"`
			} `json:"binary"`
		} `json:"distribution"`
	} `json:"agents"`
}

// agentID is what the registry allows as an id, and the configuration as a name.
var agentID = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// ReadRegistry reads the agents of a registry that can run on this system: by npx or uvx,
// which fetch them at each start, or by a program that a person has downloaded. Nothing
// is downloaded here. Entries of an unknown form are left out.
func ReadRegistry(data []byte) ([]Agent, error) {
	if len(data) > MaxRegistry {
		return nil, fmt.Errorf("the registry has more than %d MiB", MaxRegistry>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // a file of another system
	var r registry
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("the registry is not JSON of the expected form: %w", err)
	}
	var list []Agent
	for _, entry := range r.Agents {
		a := Agent{Name: entry.ID, Title: cmp.Or(entry.Name, entry.ID)}
		d := entry.Distribution
		binary, built := d.Binary[platform()]
		program := path.Base(strings.ReplaceAll(binary.Cmd, `\`, "/"))
		switch {
		case !agentID.MatchString(entry.ID):
			continue
		case d.Npx != nil && isPackage(d.Npx.Package):
			a.Programs, a.Args, a.Env = []string{"npx"}, append([]string{"-y", d.Npx.Package}, d.Npx.Args...), d.Npx.Env
			a.Install = "install Node.js: it brings npx, which fetches " + d.Npx.Package
		case d.Uvx != nil && isPackage(d.Uvx.Package):
			a.Programs, a.Args, a.Env = []string{"uvx"}, append([]string{d.Uvx.Package}, d.Uvx.Args...), d.Uvx.Env
			a.Install = "install uv: it brings uvx, which fetches " + d.Uvx.Package
		case built && program != "." && program != "/" && program != "..":
			a.Programs, a.Args, a.Env = []string{program}, binary.Args, binary.Env
			a.Install = fmt.Sprintf("download %s and put %s into the PATH", binary.Archive, program)
		default:
			continue
		}
		list = append(list, a)
	}
	if len(list) == 0 {
		return nil, errors.New("the registry has no agent for this system")
	}
	return list, nil
}

// isPackage reports whether a text names a package, and is no flag.
func isPackage(name string) bool { return name != "" && !strings.HasPrefix(name, "-") }

// platform is this system in a registry.
func platform() string {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return runtime.GOOS + "-" + arch
}
