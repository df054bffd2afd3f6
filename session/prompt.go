package session

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/problem"
	"github.com/abidehub/abide/session/state"
)

// MaxAttachments limits the attachments of a prompt.
const MaxAttachments = 20

// When says what happens to a prompt while the agent is busy.
type When string

const (
	WhenAuto  When = "auto"  // at once when idle, else into the queue; the default
	WhenQueue When = "queue" // always into the queue
	WhenNow   When = "now"   // at once: an open turn is cancelled, and other prompts wait
)

// PromptRequest is a person's prompt.
type PromptRequest struct {
	// PromptID is the client's id of this prompt, at most 128 bytes. If it is
	// repeated, the answer is the latest outcome.
	PromptID string
	Text     string
	// Attachments were stored by Attach and are identified by their SHA256. Name
	// and MediaType count if the same bytes were stored under several.
	Attachments []event.Attachment
	When        When
	// ScheduledAt, if set, keeps the prompt in the queue until then.
	ScheduledAt *time.Time
	Actor       event.Actor
	// Guest means that the person may not manage the session. The last places of the
	// queue are not for guests.
	Guest bool
	// Begun means that the prompt belongs to a job that has started: no budget stops it.
	Begun bool

	stopped error // why the project's budget of today lets nothing begin; nil if it does not
}

// PromptResult is the latest outcome of a prompt.
type PromptResult struct {
	Outcome queue.Outcome
	// Seq is the prompt's event, if it is in the log.
	Seq event.Seq
	// Position counts from 0, while the prompt waits.
	Position int
}

// intake takes people's prompts. Each begins a turn or waits in the queue.
type intake struct {
	*foldedLog
	agent *agentSlot
	turns *turns
	files *fileWriter
	file  *queueFile

	changing bool     // a client's change of the queue is being written
	later    []func() // jobs of other clients on the queue, in the order in which they came
}

// inOrder runs a client's job on the queue, but not while the change of an earlier
// one is being written: a resent prompt must find the first one, and later prompts
// stay behind it.
func (i *intake) inOrder(job func()) {
	if i.changing {
		i.later = append(i.later, job)
		return
	}
	job()
}

// save calls done when a Save, if there is one, has been written.
func (i *intake) save(save *queue.Save, done func(error)) {
	if save == nil {
		done(nil)
		return
	}
	i.changing = true
	i.file.write(save, func(err error) {
		i.changing, i.dirty = false, true
		if err != nil && i.health.lost {
			done(i.stuck(journal.ErrFenced))
		} else {
			done(queueError(err))
		}
		for !i.changing && len(i.later) > 0 {
			job := i.later[0]
			i.later = i.later[1:]
			job()
		}
	})
}

// take gives its result to reply, perhaps later.
func (i *intake) take(r PromptRequest, reply func(PromptResult, error)) {
	if err := i.accept(r, reply); err != nil {
		reply(PromptResult{}, err)
	}
}

// accept is take. It calls reply only if it returns nil.
func (i *intake) accept(r PromptRequest, reply func(PromptResult, error)) error {
	if err := r.validate(i.hub.settings().Limits.PromptBytes); err != nil {
		return err
	}
	var missing error
	r.Attachments, missing = i.uploaded(r.Attachments)
	attachments := toQueue(r.Attachments)
	hash := queue.Hash(r.Text, attachments)
	status, known, err := i.queue.Lookup(r.PromptID, hash)
	if err != nil {
		return queueError(err)
	}
	if known {
		i.save(i.queue.Flush(), func(err error) { reply(resultUnless(err, status)) })
		return nil
	}
	if err := i.refusal(); err != nil {
		return err
	}
	if missing != nil {
		return missing
	}
	if r.stopped != nil && !r.waits() && (!i.fold.Open || r.When == WhenNow) {
		return r.stopped
	}
	if i.agent.status == AgentFailed {
		i.agent.forgive() // a person decided to continue
	}
	if i.mustWait(r) {
		if !r.waits() {
			if err := i.release(r.PromptID, r.Actor); err != nil {
				return err
			}
		}
		return i.enqueue(r, attachments, reply)
	}
	seq, err := i.turns.begin(event.UserPrompt{
		PromptID:    r.PromptID,
		Text:        event.Text(r.Text),
		Attachments: r.Attachments,
		Actor:       r.Actor.Name,
		ByID:        r.Actor.ID,
	}, hash)
	if err != nil {
		return fmt.Errorf("make prompt: %w", i.stuck(err))
	}
	i.unarchive(func() { reply(PromptResult{Outcome: queue.Received, Seq: seq}, nil) })
	return nil
}

// unarchive removes the archived label, because requests of an archived session
// would not be seen. It calls then when the label is on the device, or cannot be
// written.
func (i *intake) unarchive(then func()) {
	if !i.log.Metadata().Archived {
		then()
		return
	}
	var err error
	i.files.add(
		func() { err = i.log.Label(func(m *journal.Metadata) { m.Archived = false }) },
		func() {
			if err != nil {
				i.logger.Warn("session stays archived", "err", err)
			}
			i.list.changed = true
			then()
		})
}

// waits reports whether the request asks to wait.
func (r PromptRequest) waits() bool { return r.When == WhenQueue || r.ScheduledAt != nil }

// mustWait reports whether a prompt must be queued: the agent is busy, or other
// prompts wait.
func (i *intake) mustWait(r PromptRequest) bool {
	if r.waits() || i.fold.Open || i.undoing {
		return true
	}
	now := time.Now()
	due, waiting := i.queue.NextDue(now)
	return waiting && !due.After(now)
}

