// Package archtest holds the import arrows of the architecture and finds circles of
// files, so that an unplanned import or a growing circle fails a test.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Module is this module's path.
const Module = "github.com/abidehub/abide"

// anything lets a package import every package.
const anything = "*"

// row is one package's arrows.
type row struct {
	// imports are the packages of this module it may import.
	imports []string
	// libraries says whether it may import other modules.
	libraries bool
}

// arrows is the table of the allowed imports: for each package, the packages of
// this module that it may import. A package that is not listed may import nothing.
// server/wire takes from the session only what needs events alone: the values that
// are computed from them and the sets of words of package state cross as they are.
func arrows() map[string]row {
	return map[string]row{
		"cmd/abide":                   {[]string{anything}, true},
		"server":                      {[]string{"internal/jobs", "internal/schedule", "internal/audit", "internal/machines", "internal/notify", "internal/workspace", "session", "observer", "queue", "server/api", "server/backlog", "server/running", "server/wire", "session/event", "session/list", "session/state", "internal/auth", "session/presence", "session/settings", "session/comment"}, true},
		"server/api":                  {[]string{"internal/jobs", "internal/schedule", "internal/audit", "internal/machines", "internal/notify", "internal/preview", "internal/workspace", "session", "queue", "server/backlog", "server/running", "server/wire", "session/event", "session/export", "session/list", "session/playback", "session/resume", "session/search", "session/state", "internal/auth", "session/recorded", "session/exchange", "session/problem", "session/settings", "session/branch", "session/space", "session/usage", "session/budget", "session/comment"}, true},
		"server/running":              {[]string{"internal/auth", "session/state"}, false},
		"server/backlog":              {[]string{"server/wire", "session/event", "session/journal", "session/state"}, false},
		"server/wire":                 {[]string{"session/event", "session/export", "session/playback", "session/state"}, false},
		"session":                     {[]string{"observer", "queue", "session/behind", "session/journal", "session/list", "session/playback", "session/resume", "session/rule", "session/search", "session/state", "session/transcript", "session/event", "internal/bell", "internal/disk", "internal/gitstate", "session/comment", "session/recorded", "session/exchange", "session/problem", "session/form", "session/slots", "session/presence", "session/settings", "session/worktree", "session/branch", "session/allow", "session/filestate", "session/recovery", "session/index", "session/snapshot", "session/space", "session/usage", "session/budget", "internal/rootfs"}, true},
		"session/comment":             {[]string{"session/journal", "session/state", "session/event", "internal/bell"}, false},
		"session/recorded":            {[]string{"session/journal", "session/state", "session/event"}, false},
		"session/exchange":            {[]string{"session/comment", "session/export", "session/journal", "session/state", "session/store/logfile", "session/event", "queue"}, false},
		"session/problem":             {[]string{"session/journal", "session/state", "internal/disk"}, false},
		"session/form":                {[]string{"session/state"}, true},
		"session/slots":               {[]string{"internal/bell"}, false},
		"session/presence":            {[]string{"session/state", "internal/bell"}, false},
		"session/settings":            {[]string{"session/state", "session/event", "internal/rootfs"}, false},
		"session/worktree":            {[]string{"session/event", "session/settings", "session/state", "internal/gitstate", "internal/ownfiles"}, false},
		"session/filestate":           {[]string{"internal/gitstate", "internal/turns", "internal/ownfiles", "internal/rootfs", "internal/disk"}, true},
		"session/branch":              {[]string{"session/event", "session/resume", "session/state", "internal/forge", "internal/gitstate"}, false},
		"session/recovery":            {[]string{"session/journal", "session/problem", "session/state", "session/event", "queue"}, false},
		"session/event":               {nil, false},
		"session/journal":             {[]string{"session/event"}, false},
		"session/journal/journaltest": {[]string{"session/journal", "session/event"}, true},
		"session/journal/memory":      {[]string{"session/journal", "session/store/blobs", "session/store/logfile", "session/event", "internal/bell"}, false},
		"session/space":               {[]string{"session/behind", "session/event", "session/journal", "session/list", "session/state"}, false},
		"session/list":                {[]string{"session/journal", "session/state", "session/event", "internal/bell", "internal/disk", "internal/jsonfile"}, false},
		"session/resume":              {[]string{"observer", "session/state", "session/transcript", "session/event"}, false},
		"session/allow":               {[]string{"session/state", "session/event"}, false},
		"session/rule":                {[]string{"session/state", "session/event", "internal/jsonfile"}, false},
		"session/behind":              {[]string{"session/event", "session/journal", "session/store/logfile"}, false},
		"session/snapshot":            {[]string{"internal/bell", "session/behind", "session/event", "session/journal", "session/state", "session/transcript", "session/usage"}, false},
		"session/budget":              {[]string{"session/event", "session/journal", "session/settings", "session/usage", "internal/bell"}, false},
		"session/usage":               {[]string{"session/behind", "session/event", "session/journal"}, false},
		"session/index":               {[]string{"session/behind", "session/event", "session/journal", "session/search", "internal/bell"}, true},
		"session/search":              {[]string{"session/journal", "session/store/logfile", "session/event", "session/state"}, true},
		"session/store/packed":        {[]string{"internal/disk"}, true},
		"session/store":               {[]string{"session/journal", "session/store/blobs", "session/store/logfile", "session/store/packed", "session/store/tail", "session/event", "internal/bell", "internal/disk", "internal/jsonfile"}, true},
		"session/store/blobs":         {[]string{"session/journal", "session/store/logfile", "session/event", "internal/disk"}, false},
		"session/store/logfile":       {[]string{"session/event", "internal/disk"}, false},
		"session/store/tail":          {[]string{"session/event"}, false},
		"session/acp":                 {[]string{"session/allow", "session/event", "internal/gitstate", "internal/ownfiles", "internal/rootfs"}, true},
		"session/state":               {[]string{"session/event", "session/transcript"}, true},
		"session/transcript":          {[]string{"session/event"}, false},
		"session/export":              {[]string{"observer", "session/event", "session/redact", "session/transcript"}, false},
		"session/redact":              {nil, false},
		"session/playback":            {[]string{"observer", "session/event"}, false},
		"observer":                    {[]string{"session/event"}, false},
		"queue":                       {[]string{"internal/disk", "internal/jsonfile"}, false},
		"frontend":                    {nil, false},
		"internal/auth":               {[]string{"session/event", "internal/bell", "internal/disk", "internal/jsonfile"}, true},
		"internal/config":             {[]string{"session/event", "session/state", "internal/disk", "internal/outgoing", "internal/ownfiles"}, true},
		"internal/demoagent":          {[]string{"session/event"}, true},
		"client":                      {[]string{"server/wire", "session/event"}, true},
		"internal/localhub":           {[]string{"internal/audit", "internal/auth", "client", "internal/disk", "internal/jsonfile"}, false},
		"internal/reply":              {[]string{"client", "internal/plain", "server/wire", "session/event"}, true},
		"internal/cli":                {[]string{"client", "internal/localhub", "internal/plain", "internal/reply", "internal/screen", "internal/tape", "observer", "server/wire", "session/event", "session/playback", "session/state", "session/transcript"}, true},
		"internal/cells":              {nil, true},
		"internal/tape":               {[]string{"client", "internal/plain", "session/event"}, false},
		"internal/desk":               {[]string{"client", "internal/cells", "internal/plain", "internal/reply", "server/wire", "session/event", "session/state", "session/transcript"}, true},
		"internal/screen":             {[]string{"client", "internal/cells", "internal/desk", "internal/plain", "internal/tape", "observer", "server/wire", "session/event", "session/playback", "session/state"}, true},
		"internal/record":             {[]string{"internal/bell", "client", "internal/disk", "server/wire", "session", "session/acp", "session/event", "session/journal", "session/recorded", "session/state", "session/store"}, false},
		"internal/plain":              {[]string{"session/event", "session/state", "session/transcript"}, true},
		"internal/audit":              {nil, true},
		"internal/jobs":               {[]string{"server/wire", "internal/byhand", "internal/gitstate", "session/allow", "session/settings", "session", "session/event", "session/list", "session/state", "internal/bell"}, false},
		"internal/schedule":           {[]string{"server/wire", "session/event", "session/state", "internal/bell", "internal/jsonfile"}, true},
		"internal/notify":             {[]string{"server/wire", "session", "session/list", "session/state", "session/event", "session/journal", "observer", "internal/auth", "internal/bell", "internal/disk", "internal/outgoing", "internal/jsonfile"}, true},
		"internal/machines":           {[]string{"server/wire", "session/event", "session/journal", "session/list", "session/state", "session/store", "session/store/logfile", "internal/auth", "internal/bell", "internal/disk", "internal/jsonfile"}, true},
		"internal/outgoing":           {nil, false},
		"internal/known":              {nil, false},
		"internal/agentsetup":         {[]string{"internal/config", "internal/known", "server/wire", "session/acp", "session/resume", "session/state"}, false},
		"internal/preview":            {nil, true},
		"internal/tools/supply":       {nil, false},
		"internal/bell":               {nil, false},
		"internal/turns":              {nil, false},
		"internal/jsonfile":           {[]string{"internal/disk"}, false},
		"internal/rootfs":             {nil, false},
		"internal/disk":               {nil, true},
		"internal/byhand":             {nil, false},
		"internal/forge":              {nil, false},
		"internal/gitstate":           {[]string{"internal/byhand", "internal/rootfs", "internal/turns"}, false},
		"internal/ownfiles":           {nil, false},
		"internal/tools/seed":         {nil, false},
		"internal/tools/soak":         {nil, false},
		"internal/workspace":          {[]string{"server/wire", "internal/forge", "internal/gitstate", "internal/ownfiles", "internal/rootfs"}, true},
		"internal/blackbox":           {nil, false},
		"internal/tools/archtest":     {nil, false},
		"internal/tools/longsession":  {[]string{"internal/disk", "queue", "session/journal", "session/store", "session/event"}, false},
		"internal/tools/tracetap":     {nil, false},
		"internal/tools/tsgen":        {[]string{"server/wire", "session/event", "session/export", "session/playback", "session/state"}, false},
	}
}

