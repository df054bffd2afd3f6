package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// Of a machine's session its home tells people, and the machine does not, as long as they are
// connected.
func TestHomeNotifiesOfAMachinesSessionsAndNoneComesTwice(t *testing.T) {
	home, machine := joinedAs(t, "act", hubOptions{notify: quick()})
	phone, theirs := home.browser("phone"), machine.browser("phone")
	there := machine.session()
	require.Eventually(t, machine.member.HomeNotifies, patience, time.Millisecond)
	machine.ask(there, "p1")
	asked := phone.next()
	require.Equal(t, notify.Permission, asked.Kind)
	require.Equal(t, there.ID(), asked.SessionID)
	require.Equal(t, "May I?", asked.Body, "as its line says")
	require.Nil(t, asked.Answer, "it is answered where it is shown")
	require.Equal(t, 1, asked.Badge)

	request := machine.await(there, 0, event.TypePermissionRequest)
	answer := wire.PermissionChoice{OptionID: "yes", SeenSeq: request.Seq}
	id := there.State().PendingPermissions[0]
	res := home.do("POST", "/api/sessions/"+there.ID()+"/permissions/"+id, answer, bearer(home.token))
	require.Equal(t, http.StatusOK, res.status, res.body)
	// The turn may end before its line goes out: then its end is told instead.
	require.Contains(t, []notify.Kind{notify.Withdrawn, notify.TurnOver}, phone.next().Kind)
	require.Empty(t, theirs.got, "told twice")

	machine.await(there, request.Seq, event.TypeTurnEnd)
	home.stop()
	require.Eventually(t, func() bool { return !machine.member.HomeNotifies() }, patience, time.Millisecond)
	machine.ask(there, "p2")
	for theirs.next().Kind != notify.Permission { // home was away before it could tell of the first turn's end
	}
}
