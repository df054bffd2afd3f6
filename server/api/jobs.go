package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

// oneJob is the path of a job.
const oneJob = "/api/jobs/{id}"

// jobRows are the routes of this file.
func jobRows() section {
	key := []param{{"Idempotency-Key", "The same request again makes no other job: 200 with the first one. With another body it is 409.", ""}}
	made := doc{
		summary: "Make a job: a session with a task, a policy and an end, which nobody has to watch. It waits for its turn.",
		headers: key, in: wire.NewJob{}, out: wire.JobInfo{}, status: http.StatusCreated, repeated: http.StatusOK,
	}
	return section{
		title: "Jobs",
		about: []string{
			"A job is a session of the same id; [jobs.md](jobs.md) says what it may do and how it ends. Its events are its session's.",
			"A refusal of a job or a new session has the `field` of the request that it is about, if it is about one.",
		},
		rows: []route{
			{"POST", "/api/jobs", auth.Credential, auth.Manage, false, with(createJobRoute), made},
			{"POST", "/api/jobs/start", auth.Credential, auth.Manage, false, with(createJobRoute), made},
			{
				"GET", "/api/jobs", auth.Credential, auth.Manage, false, jobsRoute,
				doc{
					summary: "The jobs, newest first.", out: wire.Jobs{}, status: http.StatusOK,
					query: []param{
						{"status", "queued, running, stopping, parked, completed, failed, cancelled", ""},
						{"project", "a project root or workspace", ""},
						{"session", "those that this session delegated; 400 if nothing knows the id", ""},
						{"attempts", "the attempts at the task of this job, which is the first of them; 400 if nothing knows the id", ""},
						{"schedule", "those that this schedule made; 400 if nothing knows the id", ""},
						{"machine", "the id or the name of a machine, or here for this hub's own", ""},
						{"limit", "from 1 to 200; 30 when absent", 0},
						{"cursor", "next_cursor of the page before", ""},
					},
				},
			},
			{
				"GET", oneJob, auth.Credential, auth.Read, false, jobRoute,
				doc{summary: "One job, with what it was given, its result and what it used.", out: wire.JobInfo{}, status: http.StatusOK},
			},
			{
				"GET", oneJob + "/events", auth.Credential, auth.Read, false, jobEventsRoute,
				doc{
					summary: "The job's events as server-sent events, each with its type as event and epoch:seq as id, until the client goes. Of those further back than jobs.stream_events of the configuration (2,000 events of the session) only status and checkpoint, unless full.",
					query:   []param{{"full", "all of them", false}}, headers: []param{{"Last-Event-ID", "continue after epoch:seq", ""}}, status: http.StatusOK, stream: "text/event-stream",
				},
			},
			{
				"POST", oneJob + "/cancel", auth.Credential, auth.Manage, false, cancelJobRoute,
				doc{summary: "End a job before its time, with what it did so far. Its turn is cancelled, which may take a while. One that has ended stays as it is. 200 for one that ends or has ended already.", out: wire.JobInfo{}, status: http.StatusAccepted, repeated: http.StatusOK},
			},
			{
				"POST", oneJob + "/retry", auth.Credential, auth.Manage, false, retryJobRoute,
				doc{summary: "Make a new job of one that has ended, with what that was given. It takes a credential that may make sessions. 409 before its end.", headers: key, out: wire.JobInfo{}, status: http.StatusCreated, repeated: http.StatusOK},
			},
			{
				"POST", oneJob + "/discard-others", auth.Credential, auth.Manage, false, discardOthersRoute,
				doc{summary: "Cancel the other attempts at the job's task, and discard their working copies and branches with all that they changed. The answer has those that are still ending, whose copies are left: ask again. It takes a credential for all sessions. 409 if it is the only attempt.", out: wire.Jobs{}, status: http.StatusOK},
			},
		},
	}
}

func createJobRoute(s *API, c *call, in wire.NewJob) error {
	if in.Machine != "" && in.Machine != list.Here {
		machine := in.Machine
		in.Machine = ""
		return s.makeOn(c, machine, "/api/jobs", "job_id", in)
	}
	info, made, err := s.jobs.Create(c.r.Context(), jobs.OrderOf(in, c.grant.By(), c.r.Header.Get("Idempotency-Key")))
	if err != nil {
		return err
	}
	return c.madeJob(s, info, made)
}

