package api

import (
	"net/http"
	"strings"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

const (
	// oneSchedule is the path of a schedule.
	oneSchedule = "/api/schedules/{schedule}"
	// maxSchedule limits the body of a new one, which is written at each run.
	maxSchedule = 128 << 10
)

// scheduleRows are the routes of this file.
func scheduleRows() section {
	return section{
		title: "Schedules",
		about: []string{
			"A schedule makes a job at each of its due times, by the credential that made it; [jobs.md](jobs.md#recurring) says when. A hub has at most 100. A body has at most 128 KiB.",
		},
		rows: []route{
			{
				"POST", "/api/schedules", auth.Credential, auth.Manage, false, addScheduleRoute,
				doc{
					summary: "Make jobs that come again. The job is checked as POST /api/jobs checks it.",
					headers: []param{{"Idempotency-Key", "The same request again makes no other schedule: 200 with the first one. With another body it is 409.", ""}},
					in:      wire.NewSchedule{}, out: wire.Schedule{}, status: http.StatusCreated, repeated: http.StatusOK,
				},
			},
			{
				"GET", "/api/schedules", auth.Credential, auth.Manage, false, schedulesRoute,
				doc{summary: "The schedules, oldest first, each with its last ten outcomes.", out: wire.ScheduleList{}, status: http.StatusOK},
			},
			{
				"GET", oneSchedule, auth.Credential, auth.Manage, false, scheduleRoute,
				doc{summary: "One schedule.", out: wire.Schedule{}, status: http.StatusOK},
			},
			{
				"DELETE", oneSchedule, auth.Credential, auth.Manage, false, deleteScheduleRoute,
				doc{summary: "Remove a schedule. Its jobs go on.", status: http.StatusNoContent},
			},
			{
				"POST", oneSchedule + "/pause", auth.Credential, auth.Manage, false, pauseScheduleRoute,
				doc{summary: "Make no more jobs. Those that it made go on.", out: wire.Schedule{}, status: http.StatusOK},
			},
			{
				"POST", oneSchedule + "/resume", auth.Credential, auth.Manage, false, resumeScheduleRoute,
				doc{summary: "Continue a paused schedule. What was due meanwhile does not run. 409 if it has ended, or its credential was revoked.", out: wire.Schedule{}, status: http.StatusOK},
			},
		},
	}
}

func addScheduleRoute(s *API, c *call) error {
	var in wire.NewSchedule
	if err := c.readUpTo(&in, maxSchedule); err != nil {
		return err
	}
	made, fresh, err := s.schedules.Add(c.r.Context(), in, c.grant.By(), c.r.Header.Get("Idempotency-Key"))
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/api/schedules/"+made.ScheduleID)
	if !fresh {
		return c.reply(http.StatusOK, made)
	}
	c.note(audit.Record{Verb: audit.ScheduleAdded, Detail: scheduleDetail(made)})
	return c.reply(http.StatusCreated, made)
}

func schedulesRoute(s *API, c *call) error {
	all, err := s.schedules.List()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.ScheduleList{Schedules: all})
}

func scheduleRoute(s *API, c *call) error {
	return c.answer(s.schedules.Get(mux.Vars(c.r)["schedule"]))
}

func deleteScheduleRoute(s *API, c *call) error {
	id := mux.Vars(c.r)["schedule"]
	if err := s.schedules.Delete(id); err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.ScheduleDeleted, Detail: id})
	return c.done(nil)
}

func pauseScheduleRoute(s *API, c *call) error {
	return c.changedSchedule(audit.SchedulePaused, s.schedules.Pause)
}

func resumeScheduleRoute(s *API, c *call) error {
	return c.changedSchedule(audit.ScheduleResumed, s.schedules.Resume)
}

// changedSchedule changes the schedule of the path and notes who did.
func (c *call) changedSchedule(verb audit.Verb, change func(string) (wire.Schedule, error)) error {
	out, err := change(mux.Vars(c.r)["schedule"])
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: verb, Detail: out.ScheduleID})
	return c.reply(http.StatusOK, out)
}

// scheduleDetail is a new schedule in the audit trail.
func scheduleDetail(s wire.Schedule) string {
	when := "every " + s.Every
	if s.Every == "" {
		when = strings.TrimSpace(s.Cron + " " + s.Zone)
	}
	return s.ScheduleID + ", " + when + ": " + state.FirstSentence(s.Job.Task)
}
