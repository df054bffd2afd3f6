package session

import "github.com/abidehub/abide/session/event"

// stopCause is why the hub stops an agent.
type stopCause uint8

const (
	notStopped stopCause = iota
	stopReset            // a person reset the turn
	stopClose            // the hub is ending
	stopDeaf             // it did not answer a cancel
	stopSleep            // idle
	stopBroken           // unusable
)

// ends returns the stop reason of a turn that is open when an agent is stopped for
// this cause.
func (c stopCause) ends() event.StopReason {
	switch c {
	case stopReset:
		return event.StopInterrupted
	case stopDeaf:
		return event.StopCancelled
	case stopClose:
		return event.StopHubRestart
	}
	return event.StopAgentExit
}
