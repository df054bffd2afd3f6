// Package filestate keeps the files of a session's workspace as they were at a moment, and
// puts them back.
//
// A state is a commit of a private ref, refs/abide/SESSION/NAME, in the repository that the
// workspace is in, or in a store beside the sessions. Its tree has the workspace's files
// that git tracks or does not ignore, byte for byte. The person's index, HEAD and files are
// not touched by keeping one.
package filestate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/ownfiles"
	"github.com/abidehub/abide/internal/rootfs"
	"github.com/abidehub/abide/internal/turns"
)

const (
	// mostFiles and mostBytes limit the files of a state.
	mostFiles = 10_000
	mostBytes = 200 << 20
	// mostTurns is how many turns of a session keep their states: the newest.
	mostTurns = 100
	// keepBound limits the time to keep a state, restoreBound that to put one back.
	keepBound    = 20 * time.Second
	restoreBound = 2 * time.Minute
)

// NoneError says that there is no state.
type NoneError struct {
	// Why is for a person.
	Why string
	// Err is the cause, if there is more to say.
	Err error
}

// Error implements error.
func (e *NoneError) Error() string {
	if e.Err != nil {
		return "the files are not kept: " + e.Why + ": " + e.Err.Error()
	}
	return "the files are not kept: " + e.Why
}

// Unwrap returns the cause.
func (e *NoneError) Unwrap() error { return e.Err }

// Of is whose files are kept: a session, and the folder it works in.
type Of struct{ Session, Folder string }

// Keeper keeps states. It is safe for concurrent use. Of one session it does one thing at a
// time.
type Keeper struct {
	git    *gitstate.Git
	dir    string
	own    ownfiles.Set
	logger *slog.Logger

	turns turns.Turns  // of sessions
	step  func(string) // nil but in tests: called between the steps
}

// New returns a keeper that has a directory for each session below dir. The hub's own files
// are never in a state.
func New(git *gitstate.Git, dir string, own []string, logger *slog.Logger) *Keeper {
	return &Keeper{git: git, dir: dir, own: own, logger: logger}
}

// Before and After are the names of a turn's states: before its prompt, and at its end.
func Before(turn int) string { return strconv.Itoa(turn) }

// After is the name of the state at the end of a turn.
func After(turn int) string { return strconv.Itoa(turn) + "-end" }

// Undone is the name of the state before an undo of a session, which are numbered.
func Undone(n int) string { return "undo-" + strconv.Itoa(n) }

// JobStart and JobEnd are the names of a job's states.
const (
	JobStart = "job-start"
	JobEnd   = "job-end"
)

// State is a state that was kept.
type State struct {
	gitstate.State
	files map[string]file
}

// Keep keeps the files as they are now, under a name; without a name they last until git
// tidies up. Before it gets the name, claim is asked whether it is wanted still. A NoneError
// says why there is no state.
func (k *Keeper) Keep(ctx context.Context, of Of, name string, claim func() bool) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, keepBound)
	defer cancel()
	done, err := k.turns.Take(ctx, of.Session)
	if err != nil {
		return State{}, noState(err)
	}
	defer done()
	return k.keep(ctx, of, name, claim)
}

