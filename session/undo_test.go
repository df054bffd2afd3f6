package session_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/playback"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
	"github.com/abidehub/abide/session/transcript"
)

// withUndo keeps the files of workspaces below root. The prompts wait for that long enough.
func withUndo(t *testing.T, root string) hubOption {
	t.Helper()
	git, err := gitstate.New(t.Context(), "")
	require.NoError(t, err)
	states := t.TempDir()
	return func(o *session.Options, _ *store.Options) {
		o.Git, o.Workspaces = git, []string{root}
		o.States, o.UndoWait = filestate.New(git, states, nil, slog.New(slog.DiscardHandler)), time.Minute
	}
}

// workspace makes a repository with a file.
func workspace(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	put(t, root, "greet.go", "hello")
	runGit(t, root, "init", "-q", "-b", "main")
	runGit(t, root, "add", ".")
	runGit(t, root, "commit", "-q", "-m", "first")
	return root
}

// work lets the agent do a turn in which edit is called.
func work(t *testing.T, h *hub, b *session.BackgroundSession, a *fakeAgent, id string, edit func()) *fakeAgent {
	t.Helper()
	prompt(t, b, id)
	if a == nil {
		a = h.agents.next(t)
	}
	require.Equal(t, id, receive(t, a.prompts, "the agent got no prompt").PromptID)
	edit()
	require.NoError(t, a.end(id, event.StopEndTurn))
	await(t, b, "idle", func(s session.State) bool { return s.Turn.State == session.TurnIdle })
	return a
}

// startOf is the event that says that the agent got a prompt.
func startOf(t *testing.T, b *session.BackgroundSession, id string) event.TurnStart {
	t.Helper()
	for _, e := range events(t, b) {
		p, err := e.Payload()
		require.NoError(t, err)
		if start, ok := p.(event.TurnStart); ok && start.PromptID == id {
			return start
		}
	}
	require.Fail(t, "no turn", id)
	return event.TurnStart{}
}

func create(t *testing.T, h *hub, folder string) *session.BackgroundSession {
	t.Helper()
	b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: folder})
	require.NoError(t, err)
	return b
}

func TestTheFilesAreKeptBeforeThePromptAndAtTheEndOfItsTurn(t *testing.T) {
	root := workspace(t)
	h := newHub(t, withUndo(t, root))
	b := create(t, h, root)
	a := work(t, h, b, nil, "p1", func() { put(t, root, "greet.go", "good evening") })
	work(t, h, b, a, "p2", func() {})
	start := startOf(t, b, "p1")
	require.Empty(t, start.NoUndo)
	require.Equal(t, "hello", runGit(t, root, "show", start.Files+":greet.go"))
	require.Equal(t, start.Files, runGit(t, root, "rev-parse", "refs/abide/"+b.ID()+"/1"))
	require.Equal(t, "good evening", runGit(t, root, "show", "refs/abide/"+b.ID()+"/1-end:greet.go"), "it precedes the state before p2")
	require.Equal(t, startOf(t, b, "p2").Files, runGit(t, root, "rev-parse", "refs/abide/"+b.ID()+"/1-end"), "nothing changed between")
	require.NoError(t, h.manager.Delete(ctxOf(t), b.ID()))
	require.NoDirExists(t, filepath.Join(root, ".git/refs/abide"))
}

// waitingGit returns a git that runs a command only once the file may exists.
func waitingGit(t *testing.T, command string) (git *gitstate.Git, may string) {
	t.Helper()
	program, may := filepath.Join(t.TempDir(), "git"), filepath.Join(t.TempDir(), "may")
	text := "#!/bin/sh\ncase \"$*\" in *" + command + "*) while [ ! -e " + may + " ]; do sleep 0.01; done;; esac\nexec git \"$@\"\n"
	syscall.ForkLock.RLock()
	err := os.WriteFile(program, []byte(text), 0o700)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	git, err = gitstate.New(t.Context(), program)
	require.NoError(t, err)
	return git, may
}

