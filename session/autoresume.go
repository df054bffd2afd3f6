package session

import (
	"context"
	"strconv"
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

func (e *engine) resumeSettings() ResumeSettings {
	return e.hub.settings().agent(e.agentName).Resume
}

// countResume counts the resumes since the latest prompt that was none.
func (i *interruptions) countResume(promptID string) {
	if strings.HasPrefix(promptID, resumePrefix) {
		i.Resumes++
	} else {
		i.Resumes = 0
	}
}

// autoResume resumes a turn that was cut off, once, where the configuration lets
// the hub do that by itself. A turn that waits for a person's choice, an agent that
// does not start, and the third resume are a person's.
func (e *engine) autoResume() {
	open := e.fold.interruptions.Open
	switch {
	case open == nil, e.turn.autoTried, !e.resumeSettings().Auto:
		return
	case open.Reason == event.CutPaused, e.fold.interruptions.Resumes >= autoResumes, e.agent.status == AgentFailed:
		return
	}
	e.turn.autoTried = true
	id := open.ID
	e.help(func() {
		ctx, cancel := context.WithTimeout(context.Background(), autoBound)
		defer cancel()
		if err := e.b.resumeUnchanged(ctx, id); err != nil {
			e.logger.Info("turn is not resumed by itself", "err", err)
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

// toldResumed says how the agent got its memory back, once it has the prompt that
// resumes a turn.
func (e *engine) toldResumed() []entry {
	if !strings.HasPrefix(e.fold.promptID, resumePrefix) {
		return nil
	}
	if e.turn.restore.step == restoreTold {
		return nil // it says so itself
	}
	text := "The agent began a new session and is given a short account of this one."
	switch e.agent.resumed {
	case event.ResumedByResume, event.ResumedByLoad:
		text = "The agent goes on with its own session (session/" + string(e.agent.resumed) + ")."
		if turn := e.fold.completed; turn > 0 {
			text += " The last answer it completed is that of turn " + strconv.Itoa(turn) + "."
		} else {
			text += " It has completed no answer yet."
		}
	}
	return e.entries(event.Note{Method: "abide/resumed", Text: event.Text(text)})
}
