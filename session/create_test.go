package session_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

func TestASessionIsMadeOnceHoweverOftenItsRequestIsSent(t *testing.T) {
	h := newHub(t)
	request := session.CreateRequest{Actor: person("ann"), Key: "k1"}
	ids := make([]string, 8)
	var group sync.WaitGroup
	for n := range ids {
		group.Go(func() {
			b, err := h.manager.Create(ctxOf(t), request)
			if err == nil {
				ids[n] = b.ID()
			}
		})
	}
	group.Wait()
	for _, id := range ids {
		require.NotEmpty(t, id)
		require.Equal(t, ids[0], id)
	}

	h.close()
	h.open()
	again, err := h.manager.Create(ctxOf(t), request)
	require.NoError(t, err)
	require.Equal(t, ids[0], again.ID(), "after a restart the key made another session")

	for _, other := range []session.CreateRequest{{Actor: person("bob"), Key: "k1"}, {Actor: person("ann"), Key: "k2"}, {Actor: person("ann")}, {Actor: person("ann")}} {
		b, err := h.manager.Create(ctxOf(t), other)
		require.NoError(t, err)
		require.NotContains(t, ids, b.ID())
		ids = append(ids, b.ID())
	}
	_, err = h.manager.Create(context.Background(), session.CreateRequest{Key: "a\x00"})
	require.ErrorIs(t, err, state.ErrInvalid)
}

func TestAKeyThatMadeASessionIsRefusedWithAnotherRequest(t *testing.T) {
	h := newDiskHub(t)
	request := session.CreateRequest{Actor: person("ann"), Key: "k1", Name: "One", Prompt: "do it"}
	b, err := h.manager.Create(ctxOf(t), request)
	require.NoError(t, err)
	requireOthersRefused := func() {
		t.Helper()
		for name, change := range map[string]func(*session.CreateRequest){
			"agent":      func(r *session.CreateRequest) { r.Agent = "fake" },
			"workspace":  func(r *session.CreateRequest) { r.Workspace = h.workspace },
			"name":       func(r *session.CreateRequest) { r.Name = "Two" },
			"prompt":     func(r *session.CreateRequest) { r.Prompt = "do something else" },
			"no prompt":  func(r *session.CreateRequest) { r.Prompt = "" },
			"moved over": func(r *session.CreateRequest) { r.Name, r.Prompt = r.Prompt, r.Name },
		} {
			other := request
			change(&other)
			_, err := h.manager.Create(ctxOf(t), other)
			require.ErrorIs(t, err, state.ErrConflict, name)
			require.Contains(t, err.Error(), b.ID(), "the conflict names no session")
		}
	}
	requireOthersRefused()
	h.close()
	h.open()
	requireOthersRefused()
	h.close()
	require.NoError(t, os.Remove(filepath.Join(h.dir, "sessions", b.ID(), "metadata.json")))
	h.open()
	h.session(b.ID()) // recovers the metadata from the log
	requireOthersRefused()
	again, err := h.manager.Create(ctxOf(t), request)
	require.NoError(t, err)
	require.Equal(t, b.ID(), again.ID())
	require.Len(t, payloads[event.UserPrompt](t, again), 1)
	require.Len(t, h.store.List(), 1)
}

func TestARefusedCreationLeavesNoSession(t *testing.T) {
	h := newHub(t, func(o *session.Options, _ *store.Options) { o.Limits.PromptBytes = 100 })
	for name, request := range map[string]session.CreateRequest{
		"an empty prompt":      {Prompt: " \n"},
		"one that is too long": {Prompt: strings.Repeat("x", 101)},
		"one that is no text":  {Prompt: "\xff"},
		"a long key":           {Prompt: "do it", Key: strings.Repeat("k", 129)},
		"an odd name":          {Prompt: "do it", Name: "a\x00"},
		"a name unseen":        {Prompt: "do it", Name: "\u0301"},
		"no such agent":        {Prompt: "do it", Agent: "nobody"},
	} {
		_, err := h.manager.Create(ctxOf(t), request)
		require.Error(t, err, name)
		require.Empty(t, h.journal.List(), name)
	}
}

