package journal

import "errors"

// HealthState is how a log is.
type HealthState string

const (
	// HealthOK: the log can be read and written.
	HealthOK HealthState = "ok"
	// HealthBlocked: the device is full. The log recovers by itself.
	HealthBlocked HealthState = "blocked"
	// HealthFrozen: the device failed. The log accepts no events until it is
	// reopened.
	HealthFrozen HealthState = "frozen"
	// HealthLost: another holder has a newer lease, see ErrFenced. The log can be
	// read and never written again through this Log.
	HealthLost HealthState = "lost"
)

// Health says whether a log can be written, and counts its damage.
type Health struct {
	State HealthState `json:"state"`
	// Reason is the cause, for a person; empty while the state is ok.
	Reason string `json:"reason,omitempty"`
	// Taken says how another program removed, replaced or shortened the file of a
	// frozen log; empty if it is frozen for another reason. The hub keeps the rest
	// of the file open until it ends.
	Taken string `json:"taken,omitempty"`
	// Absence says whether the directory of a frozen log is or was missing.
	Absence Absence `json:"absence,omitempty"`
	// Unsaved is why the metadata cannot be written, for a person and without a
	// path; empty if it can.
	Unsaved string `json:"unsaved,omitempty"`
	Damage
}

// Damage counts the faults of a log that cannot be repaired.
type Damage struct {
	// Holes are events without a line.
	Holes int64 `json:"holes,omitempty"`
	// Conflicts are lines whose seq, or a higher one, an earlier line has.
	Conflicts int `json:"conflicts,omitempty"`
	// Unverified are events whose checksum is missing or wrong.
	Unverified int `json:"unverified,omitempty"`
	// Missing are events whose whole file is missing, though retention did not
	// remove it.
	Missing int64 `json:"missing,omitempty"`
}

// Absence says whether the directory of a log is missing.
type Absence string

const (
	// Away means that the session's directory is missing.
	Away Absence = "away"
	// AllAway means that the directory of all sessions is missing.
	AllAway Absence = "all away"
	// Returned means that the directory was missing and is back: reopen the log.
	Returned Absence = "returned"
)

// AbsenceOf returns which directory an ErrAway is about.
func AbsenceOf(err error) Absence {
	switch {
	case errors.Is(err, ErrAllAway):
		return AllAway
	case errors.Is(err, ErrAway):
		return Away
	}
	return ""
}
