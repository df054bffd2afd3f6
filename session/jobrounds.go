package session

import (
	"encoding/json"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// roundAgain is how long after a failed write it is tried again.
const roundAgain = time.Second

// jobRounds records the rounds of a job.
type jobRounds struct {
	fold  *state.Fold
	write func(event.Payload) error
	wake  func(time.Time)
}

// watch records the round that is over.
func (r *jobRounds) watch() {
	job := r.fold.Job
	if job == nil || !job.RoundOver {
		return
	}
	at := job.Checkpoint()
	raw, err := json.Marshal(at)
	if err != nil { // encoding strings and numbers never fails
		panic(err)
	}
	note := event.Note{Method: state.NoteCheckpoint, Raw: raw}
	if err := r.write(note); err != nil {
		r.wake(time.Now().Add(roundAgain))
	}
}