func (k *Keeper) keep(ctx context.Context, of Of, name string, claim func() bool) (State, error) {
	began := time.Now()
	at, err := k.place(of)
	if err != nil {
		return State{}, err
	}
	folder, err := rootfs.Open(of.Folder)
	if err != nil {
		return State{}, &NoneError{"the folder cannot be read", err}
	}
	defer folder.Close()
	size, err := k.git.HashSize(ctx, at.objects)
	if err != nil {
		return State{}, noState(err)
	}
	s := scan{keeper: k, folder: folder, at: at, dir: of.Folder, session: of.Session, began: began, size: size, own: k.own.Infos(), dirs: map[string]bool{}}
	var last memory
	group, looking := errgroup.WithContext(ctx)
	group.Go(func() error {
		listed, err := k.git.Files(looking, at.listed, of.Folder)
		if err != nil {
			return noState(err)
		}
		return s.look(looking, listed)
	})
	group.Go(func() error {
		last = k.last(looking, of, at)
		return nil
	})
	if err := group.Wait(); err != nil {
		return State{}, err
	}
	k.stepped("listed")
	kept, err := s.write(ctx, last)
	if err != nil && ctx.Err() == nil {
		s.indexed = nil // the repository has not all objects: of a partial clone, or the last state's are gone
		kept, err = s.write(ctx, memory{})
	}
	if err != nil {
		return State{}, noState(err)
	}
	k.stepped("written")
	if name != "" && (claim == nil || claim()) {
		if err := k.note(of.Session, at.objects.Common()); err != nil {
			return State{}, noState(err)
		}
		if err := at.objects.KeepState(ctx, of.Session, name, kept.Commit); err != nil {
			return State{}, noState(err)
		}
		k.stepped("named")
		k.dropOld(ctx, of, at, name)
	}
	k.remember(of, memory{Common: at.objects.Common(), Folder: of.Folder, Commit: kept.Commit, Tree: kept.Tree, Files: kept.files})
	k.stepped("remembered")
	return kept, nil
}

// last is the memory of the folder's last state. Without one it is that of the commit which is
// checked out: the first state is a change of it, so git need not look at each object.
func (k *Keeper) last(ctx context.Context, of Of, at place) memory {
	m := k.read(of.Session).of(of, at)
	if m.Tree != "" || at.listed != at.objects || of.Folder != at.objects.Worktree {
		return m
	}
	tree, entries, err := k.git.HeadTree(ctx, at.objects)
	if err != nil {
		return memory{} // the first state is written whole
	}
	m = memory{Tree: tree, Files: make(map[string]file, len(entries))}
	for _, e := range entries {
		m.Files[e.Path] = file{Mode: e.Mode, Object: e.Object}
	}
	return m
}

// noState says for a person why there is no state.
func noState(err error) error {
	var said *NoneError
	switch {
	case errors.As(err, &said):
		return err
	case errors.Is(err, gitstate.ErrRefused):
		return &NoneError{"the repository cannot be read", err}
	case errors.Is(err, gitstate.ErrTooLarge):
		return &NoneError{fmt.Sprintf("there are more than %d files", mostFiles), err}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &NoneError{"it took too long", err}
	}
	return &NoneError{"git reports an error", err}
}

// dropOld removes the states of turns that are long ago.
func (k *Keeper) dropOld(ctx context.Context, of Of, at place, name string) {
	newest, err := strconv.Atoi(strings.TrimSuffix(name, "-end"))
	if err != nil || newest <= mostTurns {
		return
	}
	err = at.objects.DropStates(ctx, of.Session, func(name string) bool {
		turn, err := strconv.Atoi(strings.TrimSuffix(name, "-end"))
		return err == nil && turn <= newest-mostTurns
	})
	if err != nil {
		k.logger.Warn("old states of files could not be removed", "session", of.Session, "err", err)
	}
}

// place is where the states of a folder are: the repository that lists its files, and the one
// that has the objects.
type place struct{ listed, objects *gitstate.Repository }

func (k *Keeper) place(of Of) (place, error) {
	if k == nil || k.git == nil {
		return place{}, &NoneError{Why: "git is not installed"}
	}
	r, err := gitstate.Find(of.Folder)
	switch {
	case err == nil && r.Filed():
		return place{r, r}, nil
	case err == nil: // its refs are no files
	case errors.Is(err, gitstate.ErrNone):
		if gitstate.IsBare(of.Folder) {
			return place{}, &NoneError{Why: "the folder is a repository without files to work in"}
		}
	default:
		return place{}, noState(err)
	}
	store, err := gitstate.Store(filepath.Join(k.dir, of.Session, "store.git"), of.Folder)
	if err != nil {
		return place{}, noState(err)
	}
	if r == nil {
		r = store
	}
	return place{r, store}, nil
}

