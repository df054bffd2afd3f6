package store

// Beside describes a file in a session's directory that another package owns.
type Beside struct {
	// File is its name.
	File string
	// Check returns why the file in a session's directory cannot be used, and
	// whether Repair helps; nil if it can be used. It changes nothing.
	Check func(dir string) (repairable bool, err error)
	// Repair makes the file usable and returns its actions, if any.
	Repair func(dir string) (did string, err error)
}

// repairBeside repairs the other packages' files beside a log.
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
