package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/abidehub/abide/internal/gitstate"
	"github.com/abidehub/abide/internal/rootfs"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/filestate"
	"github.com/abidehub/abide/session/resume"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

// What an undo needs confirmed.
const (
	// NeedEdits: files would be overwritten that were edited outside of a turn.
	NeedEdits = "edits"
	// NeedSessions: files would be overwritten while another session works on them.
	NeedSessions = "sessions"
)

const (
	// mostUndoTurns limits a list of turns, and mostPages what is read for it.
	mostUndoTurns = 100
	mostPages     = 500
	// mostCompared is of how many turns the changed files are counted.
	mostCompared = 10
	// mostChanged limits the changed files of a turn that are named.
	mostChanged = 50
	// mostNamed limits the names in a message.
	mostNamed = 5
)

// UndoWhat is what goes back: files, talk or both.
type UndoWhat = transcript.UndoWhat

// Undone is an undo or a redo, as the log has it.
type Undone = transcript.Undo

// UndoFile is a file that an undo changes.
type UndoFile struct {
	Path string
	// Change is what happens to it: written, made or removed.
	Change string
	// Edited means that it was changed outside of a turn.
	Edited bool
	// SessionID is another session that works on it now; empty if none does.
	SessionID string
}

// What happens to a file.
const (
	FileWritten = "written"
	FileMade    = "made"
	FileRemoved = "removed"
)

// UndoPlan is what an undo would do.
type UndoPlan struct {
	Turn  int
	Redo  bool
	What  transcript.UndoWhat
	Files []UndoFile
	// NoFiles is why the files cannot go back; empty if they can.
	NoFiles string
	// Needs is what has to be confirmed if the files go back.
	Needs []string
	// Prompts is how many prompts the agent is no longer told of if the talk goes back.
	Prompts int
}

// UndoTurn is a turn that an undo can go back to.
type UndoTurn struct {
	Turn   int
	Seq    event.Seq
	Prompt string
	// Files reports whether there is a state of the files before it; NoFiles is why not.
	Files   bool
	NoFiles string
	// Changed is how many files differ between its states, whatever the agent told; -1 if that
	// is not known. ChangedFiles are the first of them, with what the turn did to each.
	Changed      int
	ChangedFiles []UndoFile
}

// UndoPlan says what an undo would do, and changes nothing.
func (m *Manager) UndoPlan(ctx context.Context, id string, r UndoRequest) (UndoPlan, error) {
	b, err := m.Session(ctx, id)
	if err != nil {
		return UndoPlan{}, err
	}
	facts, err := b.undoFacts(ctx)
	if err != nil {
		return UndoPlan{}, err
	}
	u := undo{manager: m, session: b, facts: facts, request: r}
	if err := u.aim(ctx); err != nil {
		return UndoPlan{}, err
	}
	if u.plan.NoFiles == "" {
		if err := u.compare(ctx, ""); err != nil {
			return UndoPlan{}, err
		}
	}
	return u.plan, nil
}

// undoFacts returns what a plan needs, once the last turn's end has its state.
func (b *BackgroundSession) undoFacts(ctx context.Context) (undoFacts, error) {
	return askLater(ctx, b.mail, func(e *engine, reply func(undoFacts, error)) {
		e.states.settled(func() { reply(e.undos.facts(), nil) })
	})
}

// Undo makes the files, the talk or both as they were before a prompt, or takes the last
// undo back. The present files are kept first, and only those that differ are written.
// Files that a person edited since, and those of another session's open turn, need to be
// confirmed: *resume.NeedsConfirmation. While a turn is open it is ErrBusy.
func (m *Manager) Undo(ctx context.Context, id string, r UndoRequest) (transcript.Undo, error) {
	if r.Key != "" {
		if err := state.CheckID("a request", r.Key); err != nil {
			return transcript.Undo{}, err
		}
	}
	b, err := m.Session(ctx, id)
	if err != nil {
		return transcript.Undo{}, err
	}
	// Not with ctx: what began must end.
	facts, err := askLater(context.WithoutCancel(ctx), b.mail, func(e *engine, reply func(undoFacts, error)) {
		e.states.settled(func() { reply(e.undos.begin(r)) })
	})
	if err != nil {
		return transcript.Undo{}, err
	}
	if facts.done != nil {
		return *facts.done, nil
	}
	defer b.mail.post(func(e *engine) { e.undos.over() })
	u := undo{manager: m, session: b, facts: facts, request: r}
	return u.run(ctx)
}

