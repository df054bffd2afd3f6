package jobs

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// shaDigits is the length of a SHA-256 in hex.
const shaDigits = 64

// uploadsOf divides the files of a request into paths and the SHA-256 of uploads. A path of 64
// hex digits is written with ./ before it.
func uploadsOf(files []string) (paths, shas []string) {
	for _, f := range files {
		if _, err := hex.DecodeString(f); err == nil && len(f) == shaDigits {
			if sha := strings.ToLower(f); !slices.Contains(shas, sha) {
				shas = append(shas, sha)
			}
		} else {
			paths = append(paths, f)
		}
	}
	return paths, shas
}

// attach looks up the uploads that a job is to have.
func (r *Runner) attach(ctx context.Context, j *event.Job, shas []string) (err error) {
	switch {
	case len(shas) == 0:
		return nil
	case len(shas) > session.MaxAttachments:
		return refuse("files", "at most %d attachments go with a task", session.MaxAttachments)
	case j.DelegatedBy == "":
		return refuse("files", "an attachment is uploaded to the session that delegates the job: name it in session_id, or name a path of the workspace")
	}
	j.Attachments, err = r.manager.Uploads(ctx, j.DelegatedBy, shas, false)
	return err
}

// copiesFit refuses an order of n jobs whose copies of uploads would be more than its actor may
// upload on a day. One that was made before has them.
func (r *Runner) copiesFit(o Order, n int) error {
	if o.Session.Key != "" {
		if _, made := r.manager.JobMadeBy(o.Session.Actor, o.Session.Key); made {
			return nil
		}
	}
	return state.About("files", r.manager.CopiesFit(o.Session.Actor, o.Job.Attachments, n))
}

// holdUploads keeps the uploads of a job that is about to be made, until it has copies.
func (r *Runner) holdUploads(ctx context.Context, j event.Job) error {
	if len(j.Attachments) == 0 {
		return nil
	}
	var shas []string
	for _, a := range j.Attachments {
		shas = append(shas, a.SHA256)
	}
	_, err := r.manager.Uploads(ctx, j.DelegatedBy, shas, true)
	return err
}

// createJob makes a job with copies of its uploads. Copies that cannot be made now are made
// at its start.
func (r *Runner) createJob(ctx context.Context, o Order) (info list.Info, made bool, err error) {
	info, made, err = r.manager.CreateJob(ctx, o.Session, o.Job)
	if err != nil || len(o.Job.Attachments) == 0 {
		return info, made, err
	}
	if err := r.manager.CopyJobUploads(ctx, info.SessionID); err != nil {
		r.logger.Warn("the attachments of a new job are not copied yet", "session", info.SessionID, "err", err)
	}
	return info, made, nil
}
