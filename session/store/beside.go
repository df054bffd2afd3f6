package store

// Beside is a file in a session's directory that is not the store's, and what its
// owner knows of it.
type Beside struct {
	// File is its name.
	File string
	// Check says why the file in a session's directory cannot be used, and whether
	// Repair helps; nil if it can. It changes nothing.
	Check func(dir string) (repairable bool, err error)
	// Repair makes it usable, and says what it did; empty is nothing.
	Repair func(dir string) (did string, err error)
}

// repairBeside repairs what lies beside a log.
func repairBeside(dir, id string, beside []Beside, report *Report) {
	for _, b := range beside {
		did, err := b.Repair(dir)
		if did != "" {
			report.Actions = append(report.Actions, Action{Session: id, Did: did})
		}
		if err != nil {
			report.add(Problem{Session: id, Kind: ProblemUnreadable, File: b.File, Detail: err.Error()})
		}
	}
}