func TestAPromptDoesNotWaitLongForItsFiles(t *testing.T) {
	root := workspace(t)
	git, may := waitingGit(t, "ls-files")
	h := newHub(t, withUndo(t, root), func(o *session.Options, _ *store.Options) {
		o.States, o.UndoWait = filestate.New(git, t.TempDir(), nil, slog.New(slog.DiscardHandler)), time.Millisecond
	})
	b := create(t, h, root)
	work(t, h, b, nil, "p1", func() { put(t, root, "greet.go", "good evening") })
	require.Equal(t, event.TurnStart{PromptID: "p1", NoUndo: "it took longer than 1ms"}, startOf(t, b, "p1"))
	put(t, filepath.Dir(may), "may", "")
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(root, ".git/refs/abide", b.ID(), "1-end"))
		return err == nil
	}, patience, time.Millisecond)
	require.NoFileExists(t, filepath.Join(root, ".git/refs/abide", b.ID(), "1"), "the agent worked already when it was kept")
}

func TestATurnSaysWhyItHasNoUndo(t *testing.T) {
	for why, make := range map[string]func(root string){
		"the files have more than 200 MiB": func(root string) {
			require.NoError(t, os.Truncate(filepath.Join(root, "greet.go"), 201<<20))
		},
		"there are more than 10000 files": func(root string) {
			for i := range 10_001 {
				require.NoError(t, os.WriteFile(filepath.Join(root, fmt.Sprint(i)), nil, 0o600))
			}
		},
	} {
		root := workspace(t)
		h := newHub(t, withUndo(t, root))
		make(root)
		b := create(t, h, root)
		work(t, h, b, nil, "p1", func() {})
		require.Equal(t, event.TurnStart{PromptID: "p1", NoUndo: why}, startOf(t, b, "p1"))
	}
}

// A hub that is killed while it deletes a session leaves its states.
func TestStatesOfASessionThatIsGoneGoWhenTheHubStarts(t *testing.T) {
	root := workspace(t)
	undo := withUndo(t, root)
	h := newHub(t, undo)
	b := create(t, h, root)
	work(t, h, b, nil, "p1", func() {})
	kept := filepath.Join(root, ".git/refs/abide", b.ID(), "1")
	h.close()
	h.open(undo)
	require.FileExists(t, kept)
	h.close()
	newHub(t, undo)
	require.Eventually(t, func() bool { _, err := os.Stat(kept); return os.IsNotExist(err) }, patience, time.Millisecond)
}

