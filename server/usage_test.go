package server_test

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/settings"
)

// usageOf asks the hub by a credential.
func usageOf(h *hub, query, token string) (u wire.Usage) {
	h.t.Helper()
	res := h.do("GET", "/api/usage?"+query, nil, http.Header{"Authorization": {"Bearer " + token}})
	require.Equal(h.t, http.StatusOK, res.status)
	res.decode(h.t, &u)
	return u
}

// used runs two turns in a session of a hub, and one in another.
func used(t *testing.T) (h *hub, one, other string) {
	h = startHub(t, hubOptions{})
	a, b := h.session(), h.session()
	h.prompt(a, "a1", "use 1000")
	h.await(a, 0, event.TypeTurnEnd)
	h.prompt(b, "b1", "use 20")
	h.await(b, 0, event.TypeTurnEnd)
	h.prompt(a, "a2", "use 500")
	name := "=1+1"
	require.NoError(t, h.manager.Update(t.Context(), a.ID(), session.Patch{Name: &name}))
	require.Eventually(t, func() bool { return usageOf(h, "by=day", h.token).Total.Tokens == 1520 }, patience, time.Millisecond)
	return h, a.ID(), b.ID()
}

func TestUsageIsTold(t *testing.T) {
	h, one, other := used(t)
	today := time.Now().Format(time.DateOnly)
	u := usageOf(h, "by=day&from="+today+"&to="+today, h.token)
	require.Len(t, u.Rows, 1)
	require.Equal(t, today, u.Rows[0].Day)
	require.Equal(t, u.Total, u.Rows[0].Used)
	require.Equal(t, int64(1520), u.Total.Tokens)
	require.Equal(t, []event.Cost{{Amount: 1.52, Currency: "USD"}}, u.Total.Costs)
	require.Equal(t, 3, u.Total.Turns)
	require.Zero(t, u.Behind)

	u = usageOf(h, "by=session", h.token)
	require.Equal(t, []string{one, other}, []string{u.Rows[0].SessionID, u.Rows[1].SessionID}, "the most first")
	require.Equal(t, []int64{1500, 20}, []int64{u.Rows[0].Used.Tokens, u.Rows[1].Used.Tokens})
	require.Len(t, usageOf(h, "by=turn&session="+one, h.token).Rows, 2)
	u = usageOf(h, "by=turn&limit=1", h.token)
	require.Equal(t, 2, u.LeftOut)
	require.Equal(t, int64(500), u.Rows[0].Used.Tokens, "the newest first")
	require.Equal(t, int64(1520), u.Total.Tokens)
	require.Empty(t, usageOf(h, "from=2999-01-01", h.token).Rows)
	require.Empty(t, usageOf(h, "to=1999-01-01", h.token).Rows)
	require.Empty(t, usageOf(h, "project=/elsewhere", h.token).Rows)
	require.Equal(t, int64(1520), usageOf(h, "by=agent&agent="+u.Rows[0].Agent, h.token).Total.Tokens)
	require.Equal(t, int64(1520), usageOf(h, "by=project&project="+u.Rows[0].Project, h.token).Total.Tokens)
}

// A credential for one session learns what that used, and nothing of others.
func TestUsageShowsACredentialOnlyItsOwnSession(t *testing.T) {
	h, one, other := used(t)
	token := h.mint(auth.TokenRequest{Scope: auth.Viewer, SessionID: other})
	for _, by := range []string{"turn", "session", "project", "agent", "day"} {
		u := usageOf(h, "by="+by, token)
		require.Equal(t, int64(20), u.Total.Tokens, by)
		require.Len(t, u.Rows, 1)
	}
	require.Equal(t, http.StatusForbidden, h.do("GET", "/api/usage?session="+one, nil, http.Header{"Authorization": {"Bearer " + token}}).status)
}

func TestUsageRefusesWhatItDoesNotKnow(t *testing.T) {
	h := startHub(t, hubOptions{})
	for query, field := range map[string]string{
		"by=week": "by", "by=Day": "by", "from=yesterday": "from", "from=2026-02-30": "from", "to=2026-2-1": "to",
		"from=2026-02-02&to=2026-02-01": "to", "from=2026-02-01T00:00:00Z": "from",
	} {
		require.Equal(t, field, refusedField(t, h.api("GET", "/api/usage?"+query, nil)), query)
	}
	for _, query := range []string{"limit=0", "limit=10001", "limit=x"} {
		require.Equal(t, http.StatusBadRequest, h.api("GET", "/api/usage?"+query, nil).status, query)
	}
}

func TestUsageIsATableForSpreadsheets(t *testing.T) {
	h, one, _ := used(t)
	res := h.do("GET", "/api/usage?by=session", nil, http.Header{"Authorization": {"Bearer " + h.token}, "Accept": {"text/csv"}})
	require.Equal(t, http.StatusOK, res.status)
	require.Equal(t, "text/csv; charset=utf-8", res.header.Get("Content-Type"))
	lines, err := csv.NewReader(strings.NewReader(res.body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 3)
	row := map[string]string{}
	for i, name := range lines[0] {
		row[name] = lines[1][i]
	}
	require.Equal(t, one, row["session_id"])
	require.Equal(t, "'=1+1", row["name"], "no formula")
	require.Equal(t, "1500", row["tokens"])
	require.Equal(t, "1.5", row["cost"])
	require.Equal(t, "USD", row["currency"])
	require.Empty(t, row["turn"])
}

func TestBudgetsAreToldWithTheUsageOfAllSessions(t *testing.T) {
	h, one, _ := used(t)
	folder := h.manager.Settings().DefaultWorkspace
	with := *h.manager.Settings()
	with.Budgets = map[string]settings.Budget{folder: {Tokens: 1600, Cost: 10, WarnAt: 0.9, Stop: true}}
	require.NoError(t, h.manager.Configure(with))
	u := usageOf(h, "by=turn&to=2001-01-01", h.token)
	require.Empty(t, u.Rows)
	require.Len(t, u.Budgets, 1, "they are of today")
	b := u.Budgets[0]
	require.Equal(t, int64(1520), b.Used.Tokens)
	require.InDelta(t, 0.95, b.Part, 1e-9)
	require.Contains(t, b.Text, "95 % of today's budget of "+b.Project+" is used: 1520 of 1600 tokens, 1.52 of 10 in cost.")
	require.True(t, b.Until.After(time.Now()))
	token, _, err := h.registry.MintToken(auth.TokenRequest{Scope: auth.Viewer, Name: "one", SessionID: one})
	require.NoError(t, err)
	require.Empty(t, usageOf(h, "by=day", token).Budgets)
	var health wire.Health
	h.api("GET", "/api/health", nil).decode(t, &health)
	require.Equal(t, []string{b.Text}, health.Budgets)

	with.Budgets = map[string]settings.Budget{folder: {Tokens: 1500, WarnAt: 0.9, Stop: true}}
	require.NoError(t, h.manager.Configure(with))
	res := h.do("POST", "/api/sessions/"+one+"/prompt", map[string]any{"text": "more"}, bearer(h.token))
	require.Equal(t, http.StatusConflict, res.status)
	require.Contains(t, res.body, "1520 of 1500 tokens")
}
