package session_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/queue"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// noon is a clock in whose time zone it is noon at the start of the test, put ahead. No
// test is near a midnight but those that want to.
func noon(ahead *atomic.Int64) func() time.Time {
	now := time.Now().UTC()
	zone := time.FixedZone("here", int((12*time.Hour - now.Sub(now.Truncate(24*time.Hour))).Seconds()))
	return func() time.Time { return time.Now().Add(time.Duration(ahead.Load())).In(zone) }
}

// logged are the warnings of a hub.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// budgets counts the warnings about budgets.
func (l *logged) budgets() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), "of today's budget of")
}

// saving is a hub with a budget for its workspace and another project without one.
type saving struct {
	*hub
	ahead   atomic.Int64
	log     logged
	options hubOption
	poor    string // a project with a budget
}

func newSaving(t *testing.T, b settings.Budget) *saving {
	s := &saving{poor: t.TempDir()}
	clock := noon(&s.ahead)
	s.options = func(o *session.Options, _ *store.Options) {
		o.Now, o.Logger = clock, slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		o.Workspaces, o.Budgets = []string{o.DefaultWorkspace, s.poor}, map[string]settings.Budget{s.poor: b}
	}
	s.hub = newHub(t, s.options)
	return s
}

func (s *saving) in(folder string) *session.BackgroundSession {
	s.t.Helper()
	b, err := s.manager.Create(ctxOf(s.t), session.CreateRequest{Actor: person("ann"), Workspace: folder})
	require.NoError(s.t, err)
	return b
}

// turn runs a turn that uses tokens.
func (s *saving) turn(b *session.BackgroundSession, id string, a *fakeAgent, tokens int) *fakeAgent {
	s.t.Helper()
	require.Equal(s.t, queue.Received, prompt(s.t, b, id).Outcome)
	if a == nil {
		a = s.agents.next(s.t)
	}
	s.finish(b, a, id, tokens)
	return a
}

// finish ends the turn of a prompt that its agent gets.
func (s *saving) finish(b *session.BackgroundSession, a *fakeAgent, id string, tokens int) {
	s.t.Helper()
	require.Equal(s.t, id, receive(s.t, a.prompts, "the agent got no prompt").PromptID)
	require.NoError(s.t, a.say(event.TurnEnd{PromptID: id, StopReason: event.StopEndTurn, Usage: fmt.Appendf(nil, `{"totalTokens":%d}`, tokens)}))
	awaitIdle(s.t, b)
}

// used is what the budget says.
func (s *saving) used() int64 {
	s.t.Helper()
	days, err := s.manager.Budgets(ctxOf(s.t))
	require.NoError(s.t, err)
	require.Len(s.t, days, 1)
	return days[0].Used.Tokens.Total
}

func (s *saving) refused(b *session.BackgroundSession, id string) {
	s.t.Helper()
	_, err := b.Prompt(ctxOf(s.t), ask(id))
	require.ErrorIs(s.t, err, state.ErrConflict)
	for _, word := range []string{s.poor, "1100 of 1000 tokens", "110 % of today's budget", "goes on at midnight", "projects.FOLDER.budget"} {
		require.ErrorContains(s.t, err, word)
	}
}

func TestAUsedBudgetRefusesPromptsUntilTheNextDay(t *testing.T) {
	s := newSaving(t, settings.Budget{Tokens: 1000, WarnAt: 0.8, Stop: true})
	b, rich := s.in(s.poor), s.in(s.workspace)
	a := s.turn(b, "p-1", nil, 700)
	s.turn(rich, "r-1", nil, 5000)
	require.Equal(t, int64(700), s.used(), "another project counts for itself")
	s.turn(b, "p-2", a, 400)
	require.Equal(t, int64(1100), s.used(), "the turn went on to its end")
	s.refused(b, "p-3")
	s.refused(s.in(s.poor), "q-1")
	_, err := s.manager.Create(ctxOf(t), session.CreateRequest{Actor: person("ann"), Workspace: s.poor, Prompt: "go", Key: "first"})
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "1100 of 1000 tokens")
	again := prompt(t, b, "p-2")
	require.Equal(t, queue.Received, again.Outcome, "a repeat gets its outcome")
	prompt(t, rich, "r-2")

	s.ahead.Store(int64(13 * time.Hour))
	require.Zero(t, s.used())
	s.turn(b, "p-3", a, 1)
}

