package event

// JobAnswer is what a job changed and ran until its end.
type JobAnswer struct {
	// Files are the first 200 files that differ from the job's start, relative to the
	// workspace; Changed counts all.
	Files   []string `json:"files,omitempty"`
	Changed int      `json:"changed"`
	// Diff is their unified diff, Cut means that it is longer than 256 KiB.
	Diff *Blob `json:"diff,omitempty"`
	Cut  bool  `json:"cut,omitempty"`
	// Unknown is why the files are not known.
	Unknown string `json:"unknown,omitempty"`
	// Failed are the commands whose last run failed, Tests the project's test commands that
	// ran.
	Failed []string     `json:"failed,omitempty"`
	Tests  []JobCommand `json:"tests,omitempty"`
}

// JobVerdict is what an auditor says of a job.
type JobVerdict struct {
	// Auditor is its name in the configuration.
	Auditor string `json:"auditor"`
	// Turn is the turn whose result it judged; 0 is the job before its start.
	Turn     int  `json:"turn,omitempty"`
	Accepted bool `json:"accepted"`
	// Reason is why it refuses, at most 4 KiB.
	Reason string `json:"reason,omitempty"`
}

// Words says a verdict for a person.
func (v JobVerdict) Words() string {
	about := "the result"
	if v.Turn == 0 {
		about = "the job"
	}
	if v.Accepted {
		return "The auditor " + v.Auditor + " accepts " + about + "."
	}
	return "The auditor " + v.Auditor + " refuses " + about + ": " + v.Reason
}