// madeJob answers with a new job, or with that of an earlier request.
func (c *call) madeJob(s *API, info list.Info, made bool) error {
	c.w.Header().Set("Location", "/api/jobs/"+info.SessionID)
	if !made {
		return c.reply(http.StatusOK, s.jobs.Told(c.r.Context(), info))
	}
	return c.reply(http.StatusCreated, s.jobs.Told(c.r.Context(), info))
}

func jobsRoute(s *API, c *call) error {
	q := c.r.URL.Query()
	limit, err := limitOf(q, defaultSessions, maxSessions)
	if err != nil {
		return err
	}
	schedule := q.Get("schedule")
	if schedule != "" && !s.jobs.Scheduled(schedule) {
		if _, err := s.schedules.Get(schedule); err != nil {
			return fmt.Errorf("%w: there is no schedule %q, and no job that one of this id made: give the whole id", state.ErrInvalid, schedule)
		}
	}
	machine, err := s.machineIn(q)
	if err != nil {
		return err
	}
	page, err := s.jobs.List(event.JobStatus(q.Get("status")), list.Options{
		Project: q.Get("project"), DelegatedBy: q.Get("session"), Schedule: schedule, AttemptsOf: q.Get("attempts"), Limit: limit, Cursor: q.Get("cursor"),
		Machine: machine, Others: s.machines.Lines(),
	})
	if err != nil {
		return err
	}
	answer := wire.Jobs{Jobs: []wire.JobInfo{}, NextCursor: page.NextCursor}
	for _, info := range page.Sessions {
		answer.Jobs = append(answer.Jobs, s.jobs.Told(c.r.Context(), info))
	}
	return c.reply(http.StatusOK, answer)
}

func discardOthersRoute(s *API, c *call) error {
	if !c.grant.May(auth.Manage, "") {
		return Forbidden()
	}
	ending, err := s.jobs.DiscardOthers(c.r.Context(), mux.Vars(c.r)["id"], c.grant.By())
	if err != nil {
		return err
	}
	answer := wire.Jobs{Jobs: []wire.JobInfo{}}
	for _, info := range ending {
		answer.Jobs = append(answer.Jobs, s.jobs.Told(c.r.Context(), info))
	}
	return c.reply(http.StatusOK, answer)
}

func jobRoute(_ *API, c *call) error { return c.replyJob(http.StatusOK) }

// replyJob answers with the job of the path, whole.
func (c *call) replyJob(status int) error {
	out, err := c.server.jobs.Info(c.r.Context(), mux.Vars(c.r)["id"])
	if err != nil {
		return err
	}
	return c.reply(status, out)
}

func jobEventsRoute(s *API, c *call) error {
	own, err := c.readable()
	if err != nil {
		return err
	}
	if _, err := own.Job(c.r.Context()); err != nil {
		return err
	}
	from, err := streamPlace(c.r)
	if err != nil {
		return err
	}
	whole := own.Log().Marks().Visible - event.Seq(s.jobs.StreamEvents())
	if c.r.URL.Query().Get("full") == "true" {
		whole = 0
	}
	c.over() // as eventsRoute
	return s.live.Stream(c.w, c.r, Given{Grant: c.grant, Now: c.with.Now}, own, from, func(e event.Event) (string, []byte) {
		told, ok := jobs.Told(e)
		if !ok || e.Seq <= whole && !jobs.Lasting(told) {
			return "", nil
		}
		data, err := json.Marshal(told)
		if err != nil {
			return "", nil
		}
		return string(told.Type), data
	})
}

func cancelJobRoute(s *API, c *call) error {
	id := mux.Vars(c.r)["id"]
	_, job, err := s.jobs.Job(c.r.Context(), id)
	if err != nil {
		return err
	}
	if err := s.jobs.Cancel(c.r.Context(), id, c.grant.By()); err != nil {
		return err
	}
	if job.Status.Ended() || job.Status == event.JobStopping {
		return c.replyJob(http.StatusOK)
	}
	return c.replyJob(http.StatusAccepted)
}

func retryJobRoute(s *API, c *call) error {
	if !c.grant.May(auth.Manage, "") {
		return Forbidden()
	}
	info, made, err := s.jobs.Retry(c.r.Context(), mux.Vars(c.r)["id"], c.r.Header.Get("Idempotency-Key"), c.grant.By())
	if err != nil {
		return err
	}
	return c.madeJob(s, info, made)
}
