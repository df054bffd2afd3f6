// Command supply checks abide's dependencies: module checksums, known
// vulnerabilities, licences, and writes the list of parts (SBOM, CycloneDX).
//
// It prints a line for each check: ok, UNKNOWN or FAILED, and exits with 1 if one
// failed. A look-up that fails for lack of network is unknown, never ok. Advisories come
// from the Go vulnerability database, or the one in ABIDE_VULNDB, and from npm's registry.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// patience bounds each check.
const patience = 3 * time.Minute

// part is a module or package that abide is built of.
type part struct{ name, version, purl, licence string }

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

// run is the program: its argument is where the list of parts goes.
func run(args []string, out io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(out, "usage: supply GOVULNCHECK SBOM.json")
		return 2
	}
	parts, err := allParts()
	return report(out, []check{
		{"module checksums", func() (string, error) { return command(".", "go", "mod", "verify") }},
		{"vulnerable Go code", func() (string, error) { return vulnerableGo(args[0]) }},
		{"vulnerable npm packages", vulnerableNPM},
		{"licences", func() (string, error) { return licences(parts, err) }},
		{"list of parts", func() (string, error) { return writeParts(args[1], parts, err) }},
	})
}

// check is one of the checks. look returns what to say of it.
type check struct {
	name string
	look func() (string, error)
}

// report makes the checks and prints them. It returns the exit code.
func report(out io.Writer, checks []check) int {
	code, unknown := 0, 0
	for _, c := range checks {
		said, err := c.look()
		var missing unknownError
		switch {
		case err == nil:
			fmt.Fprintf(out, "ok       %s: %s\n", c.name, said)
		case errors.As(err, &missing):
			fmt.Fprintf(out, "UNKNOWN  %s: %v\n", c.name, err)
			unknown++
		default:
			fmt.Fprintf(out, "FAILED   %s: %v\n", c.name, err)
			code = 1
		}
	}
	if unknown > 0 {
		fmt.Fprintf(out, "%d of %d checks could not be made: there may be known vulnerabilities\n", unknown, len(checks))
	}
	return code
}

// unknownError says that a look-up had no network.
type unknownError struct{ why string }

func (e unknownError) Error() string { return e.why }

// noNetwork matches the tools' messages when a host cannot be reached.
var noNetwork = regexp.MustCompile(`(?i)no such host|dial tcp|connection refused|i/o timeout|network is unreachable|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|proxyconnect|TLS handshake timeout|deadline exceeded|unexpected status|(http|status)[^\n]{0,20}(403|404|405|501|502|503)`)

func command(dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("%s: %w: %s", name, err, lastLines(text, 12))
	}
	return lastLines(text, 1), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// database is where advisories about Go modules are.
func database() string { return cmp.Or(os.Getenv("ABIDE_VULNDB"), "https://vuln.go.dev") }

// vulnerableGo fails where a known vulnerability is reached by this program's code.
func vulnerableGo(govulncheck string) (string, error) {
	if _, err := exec.LookPath(govulncheck); err != nil {
		return "", err
	}
	if err := reach(database() + "/index/db.json"); err != nil {
		return "", unknownError{"the vulnerability database could not be reached: " + err.Error()}
	}
	said, err := command(".", govulncheck, "-db", database(), "./cmd/abide")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return said, nil
	case errors.As(err, &exit) && exit.ExitCode() == 3: // found
		return "", err
	case noNetwork.MatchString(said):
		return "", unknownError{"the vulnerability database could not be reached"}
	}
	return "", err
}

// reach reports whether an address answers, in less time than a tool's own retries.
func reach(address string) error {
	client := http.Client{Timeout: 5 * time.Second}
	res, err := client.Get(address)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", res.Status)
	}
	return nil
}

// vulnerableNPM fails on a vulnerability of level high or worse.
func vulnerableNPM() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "audit", "--json", "--audit-level=high", "--fetch-retries=0", "--fetch-timeout=20000")
	cmd.Dir = "frontend"
	out, err := cmd.Output()
	return readAudit(out, err)
}