// States lists the states of a session by their names.
func (k *Keeper) States(of Of) (map[string]string, error) {
	at, err := k.place(of)
	if err != nil {
		return nil, err
	}
	return at.objects.States(of.Session)
}

// Differences lists the files that differ between two states of a session.
func (k *Keeper) Differences(ctx context.Context, of Of, from, to string) ([]gitstate.Difference, error) {
	at, err := k.place(of)
	if err != nil {
		return nil, err
	}
	return k.git.Differences(ctx, at.objects, from, to)
}

// LineCounts lists, for each pair of states, the files that differ with their lines.
func (k *Keeper) LineCounts(ctx context.Context, of Of, pairs []gitstate.Pair) ([][]gitstate.Lines, error) {
	at, err := k.place(of)
	if err != nil {
		return nil, err
	}
	return k.git.LineCounts(ctx, at.objects, pairs)
}

// Present reports which of the places have a file.
func (k *Keeper) Present(ctx context.Context, of Of, places []gitstate.Place) ([]bool, error) {
	at, err := k.place(of)
	if err != nil {
		return nil, err
	}
	return k.git.Present(ctx, at.objects, places)
}

// Diff is the unified diff between two states of a session; see gitstate.Git.Diff.
func (k *Keeper) Diff(ctx context.Context, of Of, from, to string, most int64) (text []byte, cut bool, err error) {
	at, err := k.place(of)
	if err != nil {
		return nil, false, err
	}
	return k.git.Diff(ctx, at.objects, from, to, most)
}

// Forget removes the states of a session that was deleted.
func (k *Keeper) Forget(ctx context.Context, session string) error {
	if k == nil {
		return nil
	}
	done, err := k.turns.Take(ctx, session)
	if err != nil {
		return err
	}
	defer done()
	dir := filepath.Join(k.dir, session)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, common := range k.places(session) {
		if r := gitstate.Kept(common); r != nil {
			if err := r.DropStates(ctx, session, nil); err != nil {
				return fmt.Errorf("remove the states of %s: %w", session, err)
			}
		}
	}
	k.stepped("refs removed")
	return os.RemoveAll(dir) // last: it says where the refs are
}

// ForgetOthers removes the states of sessions that are no more: a hub that was killed may
// have left them.
func (k *Keeper) ForgetOthers(ctx context.Context, exists func(session string) bool) {
	if k == nil {
		return
	}
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		if !e.IsDir() || exists(e.Name()) {
			continue
		}
		if err := k.Forget(ctx, e.Name()); err != nil {
			k.logger.Warn("the states of a deleted session could not be removed", "session", e.Name(), "err", err)
		}
	}
}

// Size is what the states of a session take.
type Size struct {
	Session string
	States  int
	// Bytes are those of objects that only states have.
	Bytes int64
}

// Sizes lists what the states of the sessions take, as far as there is time.
func (k *Keeper) Sizes(ctx context.Context) []Size {
	if k == nil || k.git == nil {
		return nil
	}
	entries, _ := os.ReadDir(k.dir) // without it there are none
	var all []Size
	for _, e := range entries {
		size := Size{Session: e.Name()}
		for _, common := range k.places(e.Name()) {
			r := gitstate.Kept(common)
			if r == nil {
				continue
			}
			states, bytes, err := k.git.StatesSize(ctx, r, e.Name())
			if err != nil {
				k.logger.Info("the size of a session's states is not known", "session", e.Name(), "err", err)
			}
			size.States, size.Bytes = size.States+states, size.Bytes+bytes
		}
		if size.States > 0 {
			all = append(all, size)
		}
	}
	return all
}

func (k *Keeper) stepped(name string) {
	if k.step != nil {
		k.step(name)
	}
}