func TestAUsedBudgetHoldsTheQueueUntilMidnight(t *testing.T) {
	s := newSaving(t, settings.Budget{Tokens: 1000, WarnAt: 0.8, Stop: true})
	b := s.in(s.poor)
	require.Equal(t, queue.Received, prompt(t, b, "p-1").Outcome)
	a := s.agents.next(t)
	require.Equal(t, queue.Queued, prompt(t, b, "p-2").Outcome, "it waits for the turn")
	s.finish(b, a, "p-1", 1100)
	require.Eventually(t, func() bool { return len(noted(t, b, "abide/budget")) == 2 }, patience, time.Millisecond)
	_, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: "p-3", Text: "now", When: session.WhenQueue, Actor: person("ann")})
	require.NoError(t, err, "what asks to wait waits")
	require.Len(t, b.State().Queue, 2)
	s.refused(b, "p-4")
	var told []string
	for _, n := range noted(t, b, "abide/budget") {
		told = append(told, string(n.Text))
	}
	require.Len(t, told, 2, "one warning, and one word of the queue")
	require.Contains(t, strings.Join(told, "\n"), "The queue waits. 110 % of today's budget of "+s.poor)
	require.Equal(t, 0, s.agents.givenTimes("p-2"))

	// Nobody touches the session: its alarm rings at midnight.
	s.ahead.Store(int64(12*time.Hour - 300*time.Millisecond - time.Since(b.Info().CreatedAt)))
	h := s.restart()
	again := h.agents.next(t)
	b = h.session(b.ID())
	for _, id := range []string{"p-2", "p-3"} {
		require.Equal(t, id, receive(t, again.prompts, "the queue did not go on").PromptID)
		require.NoError(t, again.end(id, event.StopEndTurn))
	}
	awaitIdle(t, b)
}

// restart starts the hub anew on its sessions.
func (s *saving) restart() *hub {
	s.close()
	s.open(s.options)
	return s.hub
}

func TestARaisedBudgetGoesOnAtOnce(t *testing.T) {
	s := newSaving(t, settings.Budget{Tokens: 1000, WarnAt: 0.8, Stop: true})
	b := s.in(s.poor)
	require.Equal(t, queue.Received, prompt(t, b, "p-1").Outcome)
	a := s.agents.next(t)
	prompt(t, b, "p-2")
	s.finish(b, a, "p-1", 1100)
	require.Eventually(t, func() bool { return len(noted(t, b, "abide/budget")) == 2 }, patience, time.Millisecond)
	raised := *s.manager.Settings()
	raised.Budgets = map[string]settings.Budget{s.poor: {Tokens: 2000, WarnAt: 0.8, Stop: true}}
	require.NoError(t, s.manager.Configure(raised))
	s.finish(b, a, "p-2", 1)
}

func TestABudgetWarnsOnceADayAlsoAcrossARestart(t *testing.T) {
	s := newSaving(t, settings.Budget{Tokens: 1000, WarnAt: 0.8})
	b := s.in(s.poor)
	a := s.turn(b, "p-1", nil, 790)
	require.Equal(t, int64(790), s.used())
	require.Empty(t, s.manager.BudgetWarnings())
	require.Zero(t, s.log.budgets())
	s.turn(b, "p-2", a, 20)
	require.Eventually(t, func() bool { return s.log.budgets() == 1 }, patience, time.Millisecond)
	require.Eventually(t, func() bool { return len(noted(t, b, "abide/budget")) == 1 }, patience, time.Millisecond)
	require.Equal(t, "81 % of today's budget of "+s.poor+" is used: 810 of 1000 tokens.", s.manager.BudgetWarnings()[0])
	s.turn(b, "p-3", a, 1000) // without stop it only says so
	s.turn(b, "p-4", a, 1)
	h := s.restart()
	b = h.session(b.ID())
	s.turn(b, "p-5", nil, 1)
	require.Equal(t, int64(1812), s.used(), "what was used today is counted from the logs")
	require.Equal(t, 1, s.log.budgets())
	require.Len(t, noted(t, b, "abide/budget"), 1)

	s.ahead.Store(int64(13 * time.Hour))
	require.Zero(t, s.used())
	require.Empty(t, s.manager.BudgetWarnings())
}

func TestWorkingCopiesAndCostCountForTheirProject(t *testing.T) {
	c := newCopied(t)
	real, err := filepath.EvalSymlinks(c.project)
	require.NoError(t, err)
	with := *c.manager.Settings()
	with.Budgets = map[string]settings.Budget{real: {Cost: 1.5, WarnAt: 0.8, Stop: true}}
	require.NoError(t, c.manager.Configure(with))
	s := &saving{hub: c.hub, poor: real}
	for i, b := range []*session.BackgroundSession{c.one, c.two} {
		id := fmt.Sprint("p-", i)
		prompt(t, b, id)
		a := c.agents.next(t)
		require.NoError(t, a.say(event.Usage{Size: 10, Used: 1, Cost: &event.Cost{Amount: 0.8, Currency: "USD"}}))
		s.finish(b, a, id, 5)
		if i == 0 {
			require.Equal(t, int64(5), s.used())
		}
	}
	days, err := c.manager.Budgets(ctxOf(t))
	require.NoError(t, err)
	require.Equal(t, real, days[0].Project)
	require.Greater(t, days[0].Part(), 1.0)
	_, err = c.one.Prompt(ctxOf(t), ask("p-3"))
	require.ErrorIs(t, err, state.ErrConflict)
	require.ErrorContains(t, err, "of 1.5 in cost")
}
