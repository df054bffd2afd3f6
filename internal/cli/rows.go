package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func statusWord(s wire.SessionInfo, style plain.Style) string {
	word := strings.ReplaceAll(string(s.Status), "_", " ")
	if s.Archived {
		word += ", archived"
	}
	return style.Status(s.Status, word)
}

// machineWord says where a session is.
func machineWord(s wire.SessionInfo) string {
	switch {
	case s.Machine == nil:
		return wire.Here
	case s.Machine.State != "connected":
		return plain.Line(s.Machine.Name) + " (away)"
	}
	return plain.Line(s.Machine.Name)
}

// visible is the width of text that may carry this package's own colours.
func visible(s string) int {
	for {
		from := strings.IndexByte(s, 0x1b)
		if from < 0 {
			return plain.Width(s)
		}
		to := strings.IndexByte(s[from:], 'm')
		if to < 0 {
			return plain.Width(s)
		}
		s = s[:from] + s[from+to+1:]
	}
}

// offered lists what an agent is known to offer, and the configured one, with a star;
// empty if nothing is known.
func offered(what string, list []event.ModeOption, configured string) string {
	var ids []string
	for _, o := range list {
		id := plain.Line(o.ID)
		if o.ID == configured {
			id += "*"
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 && configured != "" {
		ids = []string{plain.Line(configured) + "*"}
	}
	if len(ids) == 0 {
		return ""
	}
	return what + " " + strings.Join(ids, ", ")
}

// interruptionRows says how many turns were interrupted, and how their resumes went.
func interruptionRows(c wire.ResumeCounts) [][]string {
	interrupted, resumed := 0, 0
	for _, n := range c.Interrupted {
		interrupted += n
	}
	for _, ways := range c.Resumed {
		for _, n := range ways {
			resumed += n
		}
	}
	line := counted(interrupted, "turn")
	if interrupted > 0 {
		line += fmt.Sprintf(": %d resumed, %d dismissed, %d followed by another prompt", resumed, c.Dismissed, c.Superseded)
	}
	rows := [][]string{{"interrupted", line}}
	if ended := c.Succeeded + c.Failed; ended > 0 {
		rows = append(rows, []string{"success", fmt.Sprintf(
			"%d %%: %d of %s finished, %d interrupted again", 100*c.Succeeded/ended, c.Succeeded, counted(ended, "resumed turn"), c.Failed)})
	}
	if resumed > 0 {
		median := time.Duration(c.MedianMS) * time.Millisecond
		if median >= time.Second {
			median = median.Round(time.Second)
		}
		rows = append(rows, []string{"resumed after", median.String() + " (median)"})
	}
	return rows
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

// sizeWords is a size as people read it.
func sizeWords(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// machineNamed finds a machine by its id or its name.
func machineNamed(all []wire.JoinedMachine, name string) (found wire.JoinedMachine, err error) {
	n := 0
	for _, m := range all {
		if m.ID == name {
			return m, nil
		}
		if strings.EqualFold(m.Name, name) {
			found, n = m, n+1
		}
	}
	switch n {
	case 0:
		return found, withCode(ExitFailed, "no machine is called %q: abide machines lists them", name)
	case 1:
		return found, nil
	}
	return found, Usagef("%d machines are called %q: give the id", n, name)
}
