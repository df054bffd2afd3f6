package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/machines"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
)

const (
	defaultSessions = 30
	maxSessions     = 200
)

// sessionRows are the routes of this file.
func sessionRows() section {
	return section{
		title: "Sessions",
		about: []string{
			"A name is at most 200 printable characters, at least one of them visible. `tags` replaces all tags: at most 20, each of 1 to 40 printable characters without a comma; they are trimmed, and doubles are dropped.",
			"`Idempotency-Key`, at most 128 printable bytes, names the request for a new session and is the `prompt_id`. The same key from the same credential is answered 201 with the same session, as long as it exists. That finishes what a crash left undone and repeats no prompt. With another body it is 409.",
			"`worktree` makes a git worktree of the workspace's repository, on a new branch: `abide/` and words of the name or prompt, numbered where that is taken. The session works in it; its line has `worktree{folder, branch?, base?, commit, of}`. 409 with a sentence, and nothing is made: a branch or folder that is there already, a repository without a commit, a bare one, refs in the reftable format, a commit with submodules or files that need a filter (git-lfs) or another encoding. 400: no repository, an unknown `base`. Deleting the session leaves the worktree (see [Working copies](#working-copies)).",
			"`end` writes `session_end{reason, by, result?}`.",
		},
		rows: []route{
			{
				"GET", "/api/agents", auth.Credential, auth.Manage, false, agentsRoute,
				doc{
					summary: "Agents and folders for a new session.", out: wire.Agents{}, status: 200,
					query: []param{{"workspace", "a folder in which a job is to work: the answer has its auditors", ""}, ofMachine},
				},
			},
			{
				"GET", "/api/sessions", auth.Credential, auth.Read, true, listRoute,
				doc{
					summary: "The sessions, in the order of `sort`.", out: wire.SessionPage{}, status: 200,
					query: []param{
						{"status", "idle, running, needs_you, failed, interrupted, paused, ended, imported, damaged; archived for those put away; all for everything", ""},
						{"lifecycle", "active, paused, completed, failed, expired", ""},
						{"resumable", "true for those that wait to be resumed: after a pause, an interruption or a mark", ""},
						{"said", "true for those in which something was said", ""},
						{"project", "a project root or workspace", ""},
						{"tag", "a tag; more of them select the sessions that have all", ""},
						{"q", "words that occur in the name, the tags, the last line, the agent, the workspace or the id", ""},
						{"sort", "updated (default) or created, newest first; name, from a to z; size, the largest first: the first page measures for up to 2 s, what is not measured then comes last", ""},
						{"machine", "the id or the name of a machine, or here for this hub's own", ""},
						{"limit", "from 1 to 200; 30 when absent", 0},
						{"cursor", "next_cursor of the page before", ""},
					},
				},
			},
			{
				"POST", "/api/sessions", auth.Credential, auth.Manage, false, with(createRoute),
				doc{
					summary: "Make a session. Its agent is started by the first prompt. With recorder the caller records it, and the answer is a Recording.", in: wire.NewSession{}, out: wire.SessionInfo{}, status: 201,
					headers: []param{{"Idempotency-Key", "the client's name for this request, see below", ""}},
				},
			},
			{
				"GET", one, auth.Credential, auth.Read, false, inSession(sessionRoute),
				doc{summary: "One session.", out: wire.SessionInfo{}, status: 200},
			},
			{
				"PATCH", one, auth.Credential, auth.Manage, false, with(updateRoute),
				doc{summary: "Rename, pin, archive or tag a session, or say whether it waits to be resumed.", in: wire.SessionPatch{}, out: wire.SessionInfo{}, status: 200},
			},
			{
				"DELETE", one, auth.Credential, auth.Manage, false, deleteRoute,
				doc{
					summary: "Stop a session's agent and put the session into the trash (see [Trash](#trash)).", status: 204,
					query: []param{{"forever", "true removes everything of it at once", ""}},
				},
			},
			{
				"POST", one + "/reopen", auth.Credential, auth.Manage, false, reopenRoute,
				doc{
					summary: "Bring back a session whose log accepts no more events after an error of the device, or which could not be opened. Its agent is stopped; screens come back by themselves. 503 while it still cannot be.",
					out:     wire.SessionInfo{}, status: 200,
				},
			},
			{
				"POST", one + "/end", auth.Credential, auth.Manage, false, inSessionWith(endRoute),
				doc{
					summary: "Say that the session's work is done: session_end is written, the status is ended, the agent is stopped. A later prompt makes it live again. An open interruption is dismissed. 409 while a turn is open, and while prompts wait unless drop_queue is true.",
					in:      wire.EndSession{}, out: wire.SessionInfo{}, status: 200,
				},
			},
		},
	}
}

