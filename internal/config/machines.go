package config

import "fmt"

// Machines says what this hub keeps of the machines that joined it.
type Machines struct {
	// KeepCopies says of which sessions the logs are copied: all, opened or none.
	KeepCopies string
	// CopiesMiB is how much the copies may take; 0 is any amount.
	CopiesMiB int
}

type fileMachines struct {
	KeepCopies *string  `yaml:"keep_copies"`
	CopiesMiB  *float64 `yaml:"copies_mib"`
}

// apply sets what the file has in m. After an error path is the field that is wrong.
func (f fileMachines) apply(m *Machines) (path string, err error) {
	if f.KeepCopies != nil {
		switch *f.KeepCopies {
		case "all", "opened", "none":
			m.KeepCopies = *f.KeepCopies
		default:
			return "$.machines.keep_copies", fmt.Errorf("%q is not one of all, opened, none", *f.KeepCopies)
		}
	}
	if f.CopiesMiB != nil {
		if m.CopiesMiB, err = wholeOrNone(*f.CopiesMiB); err != nil {
			return "$.machines.copies_mib", err
		}
	}
	return "", nil
}
