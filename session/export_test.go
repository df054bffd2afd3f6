package session

import (
	"encoding/json"
	"fmt"

	"github.com/abidehub/abide/session/event"
)

// QuickFold folds batches of a log like the opening of a session. It returns the
// fold's fields as text.
func QuickFold(batches []event.Batch) (string, error) {
	r := recovery{byID: map[string]int{}}
	for _, b := range batches {
		if err := r.takeAll(b); err != nil {
			return "", err
		}
	}
	return r.fold.words()
}

// FullFold is QuickFold with every event decoded.
func FullFold(batches []event.Batch) (string, error) {
	var f fold
	for _, b := range batches {
		events, err := b.Events()
		if err != nil {
			return "", err
		}
		for _, e := range events {
			f.applyEvent(e)
		}
	}
	return f.words()
}

// StoredFold is QuickFold continued from a fold.json that was stored after the
// first batches.
func StoredFold(batches []event.Batch, first int) (string, error) {
	r := recovery{byID: map[string]int{}}
	for i, b := range batches {
		if i == first {
			data, err := encodeFold("0123456789abcdef", &r.fold)
			if err != nil {
				return "", err
			}
			changed := r.fold.changed
			if r.fold, _, err = decodeFold(data); err != nil {
				return "", err
			}
			r.fold.changed = changed
		}
		if err := r.takeAll(b); err != nil {
			return "", err
		}
	}
	return r.fold.words()
}

// words returns the fold's fields as text. It adds one chunk to the newest message
// first, so that the message's state shows too.
func (f *fold) words() (string, error) {
	line := f.line.line()
	f.line.chunk(f.line.messageID, " and more")
	said, err := json.Marshal([]any{f.permissions.settled, f.rules, f.mode, f.config, f.commands, f.usage,
		f.agent, f.before, f.mcpTools, f.completed, f.login, f.promptSeq, f.interruptions, f.recorder})
	tools := fmt.Sprintf("%+v %+v %v", f.tools.unfinished(), f.tools.finished, f.tools.seen)
	return fmt.Sprintf("seq %d turn %d %q open %v failed %v given %d ended %v changed %v agent %q title %q first %q\ntools %s\nasked %v\nsaid %s\nline %q\nthen %q",
		f.seq, f.turn, f.promptID, f.open, f.failed, f.given, f.ended, f.changed, f.agentSessionID, f.title, f.firstPrompt,
		tools, f.permissions.ids(), said, line, f.line.line()), err
}
