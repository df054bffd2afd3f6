package session

import (
	"context"
	"time"

	"github.com/abidehub/abide/session/event"
)

const (
	// autoResumes is how often the hub resumes by itself after each prompt of a
	// person.
	autoResumes = 2
	// autoBound is the time limit of one attempt.
	autoBound = time.Minute
)

// auto resumes an interrupted turn once, if the configuration allows it. A person
// must decide about a turn paused for a choice, about an agent that does not start,
// and after two automatic resumes.
func (s *resumer) auto() {
	open := s.fold.Interruptions.Open
	switch {
	case open == nil, s.fold.Ended, s.fold.Pauses.Now != nil, s.tried == open.InterruptionID, !s.resumeSettings().Auto:
		return
	case open.Reason == event.CutPaused, s.fold.Interruptions.Resumes >= autoResumes, s.agent.status == AgentFailed:
		return
	}
	id := open.InterruptionID
	s.tried = id
	s.helpers.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), autoBound)
		defer cancel()
		if err := s.again(ctx, id); err != nil {
			s.logger.Info("turn is not resumed automatically", "err", err)
		}
	})
}