func undo(t *testing.T, h *hub, b *session.BackgroundSession, r session.UndoRequest) (transcript.Undo, error) {
	t.Helper()
	r.Actor = person("ann")
	return h.manager.Undo(ctxOf(t), b.ID(), r)
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

func TestFilesGoBackToBeforeAPromptAndForwardAgain(t *testing.T) {
	root := workspace(t)
	h := newHub(t, withUndo(t, root))
	b := create(t, h, root)
	a := work(t, h, b, nil, "p1", func() { put(t, root, "greet.go", "good evening") })
	work(t, h, b, a, "p2", func() {
		put(t, root, "new.go", "made")
		require.NoError(t, os.Remove(filepath.Join(root, "greet.go")))
	})
	plan, err := h.manager.UndoPlan(ctxOf(t), b.ID(), session.UndoRequest{Turn: 1})
	require.NoError(t, err)
	require.Equal(t, []session.UndoFile{{Path: "greet.go", Change: session.FileMade}, {Path: "new.go", Change: session.FileRemoved}}, plan.Files)
	require.Empty(t, plan.Needs)
	require.NoFileExists(t, filepath.Join(root, "greet.go"), "a plan changes nothing")

	did, err := undo(t, h, b, session.UndoRequest{Turn: 1, What: "files", Key: "k1"})
	require.NoError(t, err)
	require.Equal(t, 2, did.Files)
	require.Equal(t, "hello", read(t, root, "greet.go"))
	require.NoFileExists(t, filepath.Join(root, "new.go"))
	put(t, root, "greet.go", "mine")
	again, err := undo(t, h, b, session.UndoRequest{Turn: 1, What: "files", Key: "k1"})
	require.NoError(t, err)
	require.Equal(t, did, again, "the same request changes nothing")
	require.Equal(t, "mine", read(t, root, "greet.go"))

	_, err = undo(t, h, b, session.UndoRequest{Redo: true})
	var needs *resume.NeedsConfirmation
	require.ErrorAs(t, err, &needs)
	require.Equal(t, []string{session.NeedEdits}, needs.Needs)
	require.ErrorContains(t, err, "edited outside of a turn: greet.go")
	_, err = undo(t, h, b, session.UndoRequest{Redo: true, Confirm: []string{"edits"}})
	require.NoError(t, err)
	require.Equal(t, "made", read(t, root, "new.go"))
	require.NoFileExists(t, filepath.Join(root, "greet.go"))
	_, err = undo(t, h, b, session.UndoRequest{Redo: true})
	require.ErrorIs(t, err, state.ErrConflict)

	_, err = undo(t, h, b, session.UndoRequest{Turn: 2, What: "files"})
	require.NoError(t, err)
	require.Equal(t, "good evening", read(t, root, "greet.go"))
	_, err = undo(t, h, b, session.UndoRequest{Turn: 3})
	require.ErrorIs(t, err, state.ErrNotFound)
	turns, redo, err := h.manager.UndoTurns(ctxOf(t), b.ID())
	require.NoError(t, err)
	require.Equal(t, 2, redo.Turn)
	require.Len(t, turns, 2)
	require.Equal(t, []int{1, 2}, []int{turns[0].Changed, turns[1].Changed})
	require.Equal(t, []session.UndoFile{{Path: "greet.go", Change: session.FileWritten}}, turns[0].ChangedFiles)
	require.Equal(t, []session.UndoFile{{Path: "greet.go", Change: session.FileRemoved}, {Path: "new.go", Change: session.FileMade}}, turns[1].ChangedFiles, "as the files say, and the agent told nothing")
}

// The states of a turn say which files it changed; the log says so of those that no state has.
func TestAnOverviewHasTheFilesThatDifferBetweenTheStatesOfATurn(t *testing.T) {
	root := workspace(t)
	outside, ignored := filepath.Join(t.TempDir(), "out.txt"), filepath.Join(root, "secret.env")
	put(t, root, ".gitignore", "*.env\n")
	h := newHub(t, withUndo(t, root))
	b := create(t, h, root)
	told := func(a *fakeAgent, paths ...string) {
		for _, path := range paths {
			require.NoError(t, a.sink.Record(t.Context(), []event.Payload{event.FileWrite{Path: path}}))
		}
	}
	prompt(t, b, "p1")
	a := h.agents.next(t)
	receive(t, a.prompts, "no prompt")
	put(t, root, "greet.go", "hello\nagain\n")
	put(t, root, "an odd\tname", "made\n")
	put(t, root, "picture", "\x00\x01")
	told(a, outside, ignored, filepath.Join(root, "greet.go"), filepath.Join(root, ".gitignore"))
	require.NoError(t, a.end("p1", event.StopEndTurn))
	await(t, b, "idle", func(s session.State) bool { return s.Turn.State == session.TurnIdle })
	work(t, h, b, a, "p2", func() {})
	want := []playback.File{
		{Path: filepath.Join(root, "an odd\tname"), Added: 1},
		{Path: filepath.Join(root, "greet.go"), Added: 2, Removed: 1},
		{Path: filepath.Join(root, "picture"), Uncounted: true},
		{Path: outside},
		{Path: ignored},
	}
	look := func() []*playback.Turn {
		o, err := h.manager.Overview(ctxOf(t), b.ID(), true)
		require.NoError(t, err)
		require.Len(t, o.Turns, 2)
		return o.Turns
	}
	turns := look()
	require.Equal(t, want, turns[0].Files)
	require.True(t, turns[0].Compared)
	require.Equal(t, []int{3, 1, 0}, []int{turns[0].Added, turns[0].Removed, turns[0].FilesLeftOut})
	require.Empty(t, turns[1].Files)
	require.True(t, turns[1].Compared)
	o, err := h.manager.Overview(ctxOf(t), b.ID(), false)
	require.NoError(t, err)
	require.Len(t, o.Turns[0].Files, 4, "as the agent told")
	require.False(t, o.Turns[0].Compared)

	for _, name := range []string{"1", "1-end", "2"} { // as those of a turn that is long ago
		require.NoError(t, os.Remove(filepath.Join(root, ".git/refs/abide", b.ID(), name)))
	}
	turns = look()
	require.Equal(t, want, turns[0].Files, "what was compared once stays known")
	require.Equal(t, 3, turns[0].Added)
}

func TestAnUndoIsRefusedWhileATurnIsOpen(t *testing.T) {
	root := workspace(t)
	h := newHub(t, withUndo(t, root))
	b := create(t, h, root)
	prompt(t, b, "p1")
	a := h.agents.next(t)
	receive(t, a.prompts, "no prompt")
	_, err := undo(t, h, b, session.UndoRequest{Turn: 1})
	require.ErrorIs(t, err, state.ErrBusy)
	require.ErrorContains(t, err, "stop it first")

	other := create(t, h, root)
	work(t, h, other, nil, "q1", func() { put(t, root, "other.go", "of the other") })
	_, _, err = h.manager.UndoTurns(ctxOf(t), other.ID()) // once the files at the end of its turn are kept
	require.NoError(t, err)
	put(t, root, "first.go", "of the first, whose turn is open")
	_, err = undo(t, h, other, session.UndoRequest{Turn: 1})
	var needs *resume.NeedsConfirmation
	require.ErrorAs(t, err, &needs)
	require.Equal(t, []string{session.NeedEdits, session.NeedSessions}, needs.Needs)
	require.ErrorContains(t, err, "session "+b.ID()+" works on: first.go, other.go")
	require.FileExists(t, filepath.Join(root, "other.go"))
}

func TestTheAgentBeginsAnewWithAnAccountOfWhatLiesBefore(t *testing.T) {
	root := workspace(t)
	h := newHub(t, withUndo(t, root))
	b := create(t, h, root)
	var a *fakeAgent
	for _, id := range []string{"p1", "p2", "p3"} {
		a = work(t, h, b, a, id, func() { put(t, root, "greet.go", id) })
	}
	did, err := undo(t, h, b, session.UndoRequest{Turn: 2, What: "talk"})
	require.NoError(t, err)
	require.NotEmpty(t, did.AgentSessionID)
	require.Equal(t, "p3", read(t, root, "greet.go"), "the files stay")
	a = work(t, h, b, nil, "p4", func() {})
	require.Empty(t, a.spec.AgentSessionID)
	require.True(t, a.spec.ContextLost)
	account := accountOf(t, b)
	require.Contains(t, account, "do p1")
	require.NotContains(t, account, "do p2")
	require.NotContains(t, account, "do p3")
	require.Contains(t, account, "do p4")
	segments, err := resume.SegmentsOf(ctxOf(t), b.Log(), 1, b.Log().Marks().Visible, 4000)
	require.NoError(t, err)
	require.Contains(t, segments.Text(0), "do p1")
	require.NotContains(t, segments.Text(0), "do p3")
	_, err = undo(t, h, b, session.UndoRequest{Redo: true})
	require.ErrorIs(t, err, state.ErrConflict, "a prompt came after it")
	_, err = undo(t, h, b, session.UndoRequest{Turn: 4, What: "talk"})
	require.NoError(t, err)
	left := b.Info().AgentSessionID
	_, err = undo(t, h, b, session.UndoRequest{Redo: true})
	require.NoError(t, err)
	require.Empty(t, left)
	account = accountOf(t, b)
	require.Contains(t, account, "do p4")
	a = work(t, h, b, nil, "p5", func() {})
	require.Equal(t, "fake-"+b.ID(), a.spec.AgentSessionID, "its own session knows it all")
}

func accountOf(t *testing.T, b *session.BackgroundSession) string {
	t.Helper()
	var account transcript.Account
	for _, e := range events(t, b) {
		account.Apply(e)
	}
	return account.Text()
}

// A kill in the middle of an undo leaves its beginning in the log.
func TestAnUndoThatAKillCutOffIsNotedAndCompletedByAnother(t *testing.T) {
	root := workspace(t)
	undoing := withUndo(t, root)
	git, may := waitingGit(t, "cat-file")
	slow := func(o *session.Options, _ *store.Options) {
		o.States = filestate.New(git, t.TempDir(), nil, slog.New(slog.DiscardHandler))
	}
	h := newHub(t, undoing, slow)
	b := create(t, h, root)
	work(t, h, b, nil, "p1", func() { put(t, root, "greet.go", "p1"); put(t, root, "b.go", "p1") })
	over := make(chan error, 1)
	go func() {
		_, err := h.manager.Undo(context.Background(), b.ID(), session.UndoRequest{Turn: 1, Key: "k", Actor: person("ann")})
		over <- err
	}()
	require.Eventually(t, func() bool { return lastUndo(t, b).Phase == transcript.UndoBegun }, patience, time.Millisecond)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(root, "b.go")); return os.IsNotExist(err) }, patience, time.Millisecond)
	require.Equal(t, queue.Queued, prompt(t, b, "p2").Outcome, "no turn begins meanwhile")
	_, err := undo(t, h, b, session.UndoRequest{Turn: 1})
	require.ErrorIs(t, err, state.ErrBusy)
	require.NoError(t, b.QueueClear(ctxOf(t), person("ann")), "it would begin a turn after the kill")

	killed := h.copyOf(t, undoing)
	again := killed.session(b.ID())
	require.Equal(t, transcript.UndoCutOff, lastUndo(t, again).Phase)
	require.Equal(t, "p1", read(t, root, "greet.go"))
	did, err := undo(t, killed, again, session.UndoRequest{Turn: 1, Key: "k", Confirm: []string{"edits"}})
	require.NoError(t, err)
	require.Equal(t, 1, did.Files)
	require.Equal(t, "hello", read(t, root, "greet.go"))
	_, err = undo(t, killed, again, session.UndoRequest{Redo: true})
	require.NoError(t, err, "to the half that the kill left")
	require.Equal(t, "p1", read(t, root, "greet.go"))
	put(t, filepath.Dir(may), "may", "")
	require.NoError(t, receive(t, over, "the undo does not end"))
}

