// Package problem describes for a person what is wrong with a session, and the remedy.
package problem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/abidehub/abide/internal/disk"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
)

// Kind is the kind of a session's problem.
type Kind string

const (
	// Unreadable: the files cannot be opened, so no event can be shown.
	Unreadable Kind = "unreadable"
	// Damaged: a part of the log is lost or inconsistent. The rest is shown,
	// and the session works.
	Damaged Kind = "damaged"
	// Frozen: the device failed to store written events.
	Frozen Kind = "frozen"
	// Blocked: the device is full. The problem ends by itself once there is
	// space.
	Blocked Kind = "blocked"
)

// Values lists the kinds there are.
func (Kind) Values() []string {
	return []string{string(Unreadable), string(Damaged), string(Frozen), string(Blocked)}
}

// Problem is a session's problem, described for a person.
type Problem struct {
	SessionID string
	Kind      Kind
	// The problem (What) and its remedy (Do). Neither contains a path.
	What, Do string
}

// Error is the error of a session that cannot be opened or written. It is an
// ErrUnavailable. The next call tries again.
type Error struct {
	Problem
	// Err is the cause. It may contain paths: it is for the hub's log only.
	Err error
}

// Error is for people who may read the session.
func (e *Error) Error() string { return e.What + "; " + e.Do }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes it an ErrUnavailable.
func (e *Error) Is(target error) bool { return target == state.ErrUnavailable }

// cause is a row of the table of problems. Health, a failed opening and a refused
// verb describe a session with the same words.
type cause int

const (
	causeHeld       cause = iota // another hub has it
	causeAway                    // its directory is gone
	causeAllAway                 // the directory of all sessions is gone
	causeReturned                // its directory was gone
	causeTaken                   // the log lost its file; the detail says how
	causeFull                    // there is no space; the detail says for what
	causeDevice                  // the device failed while the log was written
	causeDeviceOpen              // the device failed while it was opened
	causeNewer
	causeForbidden
	causeUnreadable
	causeMetadata // of metadata and queue the detail is the system's reason
	causeQueue
	causeBlobDamaged
	causeBlob   // the detail is the system's reason
	causeUpload // likewise
	causeConflicts
	causeHoles
	causeUnverified
)

// row returns the row of a cause. In What, … stands for the detail. In Do, ID of
// `abide check ID` and PID stand for this session and process.
func (c cause) row() Problem {
	const (
		reopen = "reopen the session (POST /api/sessions/ID/reopen)"
		places = "`abide check ID` names the places"
	)
	return [...]Problem{
		causeHeld:        {Kind: Unreadable, What: "another hub has the session", Do: "use it there, or end the session on that hub and open it here again"},
		causeAway:        {Kind: Unreadable, What: "the session's directory is gone", Do: "delete the session, or put its directory back and reopen it"},
		causeAllAway:     {Kind: Unreadable, What: "the directory of all sessions is gone", Do: "put the directory `sessions` back into the data directory, or mount what it was on, then reopen the session"},
		causeReturned:    {Kind: Frozen, What: "the session's directory was gone for a while, and is back", Do: reopen + ": no event is lost"},
		causeTaken:       {Kind: Frozen, What: "the log accepts no more events: …", Do: reopen + ": that restores the data that the hub still has, and copies the file in its place to the session's quarantine; if that fails, copy the file that the hub has open from /proc/PID/fd before the hub ends"}, // only the hub has the data
		causeFull:        {Kind: Blocked, What: "there is no space left …", Do: "free space on the device; the session then continues by itself"},
		causeDevice:      {Kind: Frozen, What: "the log accepts no more events after an error of the device", Do: deviceWords},
		causeDeviceOpen:  {Kind: Frozen, What: "the device failed while the session was opened", Do: deviceWords},
		causeNewer:       {Kind: Unreadable, What: "the session was written by a newer abide", Do: "run that version or a later one"},
		causeForbidden:   {Kind: Unreadable, What: "the session's files may not be read by the hub", Do: "give them to the user the hub runs as, with mode 0600"},
		causeUnreadable:  {Kind: Unreadable, What: "the session's files cannot be read", Do: "run `abide check ID`, which names what is wrong, or bring the files back from a backup"},
		causeMetadata:    {Kind: Damaged, What: "the session's metadata cannot be written: …", Do: "check the device and the session's metadata.json and labels.json; the hub retries by itself"},
		causeQueue:       {Kind: Damaged, What: "the session's waiting prompts cannot be written: …", Do: "check the device and the session's queue.json; prompts are refused while the agent works, and the hub retries by itself"},
		causeBlobDamaged: {Kind: Damaged, What: "the file of this value is damaged", Do: blobWords},
		causeBlob:        {Kind: Damaged, What: "the file of this value cannot be read: …", Do: blobWords},
		causeUpload:      {Kind: Damaged, What: "the file cannot be kept: …", Do: "look at the device, and at what lies in the session's directory `blobs`: `abide check ID` names what is wrong"},
		causeConflicts:   {Kind: Damaged, What: "… events are in the log twice with different content; the first of each is shown", Do: places + "; the others are kept in the session's quarantine"},
		causeHoles:       {Kind: Damaged, What: "events are missing from the log; placeholders stand for them", Do: places + "; bring the log back from a backup if you have one"},
		causeUnverified:  {Kind: Damaged, What: "the checksums of … events are absent or wrong; they are shown as they are", Do: places},
	}[c]
}

const (
	deviceWords = "look at the device and the system's log, then reopen the session (POST /api/sessions/ID/reopen) or restart the hub: acknowledged events are kept"
	blobWords   = "`abide check ID` names it: put it back from a backup, or upload the same file again"
)