// readAudit reads npm's report. Without one npm could not look.
func readAudit(out []byte, err error) (string, error) {
	var report struct {
		Version         int `json:"auditReportVersion"`
		Vulnerabilities map[string]struct {
			Severity string `json:"severity"`
		} `json:"vulnerabilities"`
	}
	if json.Unmarshal(out, &report) != nil || report.Version == 0 {
		if err == nil {
			return "", fmt.Errorf("npm audit said nothing that can be read")
		}
		return "", unknownError{"npm's list of vulnerabilities could not be reached"}
	}
	var bad []string
	for name, v := range report.Vulnerabilities {
		if v.Severity == "high" || v.Severity == "critical" {
			bad = append(bad, name+" ("+v.Severity+")")
		}
	}
	if slices.Sort(bad); len(bad) > 0 {
		return "", errors.New(strings.Join(bad, ", "))
	}
	return fmt.Sprintf("%d below high", len(report.Vulnerabilities)), nil
}

func allParts() ([]part, error) {
	modules, err := goParts()
	if err != nil {
		return nil, err
	}
	packages, err := npmParts("frontend/package-lock.json")
	return append(modules, packages...), err
}

// goParts are the modules that the program is linked with.
func goParts() ([]part, error) {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}`, "./cmd/abide").Output()
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	var parts []part
	for _, line := range slices.Compact(lines) {
		if f := strings.Fields(line); len(f) == 3 {
			parts = append(parts, part{f[0], f[1], "pkg:golang/" + f[0] + "@" + f[1], licenceIn(f[2])})
		}
	}
	return parts, nil
}

// licenceIn tells a licence by its text.
func licenceIn(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "[LlCc][IiOo][CcPp][EeYy]*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		flat := strings.Join(strings.Fields(string(text)), " ")
		for _, known := range []struct{ says, id string }{
			{"Apache License Version 2.0", "Apache-2.0"}, {"Mozilla Public License Version 2.0", "MPL-2.0"},
			{"Permission is hereby granted, free of charge", "MIT"}, {"Permission to use, copy, modify, and/or distribute", "ISC"},
			{"Permission to use, copy, modify, and distribute", "ISC"}, {"Redistribution and use in source and binary forms", "BSD"},
		} {
			if strings.Contains(flat, known.says) {
				return known.id
			}
		}
	}
	return ""
}

// npmParts are the packages of the lock file.
func npmParts(path string) ([]part, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read npm's lock file: %w", err)
	}
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
			Licence string `json:"license"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("read npm's lock file: %w", err)
	}
	var parts []part
	for at, p := range lock.Packages {
		if i := strings.LastIndex(at, "node_modules/"); i >= 0 {
			name := at[i+len("node_modules/"):]
			parts = append(parts, part{name, p.Version, "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version, p.Licence})
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.purl, b.purl) })
	return slices.Compact(parts), nil
}

// accepted are the licences that a part may have. The copyleft of MPL-2.0 is of the
// file; MIT-0, 0BSD and CC0 ask for nothing.
func accepted(licence string) bool {
	for one := range strings.SplitSeq(strings.Trim(licence, "()"), " OR ") {
		switch strings.Trim(one, "() ") {
		case "MIT", "MIT-0", "ISC", "BSD", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "MPL-2.0", "CC0-1.0", "CC-BY-4.0", "BlueOak-1.0.0", "Python-2.0", "Unlicense":
			return true
		}
	}
	return false
}

func licences(parts []part, err error) (string, error) {
	if err != nil {
		return "", err
	}
	var bad []string
	for _, p := range parts {
		if !accepted(p.licence) {
			bad = append(bad, fmt.Sprintf("%s@%s (%s)", p.name, p.version, p.licence))
		}
	}
	if len(bad) > 0 {
		return "", fmt.Errorf("not among the accepted: %s", strings.Join(bad, ", "))
	}
	return fmt.Sprintf("%d parts", len(parts)), nil
}

// writeParts writes the list in CycloneDX 1.5.
func writeParts(path string, parts []part, err error) (string, error) {
	if err != nil {
		return "", err
	}
	type object = map[string]any
	components := []object{}
	for _, p := range parts {
		components = append(components, object{
			"type": "library", "name": p.name, "version": p.version, "purl": p.purl,
			"licenses": []object{{"license": object{"name": p.licence}}},
		})
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(object{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}); err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	return path, nil
}
