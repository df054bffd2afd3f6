package api

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/state"
)

// mostUndoFiles limits the files of a plan.
const mostUndoFiles = 500

// undoRows are the routes of this file.
func undoRows() section {
	key := []param{{"Idempotency-Key", "Makes a resend harmless.", ""}}
	return section{
		title: "Undo",
		about: []string{
			"Before each prompt the files of the workspace are kept: `turn_start` says in `files` as which commit, or in `no_undo` why not. The files at the end of a turn are kept, too: `changed_files` has what differs between the two, whatever the agent told, for the newest ten turns.",
			"An undo keeps the present files first, and writes or removes only those that differ: ignored files stay. If the talk goes back, the agent begins a new session of its own with an account of what lies before; the log stays. `needs` of a 409 has `edits` (files that changed outside of a turn would be overwritten) and `sessions` (files on which a session with an open turn works); the message names them. A prompt ends what a redo could take back. Each undo and redo is a note of method `abide/undo` with `phase` (begun, done, cut_off) in its `raw`.",
		},
		rows: []route{
			{
				"GET", one + "/undo", auth.Credential, auth.Act, false, undoableRoute,
				doc{
					summary: "The turns that an undo can go back to; with `turn` or `redo` what it would do.",
					query: []param{
						{"turn", "plan an undo to before the prompt of this turn", 0},
						{"redo", "plan a redo", false},
					},
					out: wire.Undoable{}, status: 200,
				},
			},
			{
				"POST", one + "/undo", auth.Credential, auth.Manage, false, with(undoRoute),
				doc{
					summary: "Go back to before the prompt of a turn. 503 busy while a turn is open; 409 with `needs` for what has to be confirmed, or if the files cannot go back; 404 an unknown turn.",
					headers: key, in: wire.Undo{}, out: wire.Undone{}, status: 200,
				},
			},
			{
				"POST", one + "/redo", auth.Credential, auth.Manage, false, with(redoRoute),
				doc{
					summary: "Take the last undo back. 409 if there is none since the last prompt, or with `needs`.",
					headers: key, in: wire.Redo{}, out: wire.Undone{}, status: 200,
				},
			},
		},
	}
}

func undoableRoute(s *API, c *call) error {
	q := c.r.URL.Query()
	if text := q.Get("turn"); text != "" || q.Get("redo") == "true" {
		turn, err := strconv.Atoi(text)
		if text != "" && (err != nil || turn < 1) {
			return fmt.Errorf("%w: turn is a number from 1", state.ErrInvalid)
		}
		plan, err := s.manager.UndoPlan(c.r.Context(), c.id(), session.UndoRequest{Turn: turn, Redo: text == ""})
		if err != nil {
			return err
		}
		return c.reply(http.StatusOK, wire.Undoable{Plan: planOf(plan)})
	}
	turns, redo, err := s.manager.UndoTurns(c.r.Context(), c.id())
	if err != nil {
		return err
	}
	out := wire.Undoable{}
	for _, t := range turns {
		turn := wire.UndoTurn{Turn: t.Turn, Seq: t.Seq, Prompt: t.Prompt, NoFiles: t.NoFiles}
		if t.Changed >= 0 {
			turn.Changed = &t.Changed
			for _, f := range t.ChangedFiles {
				turn.ChangedFiles = append(turn.ChangedFiles, wire.TurnFile{Path: f.Path, Change: f.Change})
			}
		}
		out.Turns = append(out.Turns, turn)
	}
	if redo != nil {
		undone := undoneOf(*redo)
		out.Redo = &undone
	}
	return c.reply(http.StatusOK, out)
}

func planOf(p session.UndoPlan) *wire.UndoPlan {
	out := &wire.UndoPlan{
		Turn: p.Turn, What: string(p.What), Redo: p.Redo, Files: []wire.UndoFile{}, Total: len(p.Files), NoFiles: p.NoFiles,
		Needs: append([]string{}, p.Needs...), Prompts: p.Prompts,
	}
	for _, f := range p.Files[:min(len(p.Files), mostUndoFiles)] {
		out.Files = append(out.Files, wire.UndoFile(f))
	}
	return out
}

func undoneOf(u session.Undone) wire.Undone {
	out := wire.Undone{Turn: u.Turn, What: string(u.What), Redo: u.Redo, Files: u.Files, Left: []wire.UndoLeft{}}
	for _, l := range u.Left {
		out.Left = append(out.Left, wire.UndoLeft(l))
	}
	return out
}

func undoRoute(s *API, c *call, in wire.Undo) error {
	return s.undo(c, session.UndoRequest{Turn: in.Turn, What: session.UndoWhat(in.What), Confirm: in.Confirm})
}

func redoRoute(s *API, c *call, in wire.Redo) error {
	return s.undo(c, session.UndoRequest{Redo: true, Confirm: in.Confirm})
}

func (s *API) undo(c *call, r session.UndoRequest) error {
	r.Actor, r.Key = c.grant.By(), c.r.Header.Get("Idempotency-Key")
	did, err := s.manager.Undo(c.r.Context(), c.id(), r)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, undoneOf(did))
}
