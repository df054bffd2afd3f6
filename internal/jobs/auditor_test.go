package jobs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/jobs"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
)

// auditor makes an auditor of a shell script that gets its input in $in, and a folder of its
// own in $own. It keeps each input there.
func auditor(t *testing.T, script string) (command []string, own string) {
	t.Helper()
	own = t.TempDir()
	return []string{"/bin/sh", "-c", "own=" + own + "\nin=$(cat)\nprintf '%s\\n' \"$in\" >>$own/inputs\n" + script}, own
}

// inputs are what an auditor was given.
func inputs(t *testing.T, own string) (all []map[string]json.RawMessage) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(own, "inputs"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var in map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(line), &in))
		all = append(all, in)
	}
	return all
}

func TestAnAuditorJudgesAJobAndItsResult(t *testing.T) {
	const atResult = `case $in in *'"stage":"result"'*) `
	for name, c := range map[string]struct {
		script  string
		command []string
		bound   time.Duration
		status  event.JobStatus
		reason  string
		asked   int // how often the agent was
	}{
		"accepts":       {script: "exit 0", status: event.JobCompleted, asked: 1},
		"start":         {script: "echo 'not today'; exit 1", status: event.JobFailed, reason: "The auditor judge refuses the job: not today"},
		"result":        {script: atResult + "echo 'too much'; exit 1;; esac", status: event.JobFailed, reason: "The auditor judge refuses the result: too much", asked: 1},
		"no reason":     {script: "exit 1", status: event.JobFailed, reason: "It gave no reason."},
		"other code":    {script: "exit 3", status: event.JobFailed, reason: "It failed (exit status 3)."},
		"too long":      {script: "sleep 600", bound: 50 * time.Millisecond, status: event.JobFailed, reason: "It took longer than 50ms."},
		"too much":      {script: "head -c 70000 /dev/zero | tr '\\0' x", status: event.JobFailed, reason: "It said more than 64 KiB."},
		"not started":   {command: []string{"/no/such/program"}, status: event.JobFailed, reason: "Its program cannot be started."},
		"reads nothing": {command: []string{"true"}, status: event.JobCompleted, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			command, own := auditor(t, c.script)
			if c.command != nil {
				command = c.command
			}
			o := options{bound: c.bound, audits: settings.Audits{Commands: map[string][]string{"judge": command}}}
			o.inRepository(t)
			h := start(t, o)
			id := h.job(event.Job{Task: "edit a.txt\nsay Done.", Auditor: "judge"}, inCopy)
			line := h.ended(id)
			require.Equal(t, c.status, line.Status, h.log(id))
			require.Contains(t, line.Reason, c.reason)
			require.Equal(t, c.asked, h.count(id, event.TypeUserPrompt, "", ""))
			require.Equal(t, 1+c.asked, h.count(id, event.TypeNote, "method", state.NoteJobVerdict))
			job, err := h.runner.Info(t.Context(), id)
			require.NoError(t, err)
			require.Len(t, job.Verdicts, 1+c.asked)
			if c.command != nil || c.bound > 0 { // which may end it before it has kept its input
				return
			}
			all := inputs(t, own)
			require.Len(t, all, 1+c.asked)
			require.JSONEq(t, `"start"`, string(all[0]["stage"]))
			var seen wire.JobInfo
			require.NoError(t, json.Unmarshal(all[0]["job"], &seen))
			require.Equal(t, "edit a.txt\nsay Done.", seen.Input.Task)
			require.Equal(t, o.folder, seen.Repo)
			if c.asked > 0 {
				require.JSONEq(t, `"result"`, string(all[1]["stage"]))
				require.NoError(t, json.Unmarshal(all[1]["job"], &seen))
				require.Contains(t, seen.Diff, "-old\n+edited\n")
				require.Equal(t, "Done.", seen.ResultSummary)
			}
		})
	}
}