func (i *intake) enqueue(r PromptRequest, attachments []queue.Attachment, reply func(PromptResult, error)) error {
	settings := i.queueSettings()
	now := r.When == WhenNow && r.ScheduledAt == nil
	if settings.Disabled && !now {
		return fmt.Errorf("%w: the agent is working and the queue is switched off", state.ErrBusy)
	}
	item := queue.Item{
		PromptID:    r.PromptID,
		Text:        r.Text,
		Attachments: attachments,
		Actor:       r.Actor.Name,
		ByID:        r.Actor.ID,
		QueuedAt:    time.Now().UTC(),
		ScheduledAt: r.ScheduledAt,
		Now:         now,
	}
	if !settings.Untitled {
		item.Title = state.FirstSentence(r.Text)
	}
	if waiting := i.queue.Len(); r.Guest && waiting >= settings.GuestSize() {
		return fmt.Errorf("%w: %d prompts wait, and the last places of the queue are the owner's", state.ErrConflict, waiting)
	}
	i.queue.SetMaxSize(settings.Size())
	save, err := i.queue.Add(item)
	if err != nil {
		return queueError(err)
	}
	i.save(save, func(err error) {
		if err != nil {
			reply(PromptResult{}, err)
			return
		}
		result := PromptResult{Outcome: queue.Queued, Position: i.queue.Len() - 1}
		if now {
			result.Position = slices.IndexFunc(i.queue.Items(), func(item queue.Item) bool { return item.PromptID == r.PromptID })
			i.turns.giveWay(r.Actor)
		}
		i.unarchive(func() { reply(result, nil) })
	})
	return nil
}

func resultUnless(err error, s queue.Status) (PromptResult, error) {
	if err != nil {
		return PromptResult{}, err
	}
	return PromptResult{Outcome: s.Outcome, Seq: event.Seq(s.Seq), Position: s.Position}, nil
}

// validate checks the request alone. Its text may have limit bytes.
func (r PromptRequest) validate(limit int) error {
	if err := state.CheckID("a prompt", r.PromptID); err != nil {
		return err
	}
	switch {
	case len(r.Text) > limit:
		return fmt.Errorf("%w: the prompt has %d bytes, at most %d are accepted", state.ErrTooLarge, len(r.Text), limit)
	case strings.TrimSpace(r.Text) == "" && len(r.Attachments) == 0:
		return fmt.Errorf("%w: the prompt is empty", state.ErrInvalid)
	case !utf8.ValidString(r.Text):
		return fmt.Errorf("%w: the prompt is not valid UTF-8", state.ErrInvalid)
	case len(r.Attachments) > MaxAttachments:
		return fmt.Errorf("%w: at most %d attachments go with a prompt", state.ErrTooLarge, MaxAttachments)
	case r.When != "" && r.When != WhenAuto && r.When != WhenQueue && r.When != WhenNow:
		return fmt.Errorf("%w: when is %q, %q or %q", state.ErrInvalid, WhenAuto, WhenQueue, WhenNow)
	case r.When == WhenNow && r.ScheduledAt != nil:
		return fmt.Errorf("%w: a prompt for now has no scheduled_at", state.ErrInvalid)
	}
	return nil
}

// uploaded replaces a client's description of its attachments by the records of
// their uploads, because the agent and every screen get name, type and size. After
// an error, some are missing and keep the client's description.
func (i *intake) uploaded(claims []event.Attachment) (list []event.Attachment, missing error) {
	list = slices.Clone(claims)
	for n, claim := range claims {
		a, err := i.log.Upload(claim)
		switch {
		case err == nil:
			list[n] = a
		case errors.Is(err, journal.ErrNotFound):
			missing = fmt.Errorf("%w: attachment %q was not uploaded to this session", state.ErrInvalid, claim.Name)
		default:
			missing = fmt.Errorf("attachment %q cannot be read: %w", claim.Name, problem.OfLog(err))
		}
	}
	return list, missing
}

// attachmentName returns the part of a client's file name that is safe to show and
// to write: its last element, printable, at most 100 runes.
func attachmentName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`/:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	if name == "." || name == ".." || name == "_" || name == "" {
		return "attachment"
	}
	if runes := []rune(name); len(runes) > 100 {
		ext := []rune(path.Ext(name))
		if len(ext) > 10 {
			ext = nil
		}
		name = string(runes[:100-len(ext)]) + string(ext)
	}
	return name
}

func toQueue(list []event.Attachment) []queue.Attachment {
	var out []queue.Attachment
	for _, a := range list {
		out = append(out, queue.Attachment(a))
	}
	return out
}

func fromQueue(list []queue.Attachment) []event.Attachment {
	var out []event.Attachment
	for _, a := range list {
		out = append(out, event.Attachment(a))
	}
	return out
}

// queueError turns an error of package queue into one of this package's.
func queueError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, queue.ErrNotFound):
		return fmt.Errorf("%w: %w", state.ErrNotFound, err)
	case errors.Is(err, queue.ErrConflict), errors.Is(err, queue.ErrInFlight), errors.Is(err, queue.ErrFull):
		return fmt.Errorf("%w: %w", state.ErrConflict, err)
	}
	return fmt.Errorf("%w: the queue could not be written: %w", state.ErrUnavailable, err)
}