func TestACreationWaitsForNoOther(t *testing.T) {
	held, goOn := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	var met atomic.Bool
	h := newDiskHub(t, func(_ *session.Options, o *store.Options) {
		o.FS = steppedFS{store.OS(), func(step string) error {
			if step == "write events.jsonl" && met.CompareAndSwap(false, true) {
				close(held)
				<-goOn
			}
			return nil
		}}
	})
	t.Cleanup(release)
	slow := make(chan error, 1)
	go func() {
		_, err := h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Key: "slow"})
		slow <- err
	}()
	<-held
	for _, r := range []session.CreateRequest{{Actor: person("ann"), Key: "quick"}, {Actor: person("bob"), Key: "slow"}} {
		_, err := h.manager.Create(ctxOf(t), r)
		require.NoError(t, err)
	}
	release()
	require.NoError(t, <-slow)
}

// createSteps are the disk steps of creating a session with a first prompt, up to
// the prompt in the log.
var createSteps = []string{
	"create events.jsonl", "write events.jsonl", "sync events.jsonl", "rename to metadata.json", "sync directory",
	"create queue.json.tmp", "rename to queue.json",
}

// TestACreationThatIsCutOffAnywhereIsMadeUpForWhenItIsSentAgain copies the files
// that a kill -9 would leave before each disk step of a creation. A hub on each
// copy gets the same request again.
func TestACreationThatIsCutOffAnywhereIsMadeUpForWhenItIsSentAgain(t *testing.T) {
	k := &killer{t: t}
	h := newDiskHub(t, func(_ *session.Options, s *store.Options) {
		s.FS = steppedFS{store.OS(), k.step}
	})
	h.agents.onPrompt = func(a *fakeAgent, p event.UserPrompt) { _ = a.end(p.PromptID, event.StopEndTurn) }
	k.hub = h
	request := session.CreateRequest{Actor: person("ann"), Key: "k1", Name: "Mine", Prompt: "do it"}
	k.on()
	made, err := h.manager.Create(ctxOf(t), request)
	require.NoError(t, err)
	awaitIdle(t, made)
	k.off()
	for _, step := range append(createSteps, "rename to "+made.ID()) {
		require.True(t, slices.ContainsFunc(k.copies, func(c copyOf) bool { return c.at == step }), "no kill came before %q", step)
	}

	found := map[int]int{}
	for _, c := range k.copies {
		after := &hub{t: t, dir: c.dir, workspace: h.workspace, agents: newAgents()}
		after.agents.onPrompt = h.agents.onPrompt
		after.open()
		left := len(after.store.List())
		found[left]++
		b, err := after.manager.Create(ctxOf(t), request)
		require.NoError(t, err, "killed at %s", c.at)
		if left == 1 {
			require.Equal(t, made.ID(), b.ID(), "killed at %s", c.at)
		}
		require.Len(t, after.store.List(), 1, "killed at %s", c.at)
		awaitIdle(t, b)
		require.Equal(t, "Mine", b.Info().Name, "killed at %s", c.at)
		prompts := payloads[event.UserPrompt](t, b)
		require.Len(t, prompts, 1, "killed at %s", c.at)
		require.Equal(t, "k1", prompts[0].PromptID)
		require.LessOrEqual(t, c.given["k1"]+after.agents.givenTimes("k1"), 1, "killed at %s: two agents got the prompt", c.at)
		requireLawful(t, b, true)
		after.close()
	}
	require.Positive(t, found[0], "no kill before the session existed")
	require.Positive(t, found[1], "no kill after the session existed")
}

// Fault 80. Package gitstate tests every way in which a repository can run a
// program.
func TestFault80ASessionInAHostileRepositoryRunsNothingOfIt(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	h := newHub(t)
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir = h.workspace
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	git("init", "-q", "-b", "main")
	file := filepath.Join(h.workspace, "file")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o644))
	git("add", ".")
	git("commit", "-q", "-m", "first")
	git("config", "filter.evil.clean", "touch "+mark+"; cat")
	git("config", "core.fsmonitor", "touch "+mark)
	require.NoError(t, os.WriteFile(filepath.Join(h.workspace, ".gitattributes"), []byte("* filter=evil\n"), 0o644))
	require.NoError(t, os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)))

	b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann")})
	require.NoError(t, err)
	require.NoFileExists(t, mark)
	payload, err := events(t, b)[0].Payload()
	require.NoError(t, err)
	started, ok := payload.(event.SessionStart)
	require.True(t, ok)
	require.Equal(t, "main", started.Git.Branch)
	require.Len(t, started.Git.Commit, 40)
	git("status")
	require.FileExists(t, mark, "plain git does not run the program: the test proves nothing")
}
