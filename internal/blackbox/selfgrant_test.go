package blackbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// TestAnAgentMakesItselfNoCredential runs `abide token` and `abide pair` from an
// agent's command. Both must refuse and grant no credential.
func TestAnAgentMakesItselfNoCredential(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	data, said := filepath.Join(root, "data"), filepath.Join(root, "said")
	script := `for verb in token pair; do "$0" $verb --data "$1" >>"$2" 2>&1 && echo "$verb was let in" >>"$2"; done; exec "$0" demo-agent --speed 0`
	h := newHub(t, settings{data: data, agents: map[string]agent{
		"demo": {Command: []string{"sh", "-c", script, binary(), data, said}},
	}})
	before, err := os.ReadFile(filepath.Join(data, "auth.json"))
	require.NoError(t, err)
	session := h.create("demo")
	c := h.screen("desk", session, 0)
	c.prompt(session.SessionID, "p1", "/plan")
	require.Equal(t, event.StopEndTurn, c.untilTurnEnds("p1").StopReason)

	text, err := os.ReadFile(said)
	require.NoError(t, err)
	refusal := "abide: an agent may not make itself a credential: run this in a terminal of your own\n"
	require.Equal(t, refusal+refusal, string(text))
	after, err := os.ReadFile(filepath.Join(data, "auth.json"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "credentials and pairing codes")
}
