package main

import (
	"fmt"

	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/session/store"
)

// alike limits how many problems of one kind are printed per file: damage may cause
// thousands, and the first ones show where to look.
const alike = 10

// printReport prints, without raw control characters, the report of a check or a repair, and its summary.
func (p *program) printReport(report store.Report, verdict string) error {
	if p.json {
		return p.printJSON(report)
	}
	type place struct{ session, file, kind string }
	count := map[place]int{}
	for _, problem := range report.Problems {
		at := place{problem.Session, problem.File, problem.Kind}
		if count[at]++; count[at] > alike {
			continue
		}
		if _, err := fmt.Fprintln(p.stdout, plain.Line(problem.String())); err != nil {
			return err
		}
	}
	for _, note := range report.Notes {
		if _, err := fmt.Fprintf(p.stdout, "note: %s\n", plain.Line(note.String())); err != nil {
			return err
		}
	}
	for _, problem := range report.Problems { // in their order
		at := place{problem.Session, problem.File, problem.Kind}
		if more := count[at] - alike; more > 0 {
			delete(count, at)
			if _, err := fmt.Fprintf(p.stdout, "%s/%s: %s: and %d more; --json lists all\n", plain.Line(at.session), plain.Line(at.file), at.kind, more); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(p.stdout, "%s, %s: %s\n", counted(report.Sessions, "session"), counted(report.Events, "event"), verdict)
	return err
}

// counted is a number of things in words.
func counted[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// repairable is how many of the problems can be repaired.
func repairable(problems []store.Problem) int {
	n := 0
	for _, p := range problems {
		if p.Repairable {
			n++
		}
	}
	return n
}
