package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
)

// scheduleFlags are those of schedule add.
type scheduleFlags struct {
	job                               jobFlags
	cron, every, until, zone, overlap string
}

// schedules is the command schedule.
func (v jobVerbs) schedules() *cobra.Command {
	var f scheduleFlags
	cmd := v.onHub(&cobra.Command{
		Use:   "schedule add TASK | ls | show ID | pause ID | resume ID | rm ID",
		Short: "Run jobs that come again",
		Long: "A schedule makes a job at each of its due times. add makes one and prints its id; it takes the flags of `abide job run`, and\n" +
			"--cron (minute, hour, day of the month, month, day of the week) or --every. A task of - is read from stdin. What was due\n" +
			"while the hub did not run runs once. show lists the last ten outcomes. rm and pause leave the jobs that it made.",
		Example: "abide schedule add --cron '0 7 * * 1-5' --zone Europe/Berlin 'list what broke over night'\nabide schedule add --every 6h --preset edit 'update the changelog'\nabide schedule ls\nabide schedule pause 3f",
		Args:    scheduleArgs,
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		switch args[0] {
		case "add":
			return v.addSchedule(ctx, hub, f, args[1])
		case "ls":
			return v.listSchedules(ctx, hub)
		}
		s, err := scheduleOf(ctx, hub, args[1])
		if err != nil {
			return err
		}
		switch args[0] {
		case "show":
			return v.showSchedule(s)
		case "rm":
			return hub.DeleteSchedule(ctx, s.ScheduleID)
		case "pause":
			s, err = hub.PauseSchedule(ctx, s.ScheduleID)
		default:
			s, err = hub.ResumeSchedule(ctx, s.ScheduleID)
		}
		if err != nil || v.asJSON() {
			return v.orPrint(s, err)
		}
		_, err = fmt.Fprintln(v.out, s.ScheduleID, s.Status)
		return err
	})
	f.job.define(cmd, "add")
	flags := cmd.Flags()
	flags.StringVar(&f.cron, "cron", "", "with add, run by the cron expression `E`, five fields")
	flags.StringVar(&f.every, "every", "", "with add, run every `D`: 10s, 30m, 24h")
	flags.StringVar(&f.zone, "zone", "", "with add, read --cron in time zone `Z`, like Europe/Berlin (default: the hub's)")
	flags.StringVar(&f.until, "until", "", "with add, run no more after `TIME`, like 2026-12-24T18:00:00+01:00")
	flags.StringVar(&f.overlap, "overlap", "", "with add, while the last job has not ended, `skip` the run or queue it (default skip)")
	v.flag(cmd)
	return cmd
}

func scheduleArgs(_ *cobra.Command, args []string) error {
	want := map[string]int{"add": 2, "ls": 1, "show": 2, "pause": 2, "resume": 2, "rm": 2}
	if len(args) == 0 || want[args[0]] != len(args) {
		return fmt.Errorf("schedule takes add TASK, ls, show ID, pause ID, resume ID or rm ID")
	}
	return nil
}

// scheduleOf finds a schedule by the beginning of its id.
func scheduleOf(ctx context.Context, hub *client.Hub, id string) (found wire.Schedule, err error) {
	all, err := hub.Schedules(ctx)
	if err != nil {
		return found, err
	}
	n := 0
	for _, s := range all.Schedules {
		if s.ScheduleID == id {
			return s, nil
		}
		if strings.HasPrefix(s.ScheduleID, id) {
			found, n = s, n+1
		}
	}
	switch n {
	case 0:
		return hub.Schedule(ctx, id) // whose error says it
	case 1:
		return found, nil
	}
	return found, Usagef("%d schedules begin with %q: `abide schedule ls` lists them", n, id)
}

func (v jobVerbs) addSchedule(ctx context.Context, hub *client.Hub, f scheduleFlags, task string) error {
	in := wire.NewSchedule{Cron: f.cron, Every: f.every, Zone: f.zone, Overlap: wire.ScheduleOverlap(f.overlap)}
	if f.until != "" {
		until, err := time.Parse(time.RFC3339, f.until)
		if err != nil {
			return Usagef("--until is a time like 2026-12-24T18:00:00+01:00")
		}
		in.Until = &until
	}
	task, err := v.words(task)
	if err != nil {
		return err
	}
	folder, err := v.placed("", f.job.folder)
	if err != nil {
		return err
	}
	if in.Job, err = f.job.request(task, folder); err != nil {
		return err
	}
	s, err := hub.AddSchedule(ctx, rand.Text(), in)
	if err != nil || v.asJSON() {
		return v.orPrint(s, err)
	}
	_, err = fmt.Fprintln(v.out, s.ScheduleID)
	return err
}

func (v jobVerbs) orPrint(value any, err error) error {
	if err != nil {
		return err
	}
	return v.print(value)
}

// comes are the due times of a schedule.
func comes(s wire.Schedule) string {
	if s.Every != "" {
		return "every " + s.Every
	}
	return strings.TrimSpace(s.Cron + " " + s.Zone)
}

// localTime is a time for people.
func localTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func (v jobVerbs) listSchedules(ctx context.Context, hub *client.Hub) error {
	all, err := hub.Schedules(ctx)
	if err != nil || v.asJSON() {
		return v.orPrint(all, err)
	}
	var rows [][]string
	for _, s := range all.Schedules {
		next, last := "", ""
		if s.NextAt != nil {
			next = localTime(*s.NextAt)
		}
		if len(s.Outcomes) > 0 {
			last = "last " + string(s.Outcomes[0].Outcome)
		}
		rows = append(rows, []string{s.ScheduleID, string(s.Status), plain.Line(comes(s)), next, last, plain.Line(s.Job.Task)})
	}
	return v.table(rows)
}

func (v jobVerbs) showSchedule(s wire.Schedule) error {
	if v.asJSON() {
		return v.print(s)
	}
	rows := [][]string{
		{"schedule", s.ScheduleID}, {"status", string(s.Status)}, {"comes", plain.Line(comes(s))}, {"overlap", string(s.Overlap)},
		{"task", plain.Line(s.Job.Task)}, {"agent", plain.Line(s.Job.Agent)}, {"folder", plain.Line(s.Job.Workspace)}, {"by", plain.Line(s.RequestedBy)},
	}
	if s.Reason != "" {
		rows = append(rows, []string{"why", plain.Line(s.Reason)})
	}
	if s.Until != nil {
		rows = append(rows, []string{"until", localTime(*s.Until)})
	}
	if s.NextAt != nil {
		rows = append(rows, []string{"next", localTime(*s.NextAt)})
	}
	for _, o := range s.Outcomes {
		text := localTime(o.Due) + " " + string(o.Outcome)
		for _, more := range []string{o.JobID, string(o.JobStatus), o.Error} {
			if more != "" {
				text += " " + more
			}
		}
		rows = append(rows, []string{"run", plain.Line(text)})
	}
	return v.table(rows)
}