// undo is one undo.
type undo struct {
	manager *Manager
	session *BackgroundSession
	facts   undoFacts
	request UndoRequest

	plan   UndoPlan
	target string // the state to go to
	from   event.Seq
	states map[string]string
	now    filestate.State
}

func (u *undo) of() filestate.Of {
	return filestate.Of{Session: u.session.id, Folder: u.session.log.Metadata().Workspace}
}

// run does what was asked.
func (u *undo) run(ctx context.Context) (transcript.Undo, error) {
	if err := u.aim(ctx); err != nil {
		return transcript.Undo{}, err
	}
	p := transcript.Undo{
		N: u.facts.number, Turn: u.plan.Turn, What: u.plan.What, Redo: u.plan.Redo, Key: u.request.Key, FromSeq: u.from,
	}
	if !p.What.Talk() {
		p.FromSeq = 0
	}
	if p.What.Files() {
		if u.plan.NoFiles != "" {
			return p, fmt.Errorf("%w: the files cannot go back: %s", state.ErrConflict, u.plan.NoFiles)
		}
		if err := u.compare(ctx, filestate.Undone(p.N)); err != nil {
			return p, err
		}
		if err := u.confirmed(); err != nil {
			return p, err
		}
		p.Saved, p.To = u.now.Commit, u.target
	}
	ctx = context.WithoutCancel(ctx) // what began is completed
	if len(u.plan.Files) > 0 && p.What.Files() {
		p.Phase = transcript.UndoBegun
		if _, err := u.note(ctx, p); err != nil {
			return p, err
		}
		restored, err := u.manager.hub.states.Restore(ctx, u.of(), u.now, u.target)
		p.Files = restored.Files
		for _, l := range restored.Left {
			p.Left = append(p.Left, transcript.UndoLeft(l))
		}
		if err != nil {
			u.manager.logger.Warn("files could not be put back", "session", u.session.id, "err", err)
			p.Phase = transcript.UndoCutOff
			_, noted := u.note(ctx, p)
			return p, errors.Join(fmt.Errorf("%w: the files could not be put back whole: try again, or redo; the hub's log says why", state.ErrUnavailable), noted)
		}
	}
	p.Phase = transcript.UndoDone
	return u.note(ctx, p)
}

func (u *undo) note(ctx context.Context, p transcript.Undo) (transcript.Undo, error) {
	return ask(ctx, u.session.mail, func(e *engine) (transcript.Undo, error) { return e.undos.note(p, u.request.Actor) })
}

// aim finds what to go back to.
func (u *undo) aim(ctx context.Context) error {
	r := u.request
	switch r.What {
	case "", transcript.UndoFiles, transcript.UndoTalk, transcript.UndoBoth:
	default:
		return fmt.Errorf("%w: what is files, talk or both", state.ErrInvalid)
	}
	if r.Redo {
		return u.aimForward(ctx)
	}
	if r.Turn < 1 || r.Turn > u.facts.turn {
		return fmt.Errorf("%w: there is no turn %d to go back to", state.ErrNotFound, r.Turn)
	}
	turns, err := u.session.turnsFrom(ctx, r.Turn, u.facts.turn)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(turns, func(t undoneTurn) bool { return t.number == r.Turn })
	if i < 0 {
		return fmt.Errorf("%w: turn %d is no longer in the log", state.ErrNotFound, r.Turn)
	}
	u.from = turns[i].seq
	u.plan = UndoPlan{Turn: r.Turn, What: cmp.Or(r.What, transcript.UndoBoth), Prompts: len(turns)}
	u.find(filestate.Before(r.Turn), turns[i].noUndo)
	return nil
}

// find looks for a state of the files.
func (u *undo) find(name, why string) {
	if u.manager.hub.states == nil {
		u.plan.NoFiles = "this hub keeps no files (undo_wait is 0)"
		return
	}
	var err error
	if u.states == nil {
		u.states, err = u.manager.hub.states.States(u.of())
	}
	if u.target = u.states[name]; u.target != "" {
		return
	}
	u.plan.NoFiles = cmp.Or(why, "they were not kept, or are kept no longer")
	var none *filestate.NoneError
	if errors.As(err, &none) {
		u.plan.NoFiles = none.Why
	}
}

