package state

import (
	"encoding/json"
	"slices"

	"github.com/abidehub/abide/session/event"
)

// NoteBranch is the method of the notes about acts on a session's branch. Each act has
// two: one before the branch moves, without a text, and one with its outcome.
const NoteBranch = "abide/branch"

// ActStage is how far an act on a branch is.
type ActStage string

// The stages of an act.
const (
	// ActBegun means that it may have happened, or not.
	ActBegun  ActStage = "begun"
	ActDone   ActStage = "done"
	ActFailed ActStage = "failed"
)

// Values lists the stages.
func (ActStage) Values() []string { return []string{"begun", "done", "failed"} }

// mostActs bounds the acts that a fold keeps.
const mostActs = 20

// BranchAct is an act on a branch: commit, update, merge, push or pull-request.
type BranchAct struct {
	Act   string   `json:"act"`
	Stage ActStage `json:"stage"`
	// Branch is the one that moved, from Before to After. Before is absent for a first
	// commit.
	Branch string `json:"branch"`
	Before string `json:"before,omitempty"`
	After  string `json:"after"`
	// From is the branch that was merged into it.
	From string `json:"from,omitempty"`
	// Tip is the commit of From.
	Tip string `json:"tip,omitempty"`
	// Remote is the name of the one that it was pushed to.
	Remote string `json:"remote,omitempty"`
	// URL is the address of the pull request.
	URL string `json:"url,omitempty"`
	// Files counts those that differ.
	Files int `json:"files"`
	// Key is the client's id of the request, and Hash identifies its content.
	Key  string `json:"key"`
	Hash string `json:"hash"`
}

// applyAct applies a note about an act on the branch.
func applyAct(acts []BranchAct, n event.Note) []BranchAct {
	var act BranchAct
	if json.Unmarshal(n.Raw, &act) != nil || act.Key == "" {
		return acts
	}
	acts = slices.DeleteFunc(slices.Clone(acts), func(a BranchAct) bool { return a.Key == act.Key })
	acts = append(acts, act)
	return acts[max(0, len(acts)-mostActs):]
}

// ActOf returns the act of a request; nil if there was none that is still known.
func ActOf(acts []BranchAct, key string) *BranchAct {
	for _, a := range acts {
		if a.Key == key {
			return &a
		}
	}
	return nil
}

// OpenAct is the act of which the outcome is not known; nil if there is none.
func OpenAct(acts []BranchAct) *BranchAct {
	for _, a := range acts {
		if a.Stage == ActBegun {
			return &a
		}
	}
	return nil
}