// lastUndo is the newest note about an undo.
func lastUndo(t *testing.T, b *session.BackgroundSession) (last transcript.Undo) {
	t.Helper()
	for _, e := range events(t, b) {
		if e.Type != event.TypeNote {
			continue
		}
		p, err := e.Payload()
		require.NoError(t, err)
		if u := transcript.UndoOf(p.(event.Note)); u != nil {
			last = *u
		}
	}
	return last
}

func TestAForksCopyBeginsFromTheFilesOfATurn(t *testing.T) {
	root := workspace(t)
	h := newHub(t, withUndo(t, root))
	b := create(t, h, root)
	a := work(t, h, b, nil, "p1", func() { put(t, root, "greet.go", "good evening") })
	work(t, h, b, a, "p2", func() { put(t, root, "new.go", "made") })
	seq := b.Log().Marks().Visible
	_, _, err := h.manager.UndoTurns(ctxOf(t), b.ID()) // once the files at the end of its turn are kept
	require.NoError(t, err)
	for files, want := range map[session.ForkFiles]string{session.ForkBefore: "", session.ForkEnd: "made"} {
		copies := filepath.Join(t.TempDir(), "copy")
		h.manager.Configure(settings.Hub{Agents: []settings.Agent{{Name: "fake"}}, Workspaces: []string{root}, UndoWait: time.Minute, Worktrees: settings.Worktrees{Folder: filepath.Dir(copies)}})
		made, err := h.manager.Fork(ctxOf(t), b.ID(), session.ForkRequest{Seq: seq, Worktree: &session.NewWorktree{}, Files: files, Actor: person("ann")})
		require.NoError(t, err)
		folder := made.Log().Metadata().Workspace
		require.Equal(t, "good evening", read(t, folder, "greet.go"))
		text, _ := os.ReadFile(filepath.Join(folder, "new.go"))
		require.Equal(t, want, string(text), files)
	}
	_, err = h.manager.Fork(ctxOf(t), b.ID(), session.ForkRequest{Seq: 1, Worktree: &session.NewWorktree{}, Files: session.ForkEnd, Actor: person("ann")})
	require.ErrorIs(t, err, state.ErrConflict)
	_, err = h.manager.Fork(ctxOf(t), b.ID(), session.ForkRequest{Seq: seq, Files: session.ForkEnd, Actor: person("ann")})
	require.ErrorIs(t, err, state.ErrInvalid)
}
