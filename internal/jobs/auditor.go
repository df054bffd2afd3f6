package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/byhand"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

const (
	// auditBound is the default of Options.AuditBound.
	auditBound = time.Minute
	// mostAudited bounds what an auditor may say, mostReason the reason that is kept of it, in
	// bytes.
	mostAudited = 64 << 10
	mostReason  = 4 << 10
	// mostRefusal bounds the reason of a job in runes.
	mostRefusal = 300
)

// auditing is how auditors run.
type auditing struct {
	env   []string
	bound time.Duration
}

// audited is what an auditor reads.
type audited struct {
	// Stage is "start" or "result".
	Stage string `json:"stage"`
	// Workspace is the folder where the job's agent works. Its working copy is made after the
	// job was accepted.
	Workspace string       `json:"workspace"`
	Job       wire.JobInfo `json:"job"`
}

// judge asks the job's auditor about the job, if turn is 0, or else about the result of that
// turn. Without an auditor it is accepted. judged is false if the log has no verdict yet.
func (t *trip) judge(ctx context.Context, b *session.BackgroundSession, job session.JobState, turn int) (v event.JobVerdict, judged bool, err error) {
	audits, dir := t.manager.Settings().AuditsFor(placeOf(b))
	name := audits.Always
	if name == "" {
		name = job.Given.Auditor
	}
	if name == "" {
		return event.JobVerdict{Accepted: true}, true, nil
	}
	if v := job.Verdict(turn); v != nil {
		return *v, true, nil
	}
	in := audited{Stage: "start", Workspace: b.Log().Metadata().Workspace}
	if turn > 0 {
		in.Stage = "result"
		if job.Became == nil {
			return v, false, t.answer(ctx, b, job)
		}
	}
	in.Job = t.whole(ctx, b.Info(), job)
	v = event.JobVerdict{Auditor: name, Turn: turn}
	command, configured := audits.Commands[name]
	if !configured {
		v.Reason = "It is not in the configuration any more."
		return v, false, b.JudgeJob(ctx, v, state.TheHub())
	}
	done, err := t.ask(ctx, b, job, command, dir, in, &v)
	if !done || err != nil {
		return v, false, err
	}
	return v, false, b.JudgeJob(ctx, v, state.TheHub())
}

// ask runs an auditor and notes what it says. done is false if the job went on meanwhile, or
// was cancelled, which ends the auditor.
func (t *trip) ask(ctx context.Context, b *session.BackgroundSession, was session.JobState, command []string, dir string, in audited, v *event.JobVerdict) (done bool, err error) {
	stdin, err := json.Marshal(in)
	if err != nil {
		return false, fmt.Errorf("encode a job for its auditor: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan error, 1)
	go func() { // ends with ctx, and is waited for
		over <- t.auditing.run(ctx, byhand.Program{Args: command, Dir: dir, Env: t.auditing.env, In: bytes.NewReader(stdin), Most: mostAudited + 1}, v)
	}()
	for {
		changed := b.StateChanged()
		if is, err := b.Job(ctx); err != nil || is.Step.Status != was.Step.Status || v.Turn > 0 && (is.Open || is.Turn != v.Turn) {
			cancel()
			<-over
			return false, err
		}
		select {
		case err := <-over:
			if err != nil && ctx.Err() == nil {
				t.logger.Warn("an auditor failed", "session", t.id, "auditor", v.Auditor, "err", err)
			}
			return ctx.Err() == nil, ctx.Err()
		case <-changed:
		}
	}
}

// run runs an auditor and notes what it says. The error is for the hub's log.
func (a auditing) run(ctx context.Context, p byhand.Program, v *event.JobVerdict) error {
	limited, cancel := context.WithTimeout(ctx, a.bound)
	defer cancel()
	said, err := byhand.Run(limited, p)
	var exit *exec.ExitError
	switch {
	case err != nil && limited.Err() != nil:
		v.Reason = fmt.Sprintf("It took longer than %v.", a.bound)
	case len(said) > mostAudited:
		v.Reason = "It said more than 64 KiB."
	case err == nil:
		v.Accepted = true
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		if v.Reason = reasonOf(said); v.Reason == "" {
			v.Reason = "It gave no reason."
		}
		return nil
	case exit != nil:
		v.Reason = fmt.Sprintf("It failed (%v).", exit)
	default:
		v.Reason = "Its program cannot be started."
	}
	return err
}

// reasonOf is the reason in what an auditor said.
func reasonOf(said string) string {
	said = strings.TrimSpace(said)
	return strings.ToValidUTF8(said[:min(len(said), mostReason)], "")
}

// refusal is the reason of a job that an auditor refused.
func refusal(v event.JobVerdict) string { return state.Cut(state.OneLine(v.Words()), mostRefusal) }

// placeOf is the folder whose project's settings a job has.
func placeOf(b *session.BackgroundSession) string {
	meta := b.Log().Metadata()
	if w := meta.Worktree; w != nil {
		return w.Of
	}
	return meta.Workspace
}