func listRoute(s *API, c *call) error {
	q := c.r.URL.Query()
	limit, err := limitOf(q, defaultSessions, maxSessions)
	if err != nil {
		return err
	}
	options := list.Options{
		Status: q.Get("status"), Project: q.Get("project"), Query: q.Get("q"), Lifecycle: state.Lifecycle(q.Get("lifecycle")),
		Resumable: q.Get("resumable") == "true", Said: q.Get("said") == "true", Sort: list.Sort(q.Get("sort")), Limit: limit, Cursor: q.Get("cursor"),
		Others: s.machines.Lines(),
	}
	if options.Machine, err = s.machineIn(q); err != nil {
		return err
	}
	if err := list.CheckStatus(options.Status); err != nil {
		return err
	}
	if err := list.CheckLifecycle(options.Lifecycle); err != nil {
		return err
	}
	if options.Tags, err = state.GivenTags(q["tag"]); err != nil {
		return state.About("tag", err)
	}
	for _, name := range []string{"resumable", "said"} {
		if asked := q.Get(name); asked != "" && asked != "true" {
			return Invalid("%s is true or absent", name)
		}
	}
	answer := wire.SessionPage{Sessions: []wire.SessionInfo{}}
	if only := c.grant.SessionID; only != "" {
		// A credential for one session gets a list of that session.
		info, err := s.manager.Info(c.r.Context(), only)
		if err == nil && c.grant.May(auth.Read, only) {
			answer.Sessions = append(answer.Sessions, s.InfoFor(c.grant, info))
		}
		answer.Total = len(answer.Sessions)
		return c.reply(http.StatusOK, answer)
	}
	page, err := s.manager.List(options)
	if err != nil {
		return err
	}
	for _, info := range page.Sessions {
		line := s.InfoFor(c.grant, info)
		if options.Resumable {
			line.Preview = s.previewOf(line.SessionID)
		}
		answer.Sessions = append(answer.Sessions, line)
	}
	answer.NextCursor, answer.Total = page.NextCursor, page.Total
	return c.reply(http.StatusOK, answer)
}

// previewOf is what a list says of a session's snapshot; nil if none is saved.
func (s *API) previewOf(id string) *wire.Preview {
	p, ok := s.manager.SnapshotPreview(id)
	if !ok {
		return nil
	}
	return &wire.Preview{LastTask: p.LastTask, FilesCount: p.Files, OutputsCount: p.Outputs, StateSizeBytes: p.Size}
}

