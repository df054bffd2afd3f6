package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/cli"
)

// version is set by the linker (-X main.version=…); if empty, the version that the
// Go tool recorded is used.
var version string

func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "dev-" + s.Value[:12]
		}
	}
	return "dev"
}

// versionAnswer is the output of `abide version --json`.
type versionAnswer struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (p *program) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			answer := versionAnswer{versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if p.json {
				return p.printJSON(answer)
			}
			_, err := fmt.Fprintf(p.stdout, "abide %s (%s, %s/%s)\n", answer.Version, answer.Go, answer.OS, answer.Arch)
			return err
		},
	}
	p.jsonFlag(cmd)
	return cmd
}

func (p *program) printJSON(value any) error { return cli.WriteJSON(p.stdout, value) }