// problem is the row of a cause for one session.
func (c cause) problem(id string, detail ...string) Problem {
	p := c.row()
	p.SessionID = id
	p.What = strings.Replace(p.What, "…", strings.Join(detail, ""), 1)
	p.Do = strings.NewReplacer("check ID", "check "+id, "/PID/", fmt.Sprintf("/%d/", os.Getpid())).Replace(p.Do)
	return p
}

// unsaved is the problem of a file beside the log that cannot be written, and why.
func (c cause) unsaved(id, file, why string) Problem {
	if why == syscall.ENOSPC.Error() || why == syscall.EDQUOT.Error() {
		return causeFull.problem(id, "to write the session's "+file)
	}
	return c.problem(id, why)
}

// causeOf returns the cause of an error of a log that cannot be opened or written.
func causeOf(err error) (c cause, known bool) {
	switch {
	case errors.Is(err, journal.ErrHeld), errors.Is(err, journal.ErrFenced):
		return causeHeld, true
	case errors.Is(err, journal.ErrAway) && journal.AbsenceOf(err) == journal.AllAway:
		return causeAllAway, true
	case errors.Is(err, journal.ErrAway):
		return causeAway, true
	case errors.Is(err, journal.ErrBlocked):
		return causeFull, true
	case errors.Is(err, journal.ErrFrozen):
		return causeDevice, true
	}
	return 0, false
}

// OfOpening describes a failed opening. An error that is not about the session is
// returned unchanged.
func OfOpening(id string, err error) error {
	c, known := causeOf(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, journal.ErrClosed):
		return fmt.Errorf("%w: the hub is ending", state.ErrUnavailable)
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrInvalidID):
		return fmt.Errorf("open session: %w", OfLog(err))
	case c == causeFull && known, !known && disk.IsFull(err):
		c = causeFull
	case c == causeDevice && known, !known && errors.Is(err, syscall.EIO):
		c = causeDeviceOpen
	case known:
	case errors.Is(err, journal.ErrFormat):
		c = causeNewer
	case errors.Is(err, fs.ErrPermission):
		c = causeForbidden
	default:
		c = causeUnreadable
	}
	return &Error{Problem: c.problem(id, "to open the session"), Err: err}
}

// OfLog turns an error of a journal into one for a person.
func OfLog(err error) error {
	c, known := causeOf(err)
	switch {
	case known:
		return &Error{c.problem("", "on the device"), err}
	case errors.Is(err, journal.ErrClosed):
		return fmt.Errorf("%w: %w", state.ErrUnavailable, err)
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrInvalidID):
		return fmt.Errorf("%w: %w", state.ErrNotFound, err)
	}
	return err
}

// IsStuck reports whether an error says that the log cannot be written.
func IsStuck(err error) bool {
	_, is := causeOf(err)
	return is
}

// stuck returns the problem of a log that cannot be written, if it cannot.
func stuck(id string, h journal.Health) (t Problem, is bool) {
	switch {
	case h.State == journal.HealthLost:
		return causeHeld.problem(id), true
	case h.State == journal.HealthBlocked:
		t = causeFull.problem(id, "to write the log")
	case h.State != journal.HealthFrozen:
		return t, false
	case h.Absence == journal.AllAway:
		return causeAllAway.problem(id), true
	case h.Absence == journal.Away:
		return causeAway.problem(id), true
	case h.Absence == journal.Returned:
		return causeReturned.problem(id), true
	case h.Taken != "":
		return causeTaken.problem(id, h.Taken), true
	default:
		t = causeDevice.problem(id)
	}
	if h.Unsaved != "" {
		t.What += ": its metadata cannot be written: " + h.Unsaved
	}
	return t, true
}

// OfWriting gives an error of a log the words of its health, with the remedy.
func OfWriting(id string, log journal.Log, err error) error {
	if t, is := stuck(id, log.Health()); is && IsStuck(err) {
		return &Error{Problem: t, Err: err}
	}
	return OfLog(err)
}

// List describes a log's health.
func List(id string, h journal.Health) []Problem {
	var all []Problem
	if t, is := stuck(id, h); is {
		all = append(all, t)
	} else if h.Unsaved != "" {
		all = append(all, causeMetadata.unsaved(id, "metadata", h.Unsaved))
	}
	if h.Absence != "" {
		return all // damage is reported once the files can be read
	}
	if h.Conflicts > 0 {
		all = append(all, causeConflicts.problem(id, fmt.Sprint(h.Conflicts)))
	}
	if h.Holes > 0 || h.Missing > 0 {
		all = append(all, causeHoles.problem(id))
	}
	if h.Unverified > 0 {
		all = append(all, causeUnverified.problem(id, fmt.Sprint(h.Unverified)))
	}
	return all
}

// OfQueue is the problem of waiting prompts that cannot be written, and why.
func OfQueue(id, why string) Problem { return causeQueue.unsaved(id, "waiting prompts", why) }

// OfUpload is the error for a file of a prompt that cannot be kept.
func OfUpload(id string, err error) error { return &Error{causeUpload.problem(id, Why(err)), err} }

// OfBlob is the error for a large value that cannot be read.
func OfBlob(id string, err error) error {
	c := causeBlob
	if errors.Is(err, journal.ErrDamaged) {
		c = causeBlobDamaged
	}
	return &Error{c.problem(id, Why(err)), err}
}

// Why returns why a file could not be written, without its path; empty if it
// was written.
func Why(err error) string {
	if err == nil {
		return ""
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	return "the system refuses it"
}