func (u *undo) aimForward(_ context.Context) error {
	back := u.facts.undos.Back
	if len(back) == 0 {
		return fmt.Errorf("%w: there is nothing to redo: no undo came after the last prompt", state.ErrConflict)
	}
	last := back[len(back)-1]
	if u.request.What != "" && u.request.What != last.What {
		return fmt.Errorf("%w: a redo takes back what was undone: %s", state.ErrInvalid, last.What)
	}
	u.plan = UndoPlan{Turn: last.Turn, Redo: true, What: last.What}
	if !last.What.Files() {
		return nil
	}
	u.find(filestate.Undone(last.N), "")
	return nil
}

// compare keeps the present files and lists those that the undo changes.
func (u *undo) compare(ctx context.Context, name string) error {
	k := u.manager.hub.states
	if u.plan.Redo && !u.plan.What.Files() {
		return nil
	}
	now, err := k.Keep(ctx, u.of(), name, nil)
	if err != nil {
		var none *filestate.NoneError
		if errors.As(err, &none) && name == "" {
			u.plan.NoFiles = none.Why
			return nil
		}
		if errors.As(err, &none) {
			return fmt.Errorf("%w: the present files cannot be kept first: %s", state.ErrConflict, none.Why)
		}
		return err
	}
	u.now = now
	differ, err := k.Differences(ctx, u.of(), now.Commit, u.target)
	if err != nil {
		return u.unreadable(err)
	}
	edited, all, err := u.edited(ctx)
	if err != nil {
		return u.unreadable(err)
	}
	others, err := u.others(ctx)
	if err != nil {
		return u.unreadable(err)
	}
	for _, d := range differ {
		f := UndoFile{Path: d.Path, Change: changeOf(d), Edited: all || edited[d.Path]}
		for id, theirs := range others {
			if theirs == nil || theirs[d.Path] {
				f.SessionID = id
			}
		}
		u.plan.Files = append(u.plan.Files, f)
	}
	if slices.ContainsFunc(u.plan.Files, func(f UndoFile) bool { return f.Edited }) {
		u.plan.Needs = append(u.plan.Needs, NeedEdits)
	}
	if slices.ContainsFunc(u.plan.Files, func(f UndoFile) bool { return f.SessionID != "" }) {
		u.plan.Needs = append(u.plan.Needs, NeedSessions)
	}
	return nil
}

func (u *undo) unreadable(err error) error {
	u.manager.logger.Warn("states of files could not be compared", "session", u.session.id, "err", err)
	return fmt.Errorf("%w: git could not compare the files with those that were kept; the hub's log says why", state.ErrUnavailable)
}

// edited lists the files that changed outside of the turns that are undone. With all, it
// is not known which: the state at the end of the last turn is missing.
func (u *undo) edited(ctx context.Context) (paths map[string]bool, all bool, err error) {
	paths = map[string]bool{}
	add := func(from, to string) {
		if err != nil || from == "" || to == "" || from == to {
			return
		}
		var differ []gitstate.Difference
		differ, err = u.manager.hub.states.Differences(ctx, u.of(), from, to)
		for _, d := range differ {
			paths[d.Path] = true
		}
	}
	if !u.plan.Redo {
		for turn := u.plan.Turn; turn < u.facts.turn; turn++ {
			add(u.states[filestate.After(turn)], u.states[filestate.Before(turn+1)])
		}
	}
	last := cmp.Or(u.facts.undos.Files, u.states[filestate.After(u.facts.turn)])
	add(last, u.now.Commit)
	return paths, last == "", err
}

// others lists the other sessions that work in the folder now, and their files; nil if
// these are not known.
func (u *undo) others(ctx context.Context) (map[string]map[string]bool, error) {
	all, folder := map[string]map[string]bool{}, u.of().Folder
	for _, b := range u.manager.opened() {
		s := b.State()
		if b == u.session || s.Turn.State == "" || s.Turn.State == TurnIdle {
			continue
		}
		theirs := b.log.Metadata().Workspace
		if !rootfs.Holds(folder, theirs) && !rootfs.Holds(theirs, folder) {
			continue
		}
		all[b.id] = nil
		states, err := u.manager.hub.states.States(filestate.Of{Session: b.id, Folder: theirs})
		before := states[filestate.Before(s.Turn.Number)]
		if err != nil || before == "" || filepath.Clean(theirs) != filepath.Clean(folder) {
			continue
		}
		differ, err := u.manager.hub.states.Differences(ctx, u.of(), before, u.now.Commit)
		if err != nil {
			continue // in a store of its own
		}
		all[b.id] = map[string]bool{}
		for _, d := range differ {
			all[b.id][d.Path] = true
		}
	}
	return all, ctx.Err()
}

