package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/abidehub/abide/server/wire"
)

// Undoable lists the turns of a session that an undo can go back to.
func (h *Hub) Undoable(ctx context.Context, id string) (wire.Undoable, error) {
	var all wire.Undoable
	err := h.do(ctx, http.MethodGet, session(id)+"/undo", nil, &all)
	return all, err
}

// UndoPlan says what an undo to before the prompt of a turn would do; of turn 0 a redo.
func (h *Hub) UndoPlan(ctx context.Context, id string, turn int) (wire.UndoPlan, error) {
	query := "?redo=true"
	if turn > 0 {
		query = "?turn=" + strconv.Itoa(turn)
	}
	var all wire.Undoable
	if err := h.do(ctx, http.MethodGet, session(id)+"/undo"+query, nil, &all); err != nil || all.Plan == nil {
		return wire.UndoPlan{}, err
	}
	return *all.Plan, nil
}

// Undo goes back to before the prompt of a turn. A *RefusedError with Needs says what is to
// be confirmed.
func (h *Hub) Undo(ctx context.Context, id string, r wire.Undo) (wire.Undone, error) {
	var did wire.Undone
	err := h.do(ctx, http.MethodPost, session(id)+"/undo", r, &did)
	return did, err
}

// Redo takes the last undo back. A *RefusedError with Needs says what is to be confirmed.
func (h *Hub) Redo(ctx context.Context, id string, r wire.Redo) (wire.Undone, error) {
	var did wire.Undone
	err := h.do(ctx, http.MethodPost, session(id)+"/redo", r, &did)
	return did, err
}
