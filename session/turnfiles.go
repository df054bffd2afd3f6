package session

import (
	"context"

	"github.com/abidehub/abide/internal/gitstate"
)

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