// confirmed is *resume.NeedsConfirmation if a person has yet to confirm something.
func (u *undo) confirmed() error {
	needs := slices.DeleteFunc(slices.Clone(u.plan.Needs), func(need string) bool { return slices.Contains(u.request.Confirm, need) })
	if len(needs) == 0 {
		return nil
	}
	var words []string
	if slices.Contains(needs, NeedEdits) {
		words = append(words, "edited outside of a turn: "+u.named(func(f UndoFile) bool { return f.Edited }))
	}
	if slices.Contains(needs, NeedSessions) {
		ids := map[string]bool{}
		for _, f := range u.plan.Files {
			if f.SessionID != "" {
				ids[f.SessionID] = true
			}
		}
		words = append(words, "session "+strings.Join(slices.Sorted(maps.Keys(ids)), ", ")+" works on: "+u.named(func(f UndoFile) bool { return f.SessionID != "" }))
	}
	return &resume.NeedsConfirmation{Needs: needs, What: "files are overwritten: " + strings.Join(words, "; ")}
}

func (u *undo) named(which func(UndoFile) bool) string {
	var names []string
	for _, f := range u.plan.Files {
		if which(f) {
			names = append(names, f.Path)
		}
	}
	more := ""
	if len(names) > mostNamed {
		more = fmt.Sprintf(" and %d more", len(names)-mostNamed)
		names = names[:mostNamed]
	}
	return strings.Join(names, ", ") + more
}

// UndoTurns lists the newest turns of a session that an undo can go back to, oldest first,
// and what a redo would take back; nil if nothing.
func (m *Manager) UndoTurns(ctx context.Context, id string) ([]UndoTurn, *transcript.Undo, error) {
	b, err := m.Session(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	facts, err := b.undoFacts(ctx)
	if err != nil {
		return nil, nil, err
	}
	found, err := b.turnsFrom(ctx, max(1, facts.turn-mostUndoTurns+1), facts.turn)
	if err != nil {
		return nil, nil, err
	}
	u := undo{manager: m, session: b, facts: facts}
	var turns []UndoTurn
	for i, f := range found {
		u.plan.NoFiles, u.target = "", ""
		u.find(filestate.Before(f.number), f.noUndo)
		t := UndoTurn{Turn: f.number, Seq: f.seq, Prompt: f.prompt, Files: u.target != "", NoFiles: u.plan.NoFiles, Changed: -1}
		if after := u.states[filestate.After(f.number)]; t.Files && after != "" && i >= len(found)-mostCompared {
			t.Changed, t.ChangedFiles = u.changed(ctx, after)
		}
		turns = append(turns, t)
	}
	var redo *transcript.Undo
	if n := len(facts.undos.Back); n > 0 {
		redo = &facts.undos.Back[n-1]
	}
	return turns, redo, nil
}

// undoneTurn is a turn of the log.
type undoneTurn struct {
	number         int
	seq            event.Seq
	prompt, noUndo string
}

// turnsFrom reads the turns from the first one to the last, oldest first.
func (b *BackgroundSession) turnsFrom(ctx context.Context, first, last int) (turns []undoneTurn, err error) {
	why, before := map[int]string{}, event.Seq(0)
	for range mostPages {
		batch, err := b.log.ReadBefore(ctx, before, 10_000)
		if err != nil {
			return nil, b.ReadError(err)
		}
		page, err := batch.Events()
		if err != nil {
			return nil, fmt.Errorf("read turns: %w", err)
		}
		for i := len(page) - 1; i >= 0; i-- {
			e := page[i]
			if e.Type != event.TypeUserPrompt && e.Type != event.TypeTurnStart {
				continue
			}
			p, err := e.Payload()
			if err != nil {
				continue
			}
			switch p := p.(type) {
			case event.TurnStart:
				why[e.Turn] = p.NoUndo
			case event.UserPrompt:
				if e.Turn >= first && e.Turn <= last {
					turns = append(turns, undoneTurn{e.Turn, e.Seq, state.FirstSentence(string(p.Text)), why[e.Turn]})
				}
			}
		}
		if len(page) == 0 || len(turns) > 0 && turns[len(turns)-1].number <= first || page[0].Seq <= b.log.Marks().Min {
			break
		}
		before = page[0].Seq
	}
	slices.Reverse(turns)
	return turns, nil
}