// reserved are libraries that only the named packages may import.
func reserved() map[string][]string {
	return map[string][]string{
		"github.com/coder/acp-go-sdk":       {"session/acp", "internal/demoagent"},
		"github.com/coder/websocket":        {"server", "client", "internal/machines"},
		"github.com/nats-io/nats-server/v2": {"internal/machines"},
		"github.com/nats-io/nats.go":        {"internal/machines"},
		"github.com/klauspost/compress":     {"session/store/packed"},
		"modernc.org/sqlite":                {"session/index"},
		"github.com/gorilla/mux":            {"server/api"},
		"github.com/netresearch/go-cron":    {"internal/schedule"},
		"charm.land/bubbletea/v2":           {"internal/desk", "internal/screen"},
		"charm.land/bubbles/v2":             {"internal/desk"},
	}
}

// Package has the tests' facts about one package.
type Package struct {
	// Path is relative to the module.
	Path string
	// Imports are the imports of its code, without its tests.
	Imports []string
	// Doc is the first sentence of its package comment.
	Doc string
}

// Load lists the packages of the module in dir.
func Load(dir string) ([]Package, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Doc", "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	var packages []Package
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath, Doc string
			Imports         []string
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read package list: %w", err)
		}
		path := strings.TrimPrefix(strings.TrimPrefix(listed.ImportPath, Module), "/")
		packages = append(packages, Package{Path: path, Imports: listed.Imports, Doc: listed.Doc})
	}
}

// Unplanned returns a sentence for each import that is not in the table.
func Unplanned(packages []Package) []string {
	var found []string
	for _, p := range packages {
		for _, imported := range p.Imports {
			if !planned(p.Path, imported) {
				found = append(found, fmt.Sprintf("%s imports %s, which docs/architecture.md does not plan", p.Path, imported))
			}
		}
	}
	return found
}

func planned(path, imported string) bool {
	own := arrows()[path]
	if slices.Contains(own.imports, anything) {
		return true
	}
	if inner, ok := strings.CutPrefix(imported, Module+"/"); ok {
		return slices.Contains(own.imports, inner)
	}
	for library, users := range reserved() {
		if imported == library || strings.HasPrefix(imported, library+"/") {
			return slices.Contains(users, path)
		}
	}
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".") || own.libraries
}

// Undocumented returns a sentence for each package without a package comment.
func Undocumented(packages []Package) []string {
	var found []string
	for _, p := range packages {
		if !strings.HasPrefix(p.Doc, "Package ") && !strings.HasPrefix(p.Doc, "Command ") {
			found = append(found, fmt.Sprintf("%s has no package comment", p.Path))
		}
	}
	return found
}
