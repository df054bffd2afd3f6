package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/abidehub/abide/session/store/logfile"
)

// noFileHere is the message for a directory that has the name of a file.
const noFileHere = "it is a directory, where a file belongs; move it away"

// checkTop checks the files beside the sessions.
func checkTop(fsys FS, dir string, r *Report) {
	for _, name := range []string{".", sessionsDir, hubName, lockName} {
		before := len(r.Problems)
		checkMode(fsys, filepath.Join(dir, name), Problem{File: name}, r)
		for i := before; i < len(r.Problems); i++ {
			// Every run rewrites hub.json, and creates LOCK if it is missing.
			p := &r.Problems[i]
			p.Repairable = name == hubName && p.Kind == ProblemMode || p.Detail == missing
		}
	}
	if names, err := fsys.ReadDir(dir); err == nil { // otherwise its mode was reported
		for _, n := range names {
			if name := n.Name(); n.IsDir() && (name == lockName || name == "hub.addr" || name == "auth.lock") {
				r.add(Problem{Kind: ProblemStray, File: name, Detail: noFileHere})
			}
			checkJSON(fsys, filepath.Join(dir, n.Name()), Problem{File: n.Name()}, r)
		}
	}
	checkHub(fsys, dir, r)
}

func checkHub(fsys FS, dir string, r *Report) {
	data, err := fsys.ReadFile(filepath.Join(dir, hubName))
	if errors.Is(err, fs.ErrNotExist) {
		return // its mode was reported
	}
	var hub hubFile
	if err == nil {
		err = json.Unmarshal(data, &hub)
	}
	at := Problem{Kind: ProblemUnreadable, File: hubName}
	switch {
	case err != nil:
		at.Detail, at.Repairable = fmt.Sprintf("%v; a hub rebuilds it, with another hub id", err), true
	case hub.Format > dirFormat:
		at.Detail = fmt.Sprintf("it has format %d: use the newer program that wrote it", hub.Format)
	case !logfile.IsEpoch(hub.HubID):
		at.Detail, at.Repairable = "no hub id in it; a hub rebuilds it", true
	case !isRun(hub.LastRun.RunID):
		at.Detail, at.Repairable = fmt.Sprintf("no run can have had the id %q; the next makes another", hub.LastRun.RunID), true
	default:
		return
	}
	r.add(at)
}

// checkJSON verifies that a .json file is valid JSON. The package that writes it
// checks the contents.
func checkJSON(fsys FS, path string, at Problem, r *Report) {
	switch name := filepath.Base(path); {
	case !strings.HasSuffix(name, ".json"), name == hubName, name == metadataName, name == labelsName:
		return // missing, or checked elsewhere
	}
	data, err := fsys.ReadFile(path)
	if err == nil && json.Valid(data) || errors.Is(err, fs.ErrNotExist) {
		return
	}
	at.Kind, at.Detail = ProblemUnreadable, "it is not JSON; docs/storage.md and docs/operations.md say what it is for"
	if err != nil {
		at.Detail = err.Error()
	}
	r.add(at)
}

// checkMode verifies that only the owner may use a file or directory.
func checkMode(fsys FS, path string, at Problem, r *Report) {
	info, err := fsys.Stat(path)
	if at.File == sessionsDir && err == nil && info.Mode().Type() == fs.ModeSymlink {
		// A person may store the sessions on another device: follow a link.
		info, err = fsys.Stat(path + string(filepath.Separator) + ".")
	}
	modeOf(info, err, at, r)
}

func modeOf(info fs.FileInfo, err error, at Problem, r *Report) {
	if errors.Is(err, fs.ErrNotExist) {
		at.Kind, at.Detail = ProblemUnreadable, missing
		r.add(at)
		return
	}
	if err != nil {
		at.Kind, at.Detail = ProblemUnreadable, err.Error()
		r.add(at)
		return
	}
	want := fs.FileMode(0o600)
	switch mode := info.Mode(); {
	case mode.Type() == fs.ModeSymlink:
		at.Kind, at.Detail = ProblemStray, "it is a symbolic link; put what it leads to in its place"
		r.add(at)
		return
	case info.IsDir():
		want = 0o700
	case !mode.IsRegular():
		at.Kind, at.Detail = ProblemStray, "it is neither a file nor a directory; nothing reads it"
		r.add(at)
		return
	}
	if got := info.Mode().Perm(); got != want {
		at.Kind, at.Detail = ProblemMode, fmt.Sprintf("its mode is %#o and must be %#o: chmod it", got, want)
		r.add(at)
	}
}