func TestAJobIsRefusedWhoseAuditorIsUnknown(t *testing.T) {
	order := func(name string) jobs.Order {
		return jobs.Order{Job: event.Job{Task: "say x", Auditor: name}, Session: session.CreateRequest{Actor: event.Actor{Name: "ann", ID: "1"}}}
	}
	h := start(t, options{idle: true})
	_, _, err := h.runner.Create(t.Context(), order("judge"))
	require.ErrorIs(t, err, state.ErrInvalid)
	require.ErrorContains(t, err, "projects.FOLDER.jobs.auditors")

	h = start(t, options{idle: true, audits: settings.Audits{Commands: map[string][]string{"a": {"true"}, "b": {"true"}}}})
	_, _, err = h.runner.Create(t.Context(), order("judge"))
	require.ErrorIs(t, err, state.ErrInvalid)
	require.ErrorContains(t, err, "auditor is one of a, b")

	h = start(t, options{idle: true, audits: settings.Audits{Commands: map[string][]string{"a": {"true"}, "b": {"true"}}, Always: "a"}})
	_, _, err = h.runner.Create(t.Context(), order("b"))
	require.ErrorContains(t, err, "has the auditor a")
	info, _, err := h.runner.Create(t.Context(), order(""))
	require.NoError(t, err)
	_, job, err := h.runner.Job(t.Context(), info.SessionID)
	require.NoError(t, err)
	require.Equal(t, "a", job.Given.Auditor)
}

func TestAnAuditorThatIsNoLongerConfiguredRefuses(t *testing.T) {
	h := start(t, options{})
	id := h.job(event.Job{Task: "say x", Auditor: "judge"})
	line := h.ended(id)
	require.Equal(t, event.JobFailed, line.Status)
	require.Contains(t, line.Reason, "not in the configuration any more")
	require.Empty(t, h.cast.told)
}

func TestAnAuditorOfEveryJobJudgesOneThatWasMadeBefore(t *testing.T) {
	command, own := auditor(t, "exit 0")
	h := start(t, options{audits: settings.Audits{Commands: map[string][]string{"judge": command}, Always: "judge"}})
	require.Equal(t, event.JobCompleted, h.ended(h.job(event.Job{Task: "say x"})).Status)
	require.Len(t, inputs(t, own), 2)
}

// TestACancelledJobEndsItsAuditor cancels a job while its auditor runs, which has a child.
func TestACancelledJobEndsItsAuditor(t *testing.T) {
	for _, stage := range []string{"start", "result"} {
		t.Run(stage, func(t *testing.T) {
			command, own := auditor(t, `case $in in *'"stage":"`+stage+`"'*) sleep 600 & echo $! >$own/new; mv $own/new $own/child; wait;; esac`)
			h := start(t, options{audits: settings.Audits{Commands: map[string][]string{"judge": command}, Always: "judge"}})
			id := h.job(event.Job{Task: "say x"})
			var child int
			require.Eventually(t, func() bool {
				text, err := os.ReadFile(filepath.Join(own, "child"))
				if err == nil {
					_, err = fmt.Sscan(string(text), &child)
				}
				return err == nil
			}, patience, 5*time.Millisecond)
			require.NoError(t, h.runner.Cancel(t.Context(), id, event.Actor{Name: "ann", ID: "1"}))
			require.Equal(t, event.JobCancelled, h.ended(id).Status)
			require.Eventually(t, func() bool { return gone(child) }, patience, 5*time.Millisecond)
			want := 0
			if stage == "result" {
				want = 1
			}
			require.Equal(t, want, h.count(id, event.TypeNote, "method", state.NoteJobVerdict))
		})
	}
}

// gone reports whether a process has ended.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
}

// TestAResultIsJudgedAnewAfterAnotherPrompt prompts a job while its auditor looks at the
// result.
func TestAResultIsJudgedAnewAfterAnotherPrompt(t *testing.T) {
	command, own := auditor(t, `case $in in *'"stage":"result"'*) [ -e $own/second ] || { touch $own/second; sleep 600; };; esac`)
	o := options{audits: settings.Audits{Commands: map[string][]string{"judge": command}, Always: "judge"}}
	o.inRepository(t)
	h := start(t, o)
	id := h.job(event.Job{Task: "edit a.txt"}, inCopy)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(own, "second"))
		return err == nil
	}, patience, 5*time.Millisecond)
	b, err := h.manager.Session(t.Context(), id)
	require.NoError(t, err)
	_, err = b.Prompt(t.Context(), session.PromptRequest{PromptID: "more", Text: "edit b.txt", Actor: event.Actor{Name: "ann", ID: "1"}})
	require.NoError(t, err)
	require.Equal(t, event.JobCompleted, h.ended(id).Status, h.log(id))
	require.Equal(t, 2, h.count(id, event.TypeNote, "method", state.NoteJobVerdict))
	var last struct {
		Job wire.JobInfo `json:"job"`
	}
	all := inputs(t, own)
	raw, err := json.Marshal(all[len(all)-1])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &last))
	require.Equal(t, []string{"a.txt", "b.txt"}, last.Job.ChangedFiles)
	job, err := h.runner.Info(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt", "b.txt"}, job.ChangedFiles)
}
