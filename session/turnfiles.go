package session

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/playback"
)

const (
	turnFilesName = "turn-files.json"
	// turnFilesFormat changes with anything that is counted otherwise.
	turnFilesFormat = 1
	// compareBound limits the time to compare the states of turns.
	compareBound = 3 * time.Second
)

// turnFiles is turn-files.json of a session: the files of turns by their states, which do
// not change any more. It spares comparing them again, and outlives states that were dropped.
type turnFiles struct {
	Format int                  `json:"format"`
	Epoch  string               `json:"epoch"`
	Turns  map[int]comparedTurn `json:"turns"`
}

// comparedTurn are the files of a turn, as a playback.Turn has them.
type comparedTurn struct {
	From    string          `json:"from"`
	To      string          `json:"to"`
	Files   []playback.File `json:"files"`
	LeftOut int             `json:"left_out,omitempty"`
	Added   int             `json:"added"`
	Removed int             `json:"removed"`
}

// compareTurns gives the turns that have both states the files that differ between these. A
// turn that cannot be compared keeps those that the agent told of.
func (m *Manager) compareTurns(ctx context.Context, b *BackgroundSession, turns []*playback.Turn) {
	ctx, cancel := context.WithTimeout(ctx, compareBound)
	defer cancel()
	of := filestate.Of{Session: b.id, Folder: b.log.Metadata().Workspace}
	_, _ = b.undoFacts(ctx) // waits for the state at the end of the last turn, as long as there is time
	known := b.readTurnFiles()
	states, err := m.hub.states.States(of)
	if err != nil {
		var none *filestate.NoneError
		if !errors.As(err, &none) {
			m.logger.Info("the files of turns are those that the agent told of", "session", b.id, "err", err)
		}
		states = nil
	}
	var fresh []*playback.Turn
	for _, t := range turns {
		from, to := states[filestate.Before(t.Turn)], states[filestate.After(t.Turn)]
		if was, ok := known.Turns[t.Turn]; ok && (from == "" || to == "" || was.From == from && was.To == to) {
			t.Compare(was.Files)
			t.FilesLeftOut, t.Added, t.Removed = was.LeftOut, was.Added, was.Removed
		} else if from != "" && to != "" && t.EndSeq != 0 {
			known.Turns[t.Turn] = comparedTurn{From: from, To: to}
			fresh = append(fresh, t)
		}
	}
	if len(fresh) == 0 {
		return
	}
	if err := m.compareFresh(ctx, of, known.Turns, fresh); err != nil {
		m.logger.Info("the files of turns are those that the agent told of", "session", b.id, "err", err)
		return
	}
	data, err := json.Marshal(known)
	if err == nil {
		err = b.log.Derived().Write(turnFilesName, data)
	}
	if err != nil {
		m.logger.Warn("the files of turns could not be written; they are compared again next time", "session", b.id, "err", err)
	}
}

// readTurnFiles reads what was compared before.
func (b *BackgroundSession) readTurnFiles() turnFiles {
	var f turnFiles
	data, err := b.log.Derived().Read(turnFilesName)
	if err != nil || json.Unmarshal(data, &f) != nil || f.Format != turnFilesFormat || f.Epoch != b.log.Epoch() || f.Turns == nil {
		return turnFiles{Format: turnFilesFormat, Epoch: b.log.Epoch(), Turns: map[int]comparedTurn{}}
	}
	return f
}

// compareFresh compares the states of turns, in all with two runs of git. Files that the agent
// told of and that no state can have stay: those outside of the folder and ignored ones.
func (m *Manager) compareFresh(ctx context.Context, of filestate.Of, known map[int]comparedTurn, turns []*playback.Turn) error {
	var pairs []gitstate.Pair
	for _, t := range turns {
		pairs = append(pairs, gitstate.Pair{From: known[t.Turn].From, To: known[t.Turn].To})
	}
	differ, err := m.hub.states.LineCounts(ctx, of, pairs)
	if err != nil {
		return err
	}
	var asked []gitstate.Place
	for i, t := range turns {
		for _, f := range t.Files {
			if path, in := pathIn(of.Folder, f.Path); in {
				asked = append(asked, gitstate.Place{Commit: pairs[i].From, Path: path}, gitstate.Place{Commit: pairs[i].To, Path: path})
			}
		}
	}
	there, err := m.hub.states.Present(ctx, of, asked)
	if err != nil {
		return err
	}
	kept := map[gitstate.Place]bool{}
	for i, place := range asked {
		kept[place] = there[i]
	}
	for i, t := range turns {
		files := []playback.File{}
		for _, l := range differ[i] {
			files = append(files, playback.File{Path: filepath.Join(of.Folder, l.Path), Added: l.Added, Removed: l.Removed, Uncounted: l.Binary})
		}
		for _, f := range t.Files {
			path, in := pathIn(of.Folder, f.Path)
			if !in || !kept[gitstate.Place{Commit: pairs[i].From, Path: path}] && !kept[gitstate.Place{Commit: pairs[i].To, Path: path}] {
				files = append(files, f)
			}
		}
		t.Compare(files)
		known[t.Turn] = comparedTurn{pairs[i].From, pairs[i].To, t.Files, t.FilesLeftOut, t.Added, t.Removed}
	}
	return nil
}

// pathIn is the path of a file that an agent names, relative to the folder, if it is in it.
func pathIn(folder, path string) (string, bool) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	rel, err := filepath.Rel(folder, path)
	return rel, err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, "../")
}

// changed counts the files that differ between the target and a state, and names the first;
// -1 if that cannot be known.
func (u *undo) changed(ctx context.Context, to string) (count int, first []UndoFile) {
	differ, err := u.manager.hub.states.Differences(ctx, u.of(), u.target, to)
	if err != nil {
		return -1, nil
	}
	for _, d := range differ[:min(len(differ), mostChanged)] {
		first = append(first, UndoFile{Path: d.Path, Change: changeOf(d)})
	}
	return len(differ), first
}

// changeOf is what happens to a file from the one state to the other.
func changeOf(d gitstate.Difference) string {
	switch {
	case d.To.Object == "":
		return FileRemoved
	case d.From.Object == "":
		return FileMade
	}
	return FileWritten
}