func createRoute(s *API, c *call, in wire.NewSession) error {
	if in.Recorder && (in.Machine != "" || c.fromHome) {
		return Invalid("a recording is made by the hub that the recorder speaks to")
	}
	if in.Machine != "" && in.Machine != list.Here {
		machine := in.Machine
		in.Machine = ""
		return s.makeOn(c, machine, "/api/sessions", "session_id", in)
	}
	if in.Recorder {
		return s.createRecording(c, in)
	}
	if in.Prompt != "" && strings.TrimSpace(in.Prompt) == "" {
		return Invalid("the prompt is empty: leave it out, or say something")
	}
	made, err := s.manager.Create(c.r.Context(), session.CreateRequest{
		Agent: in.Agent, Workspace: in.Workspace, Name: in.Name, Prompt: in.Prompt,
		Mode: in.Mode, Model: in.Model, Options: in.Options, Worktree: worktreeOf(in.Worktree), Actor: c.grant.By(), Key: c.r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/api/sessions/"+made.ID())
	return c.reply(http.StatusCreated, s.InfoFor(c.grant, made.Info()))
}

func worktreeOf(in *wire.NewWorktree) *session.NewWorktree {
	if in == nil {
		return nil
	}
	return &session.NewWorktree{Branch: in.Branch, Base: in.Base, Folder: in.Folder}
}

// promptID returns the id of the prompt in a request: the body's, else the
// Idempotency-Key, else a new one, with which a repeated request is another prompt.
// Two different ids are an error, because a repeated request could use either.
func (c *call) promptID(inBody string) (string, error) {
	key := c.r.Header.Get("Idempotency-Key")
	switch {
	case inBody != "" && key != "" && key != inBody:
		return "", Invalid("prompt_id is %q and Idempotency-Key is %q: send one of them, or the same in both", inBody, key)
	case inBody != "":
		return inBody, nil
	case key != "":
		return key, nil
	}
	id := make([]byte, 16)
	rand.Read(id)
	return hex.EncodeToString(id), nil
}

func sessionRoute(s *API, c *call, own *session.BackgroundSession) error {
	return c.reply(http.StatusOK, s.InfoFor(c.grant, own.Info()))
}

// reopenRoute responds with the session once it accepts events again.
func reopenRoute(s *API, c *call) error {
	id := mux.Vars(c.r)["id"]
	if err := s.manager.Reopen(c.r.Context(), id); err != nil {
		if errors.Is(err, state.ErrNotFound) {
			return NotFound("session " + id)
		}
		return err
	}
	return inSession(sessionRoute)(s, c)
}

func endRoute(s *API, c *call, own *session.BackgroundSession, in wire.EndSession) error {
	dropped := 0
	if in.DropQueue {
		dropped = len(own.Queue())
	}
	if err := own.EndWith(c.r.Context(), session.Ending{Reason: in.Reason, Result: in.Result, DropQueue: in.DropQueue}, c.grant.By()); err != nil {
		return err
	}
	s.noteDropped(c.r.RemoteAddr, c.grant, own, dropped)
	return sessionRoute(s, c, own)
}

func updateRoute(s *API, c *call, in wire.SessionPatch) error {
	id := mux.Vars(c.r)["id"]
	if err := s.manager.Update(c.r.Context(), id, session.Patch{Name: in.Name, Pinned: in.Pinned, Archived: in.Archived, Tags: in.Tags, Resumable: in.Resumable, By: c.grant.By()}); err != nil {
		return err
	}
	return inSession(sessionRoute)(s, c)
}

func deleteRoute(s *API, c *call) error {
	forever := c.r.URL.Query().Get("forever")
	if forever != "" && forever != "true" {
		return Invalid("forever is true or absent")
	}
	var err error
	if forever == "true" || s.TrashDays() == 0 {
		err = s.manager.Delete(c.r.Context(), c.id())
	} else {
		err = s.manager.Trash(c.r.Context(), c.id(), c.grant.By())
	}
	if err != nil {
		return err
	}
	c.note(audit.Record{Verb: audit.SessionDeleted, SessionID: c.id()})
	return c.done(nil)
}

// offeredBound is how long New session waits for sessions that are opened to learn what
// their agents offer.
const offeredBound = 2 * time.Second

func agentsRoute(s *API, c *call) error {
	settings := s.manager.Settings()
	answer := wire.Agents{
		Agents: []wire.AgentChoice{}, Workspaces: append([]string{}, settings.Workspaces...), DefaultWorkspace: settings.DefaultWorkspace,
	}
	if len(answer.Workspaces) == 0 && settings.DefaultWorkspace != "" {
		answer.Workspaces = append(answer.Workspaces, settings.DefaultWorkspace)
	}
	if workspace := c.r.URL.Query().Get("workspace"); workspace != "" {
		folder, err := settings.Resolve(workspace)
		if err != nil {
			return err
		}
		audits, _ := settings.AuditsFor(folder)
		if answer.Auditor = audits.Always; answer.Auditor == "" {
			answer.Auditors = slices.Sorted(maps.Keys(audits.Commands))
		}
	}
	if !c.fromHome {
		for _, m := range s.machines.Machines() {
			if m.Allow == machines.AllowManage {
				answer.Machines = append(answer.Machines, m.Row())
			}
		}
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), offeredBound)
	defer cancel()
	for _, a := range settings.Agents {
		modes, models := s.manager.Offered(ctx, a.Name)
		answer.Agents = append(answer.Agents, wire.AgentChoice{
			Name: a.Name, Description: a.Description, Modes: modes, Models: models, Mode: a.Begin.Mode, Model: a.Begin.Model,
		})
	}
	return c.reply(http.StatusOK, answer)
}

// InfoFor returns one line of the session list for the holder of a grant.
func (s *API) InfoFor(g auth.Grant, i list.Info) wire.SessionInfo {
	line := wire.SessionInfo{Info: i}
	line.CreatedAt, line.UpdatedAt = i.CreatedAt.UTC().Truncate(time.Microsecond), i.UpdatedAt.UTC().Truncate(time.Microsecond)
	if seq, known := s.manager.Reads().Of(g.Person(), i); known {
		line.ReadSeq = &seq
	}
	if !i.Imported && i.Machine == nil {
		line.Continue = s.manager.Settings().Agent(i.Agent).Continuing(i.AgentSessionID, i.Workspace)
	}
	return line
}
