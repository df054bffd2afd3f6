package blackbox_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/abidehub/abide/internal/audit"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
	"github.com/stretchr/testify/require"
)

func TestEachAnswerOfARuleIsInTheAuditTrail(t *testing.T) {
	t.Parallel()
	h := newHub(t, settings{})
	s := h.create("demo")
	h.ask(s.SessionID, "p1")
	asked := func() string {
		state, err := h.hub.State(t.Context(), s.SessionID)
		require.NoError(t, err)
		if len(state.PendingPermissions) == 0 {
			return ""
		}
		return state.PendingPermissions[0]
	}
	require.Eventually(t, func() bool { return asked() != "" }, patience, 10*time.Millisecond)
	_, err := h.hub.Settle(t.Context(), s.SessionID, asked(), wire.PermissionChoice{OptionID: "yes", Remember: state.RuleSession})
	require.NoError(t, err)
	h.ask(s.SessionID, "p2") // the rule answers
	require.Eventually(t, func() bool {
		file, err := os.ReadFile(filepath.Join(h.data, "audit.jsonl"))
		require.NoError(t, err)
		return bytes.Contains(file, []byte(audit.RuleAnswer))
	}, patience, 10*time.Millisecond)
	rules, err := h.hub.Rules(t.Context(), s.SessionID)
	require.NoError(t, err)
	owner := &visitor{h, map[string][]string{"Authorization": {"Bearer " + h.token()}}, map[string]string{}}
	_, answer, _ := owner.ask("GET", "/api/audit", nil)
	var page wire.AuditPage
	require.NoError(t, json.Unmarshal([]byte(answer), &page))
	last := page.Records[len(page.Records)-2] // the last one is the token above
	require.Equal(t, string(audit.RuleAnswer), last.Verb)
	require.Equal(t, rules[0].CreatedByID, last.ByID)
	require.Equal(t, s.SessionID, last.SessionID)
	require.Contains(t, last.Detail, "selected yes by rule "+rules[0].ID)
}
