package session

import (
	"context"
	"strings"
	"time"

	"github.com/abidehub/abide/session/event"
)

const (
	// resumePrefix begins the id of a prompt that resumes a turn.
	resumePrefix = "resume-"
	// autoResumes is how often the hub resumes by itself after a person's prompt.
	autoResumes = 2
	// autoBound is for one try of that.
	autoBound = time.Minute
)

// countResume counts the resumes since the latest prompt that was none.
func (i *interruptions) countResume(promptID string) {
	if strings.HasPrefix(promptID, resumePrefix) {
		i.Resumes++
	} else {
		i.Resumes = 0
	}
}

// auto resumes a turn that was cut off, once, where the configuration lets
// the hub do that by itself. A turn that waits for a person's choice, an agent that
// does not start, and the third resume are a person's.
func (s *resumer) auto() {
	open := s.fold.interruptions.Open
	switch {
	case open == nil, s.turn.autoTried, !s.resumeSettings().Auto:
		return
	case open.Reason == event.CutPaused, s.fold.interruptions.Resumes >= autoResumes, s.agent.status == AgentFailed:
		return
	}
	s.turn.autoTried = true
	id := open.ID
	s.helpers.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), autoBound)
		defer cancel()
		if err := s.b.resumeUnchanged(ctx, id); err != nil {
			s.logger.Info("turn is not resumed by itself", "err", err)
		}
	})
}

// resumeUnchanged resumes where nothing has to be confirmed. Drift that shows when
// the agent is back pauses the turn.
func (b *BackgroundSession) resumeUnchanged(ctx context.Context, id string) error {
	offer, err := b.Interruption(ctx)
	if err != nil {
		return err
	}
	var needs []string
	if offer.Stale {
		needs = append(needs, "stale")
	}
	needs = append(needs, offer.Mismatch...)
	if allowMore(offer.Drift) {
		needs = append(needs, "drift")
	}
	if len(needs) > 0 {
		return &NeedsConfirmation{Needs: needs}
	}
	r := ResumeRequest{InterruptionID: id, Actor: theHub()}
	if len(offer.Drift) > 0 {
		r.Drift = DriftKeep // it allows no more
	}
	_, err = b.Resume(ctx, r)
	return err
}
